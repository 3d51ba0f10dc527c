//! How the queue's writers wake the one who reads it.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use super::queue::Due;

/// Groups that wait for the dispatcher to take them; beyond this it reads the table instead.
const PENDING_MAX: usize = 10_000;

/// Tells the dispatcher that mail has become due. Cheap to clone.
///
/// A ring is a hint: the queue itself is the table, and the dispatcher finds there whatever a ring
/// did not bring.
#[derive(Clone, Debug, Default)]
pub struct QueueNotifier(Arc<Channel>);

#[derive(Debug, Default)]
struct Channel {
    notify: Notify,
    pending: Mutex<PendingGroups>,
}

/// What has been rung since the dispatcher last looked.
#[derive(Debug, Default)]
pub(super) struct PendingGroups {
    /// Groups that are due, or will be.
    pub(super) due: Vec<Due>,
    /// There were more than fit, or nobody knows which: read the table from its start.
    pub(super) rescan: bool,
}

impl QueueNotifier {
    /// Says that the table has changed in a way its reader has to find out.
    pub fn rescan(&self) {
        self.lock().rescan = true;
        self.0.notify.notify_one();
    }

    /// Says that these groups have been committed to the queue.
    pub(crate) fn groups_queued(&self, due: Vec<Due>) {
        let mut pending = self.lock();
        if pending.due.len() + due.len() > PENDING_MAX {
            pending.rescan = true;
        } else {
            pending.due.extend(due);
        }
        drop(pending);
        self.0.notify.notify_one();
    }

    /// Wakes the dispatcher without news: a lane has room, or the time has been turned.
    pub fn wake(&self) {
        self.0.notify.notify_one();
    }

    pub(super) fn take(&self) -> PendingGroups {
        std::mem::take(&mut *self.lock())
    }

    pub(super) async fn notified(&self) {
        self.0.notify.notified().await;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, PendingGroups> {
        self.0.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
