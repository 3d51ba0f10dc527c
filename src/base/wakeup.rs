//! Wake-up of a worker whose work is in a table.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;

use super::sync;

/// Wakes a worker after a commit to the table of its work. Several notifications before the worker waits again
/// wake it once.
///
/// The state of the work, mostly a table, is authoritative: a worker that starts scans it first. A notification that is lost with the
/// process causes no loss of work. Hints name the changed rows, so that the worker need not scan. At most
/// `HINTS_MAX` hints are stored; with more, the worker is asked to scan the whole table. The worker of a
/// wake-up without hints always scans.
#[derive(Debug)]
pub struct Wakeup<H = (), const HINTS_MAX: usize = 0> {
    notify: Notify,
    pending: Mutex<PendingWakeup<H>>,
}

/// The hints since the last wake-up.
#[derive(Debug, PartialEq, Eq)]
pub struct PendingWakeup<H> {
    /// The changed rows, in order.
    pub hints: BTreeSet<H>,
    /// Whether rows have changed that are not among the hints.
    pub rescan: bool,
}

impl<H> Default for PendingWakeup<H> {
    fn default() -> Self {
        Self { hints: BTreeSet::new(), rescan: false }
    }
}

impl<H, const HINTS_MAX: usize> Default for Wakeup<H, HINTS_MAX> {
    fn default() -> Self {
        Self { notify: Notify::new(), pending: Mutex::default() }
    }
}

impl<H: Ord, const HINTS_MAX: usize> Wakeup<H, HINTS_MAX> {
    /// Wakes the worker.
    pub fn notify(&self) {
        self.notify.notify_one();
    }

    /// Wakes the worker to read the rows that the hints name.
    pub fn notify_rows(&self, hints: impl IntoIterator<Item = H>) {
        let mut pending = self.pending();
        for hint in hints {
            if pending.hints.len() < HINTS_MAX {
                pending.hints.insert(hint);
            } else if !pending.hints.contains(&hint) {
                pending.rescan = true;
            }
        }
        drop(pending);
        self.notify.notify_one();
    }

    /// Wakes the worker to scan the whole table.
    pub fn rescan(&self) {
        self.pending().rescan = true;
        self.notify.notify_one();
    }

    /// Waits for a notification and takes the hints. For one worker. Cancel safe.
    pub async fn notified(&self) -> PendingWakeup<H> {
        self.notify.notified().await;
        self.take()
    }

    /// Takes the hints without waiting.
    pub(crate) fn take(&self) -> PendingWakeup<H> {
        std::mem::take(&mut *self.pending())
    }

    fn pending(&self) -> MutexGuard<'_, PendingWakeup<H>> {
        sync::lock(&self.pending)
    }
}

impl Wakeup {
    /// Waits for a notification, at most `wait_max`. Returns whether there was a notification.
    pub async fn notified_within(&self, wait_max: Duration) -> bool {
        tokio::time::timeout(wait_max, self.notified()).await.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// Returns the hints of a wake-up that has occurred.
    fn woken<H: Ord, const HINTS_MAX: usize>(wakeup: &Wakeup<H, HINTS_MAX>) -> Option<PendingWakeup<H>> {
        match pin!(wakeup.notified()).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(pending) => Some(pending),
            Poll::Pending => None,
        }
    }

    #[test]
    fn several_notifications_are_one_wake_up_and_none_is_lost() {
        let wakeup = Wakeup::<u8, 10>::default();
        assert_eq!(woken(&wakeup), None);

        wakeup.notify_rows([3, 1]);
        wakeup.notify();
        wakeup.notify_rows([2, 3]);

        assert_eq!(woken(&wakeup), Some(PendingWakeup { hints: [1, 2, 3].into(), rescan: false }));
        assert_eq!(woken(&wakeup), None);
        wakeup.rescan();
        assert_eq!(woken(&wakeup), Some(PendingWakeup { hints: [].into(), rescan: true }));
    }

    #[tokio::test]
    async fn a_bounded_wait_ends_with_the_stored_notification_or_at_its_bound() {
        let wakeup = Wakeup::<(), 0>::default();
        wakeup.notify();

        assert!(wakeup.notified_within(Duration::from_secs(20)).await);
        assert!(!wakeup.notified_within(Duration::ZERO).await);
    }

    #[test]
    fn more_hints_than_fit_are_a_rescan() {
        let wakeup = Wakeup::<u8, 2>::default();
        wakeup.notify_rows([1, 2, 1]);
        assert_eq!(woken(&wakeup), Some(PendingWakeup { hints: [1, 2].into(), rescan: false }));

        wakeup.notify_rows([1, 2, 3]);

        assert_eq!(woken(&wakeup), Some(PendingWakeup { hints: [1, 2].into(), rescan: true }));
    }
}
