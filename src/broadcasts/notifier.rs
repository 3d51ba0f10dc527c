//! Notifications to the workers of broadcasts.

use std::sync::Arc;

use crate::base::wakeup::Wakeup;

/// Notifies the workers of broadcasts that one was sent or canceled. Cheap to clone.
///
/// A notification is a hint. The work is in tables, which the workers also poll.
#[derive(Clone, Debug, Default)]
pub struct BroadcastNotifier(Arc<Wakeup>);

impl BroadcastNotifier {
    /// Wakes the workers.
    pub fn notify(&self) {
        self.0.notify();
    }

    /// Waits for a notification. Cancel safe.
    pub async fn notified(&self) {
        self.0.notified().await;
    }
}
