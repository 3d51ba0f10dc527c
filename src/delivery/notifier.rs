//! Notifications from the writers of the queue to the dispatcher.

use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use super::queue::Due;
use crate::base::sync;

/// Maximum number of pending groups. If there are more, the dispatcher reads the table instead.
const PENDING_MAX: usize = 10_000;

/// Notifies the dispatcher of queued groups. Cheap to clone.
///
/// A notification is a hint. The queue is a table, and the dispatcher scans it once a minute.
#[derive(Clone, Debug, Default)]
pub struct QueueNotifier(Arc<Channel>);

#[derive(Debug, Default)]
struct Channel {
    notify: Notify,
    pending: Mutex<PendingGroups>,
}

/// Notifications that the dispatcher has not taken yet.
#[derive(Debug, Default)]
pub(super) struct PendingGroups {
    /// Queued groups, due now or later.
    pub(super) due: Vec<Due>,
    /// Whether the dispatcher must read the table from its start: there were more groups than
    /// [`PENDING_MAX`], or the writer does not know which groups changed.
    pub(super) rescan: bool,
}

impl QueueNotifier {
    /// Requests a scan of the table from its start. For writers that do not list the changed groups.
    pub fn rescan(&self) {
        self.lock().rescan = true;
        self.0.notify.notify_one();
    }

    /// Notifies the dispatcher of groups that have been committed to the queue.
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

    /// Wakes the dispatcher without a change of the queue: a lane has capacity, or the test clock
    /// was set.
    pub fn wake(&self) {
        self.0.notify.notify_one();
    }

    /// Removes and returns the pending notifications.
    pub(super) fn take(&self) -> PendingGroups {
        std::mem::take(&mut *self.lock())
    }

    /// Waits until a notification arrives. Cancel safe: a notification that is not received stays.
    pub(super) async fn notified(&self) {
        self.0.notify.notified().await;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, PendingGroups> {
        sync::lock(&self.0.pending)
    }
}
