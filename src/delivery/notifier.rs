//! Notifications from the writers of the queue to the dispatcher.

use std::sync::Arc;

use super::queue::Due;
use crate::base::wakeup::{PendingWakeup, Wakeup};

/// Maximum number of pending groups. If there are more, the dispatcher reads the table instead.
const NOTIFIED_MAX: usize = 10_000;

/// Notifies the dispatcher of queued groups. Cheap to clone.
///
/// A notification is a hint. The queue is a table, and the dispatcher scans it once a minute.
#[derive(Clone, Debug, Default)]
pub struct QueueNotifier(Arc<Wakeup<Due, NOTIFIED_MAX>>);

impl QueueNotifier {
    /// Requests a scan of the whole table. For writers that do not list the changed groups.
    pub fn rescan(&self) {
        self.0.rescan();
    }

    /// Notifies the dispatcher of groups that have been committed to the queue. An empty list does not wake it:
    /// most deliveries return no group.
    pub(crate) fn groups_queued(&self, due: Vec<Due>) {
        if !due.is_empty() {
            self.0.notify_rows(due);
        }
    }

    /// Wakes the dispatcher without a change of the queue: a worker has ended, a lane has more groups, or the test clock
    /// was set.
    pub fn wake(&self) {
        self.0.notify();
    }

    /// Waits until a notification arrives, and returns the pending notifications. Cancel safe.
    pub(super) async fn notified(&self) -> PendingWakeup<Due> {
        self.0.notified().await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn an_empty_list_does_not_wake_the_dispatcher() {
        let notifier = QueueNotifier::default();
        let wakes = async || tokio::time::timeout(Duration::ZERO, notifier.notified()).await.is_ok();

        notifier.groups_queued(Vec::new());
        assert!(!wakes().await);

        notifier.wake();
        assert!(wakes().await);
    }
}
