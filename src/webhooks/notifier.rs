//! How those who change endpoints and queues wake the dispatcher, and what it says of its work.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use crate::base::id::{WebhookDeliveryId, WebhookId};
use crate::base::sync::lock;

/// Endpoints that wait for the dispatcher to look at them; beyond this it looks at all of them.
const PENDING_MAX: usize = 1_000;

/// Tells the dispatcher that an endpoint or its queue has changed. Cheap to clone.
///
/// A ring is a hint: the queue itself is the table, and the dispatcher finds there whatever a ring did
/// not bring.
#[derive(Clone, Debug, Default)]
pub struct DispatchNotifier(Arc<Channel>);

#[derive(Debug, Default)]
struct Channel {
    notify: Notify,
    /// The endpoints that somebody watches.
    watched: Mutex<HashMap<WebhookId, Arc<Watched>>>,
    /// Rung when an endpoint that had enough to do has no more.
    hungry: Notify,
    pending: Mutex<PendingWakeups>,
    attempting: Mutex<HashSet<WebhookDeliveryId>>,
}

/// What is said of an endpoint between those who change it and its lane.
#[derive(Debug, Default)]
struct Watched {
    /// How often it has changed.
    changes: AtomicU64,
    /// Whether its lane has more in the queue than it can take up.
    has_enough: AtomicBool,
}

/// What has been rung since the dispatcher last looked.
#[derive(Debug, Default)]
pub(super) struct PendingWakeups {
    /// Endpoints to look at.
    pub(super) webhooks: HashSet<WebhookId>,
    /// Look at all of them.
    pub(super) all: bool,
}

impl DispatchNotifier {
    /// Says that an endpoint has changed, after the commit of it. What is sent to it from then on is sent
    /// as the endpoint stands.
    pub fn endpoint_changed(&self, webhook: WebhookId) {
        if let Some(watched) = lock(&self.0.watched).get(&webhook) {
            watched.changes.fetch_add(1, Ordering::SeqCst);
        }
        self.deliveries_queued([webhook]);
    }

    /// Says that deliveries have been queued for endpoints.
    pub(super) fn deliveries_queued(&self, webhooks: impl IntoIterator<Item = WebhookId>) {
        let mut pending = lock(&self.0.pending);
        for webhook in webhooks {
            if pending.webhooks.len() < PENDING_MAX {
                pending.webhooks.insert(webhook);
            } else {
                pending.all = true;
            }
        }
        drop(pending);
        self.0.notify.notify_one();
    }

    /// Has the dispatcher look at every queue: nobody knows which has changed, or the time has been
    /// turned.
    pub fn rescan_all(&self) {
        lock(&self.0.pending).all = true;
        self.0.notify.notify_one();
    }

    /// Watches an endpoint: what every change of it raises from here on, and what its lane says of its
    /// work. One at a time may watch it.
    pub(super) fn register_lane(&self, webhook: WebhookId) -> LaneRegistration {
        let watched = Arc::<Watched>::default();
        lock(&self.0.watched).insert(webhook, Arc::clone(&watched));
        LaneRegistration { notifier: self.clone(), webhook, watched }
    }

    /// Returns whether the lane of each of the endpoints has more in the queue than it can take up.
    pub(super) fn all_saturated<'w>(&self, webhooks: impl IntoIterator<Item = &'w WebhookId>) -> bool {
        let watched = lock(&self.0.watched);
        let has_enough = |webhook| watched.get(webhook).is_some_and(|lane| lane.has_enough.load(Ordering::SeqCst));
        webhooks.into_iter().all(has_enough)
    }

    /// Waits until an endpoint that had enough to do has no more.
    pub(super) async fn capacity_available(&self) {
        self.0.hungry.notified().await;
    }

    /// Returns whether a request that carries the delivery is under way.
    pub fn is_attempting(&self, delivery: WebhookDeliveryId) -> bool {
        lock(&self.0.attempting).contains(&delivery)
    }

    pub(super) fn attempt_started(&self, delivery: WebhookDeliveryId) {
        lock(&self.0.attempting).insert(delivery);
    }

    pub(super) fn attempt_finished(&self, delivery: WebhookDeliveryId) {
        lock(&self.0.attempting).remove(&delivery);
    }

    pub(super) fn take(&self) -> PendingWakeups {
        std::mem::take(&mut *lock(&self.0.pending))
    }

    pub(super) async fn notified(&self) {
        self.0.notify.notified().await;
    }
}

/// An endpoint that is watched by its lane.
#[derive(Debug)]
pub(super) struct LaneRegistration {
    notifier: DispatchNotifier,
    webhook: WebhookId,
    watched: Arc<Watched>,
}

impl LaneRegistration {
    /// Returns how often the endpoint has changed since it has been watched.
    pub(super) fn endpoint_version(&self) -> u64 {
        self.watched.changes.load(Ordering::SeqCst)
    }

    /// Says whether the lane has more in the queue than it can take up.
    pub(super) fn set_saturated(&self, has_enough: bool) {
        if self.watched.has_enough.swap(has_enough, Ordering::SeqCst) && !has_enough {
            self.notifier.0.hungry.notify_one();
        }
    }
}

impl Drop for LaneRegistration {
    fn drop(&mut self) {
        self.set_saturated(false);
        let mut watched = lock(&self.notifier.0.watched);
        // The next one to watch may have begun already.
        if watched.get(&self.webhook).is_some_and(|watched| Arc::ptr_eq(watched, &self.watched)) {
            watched.remove(&self.webhook);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::base::id::Id;

    async fn hungered(bell: &DispatchNotifier) {
        tokio::time::timeout(Duration::from_secs(20), bell.capacity_available()).await.unwrap();
    }

    #[tokio::test]
    async fn a_lane_has_enough_until_it_says_otherwise_or_ends() {
        let bell = DispatchNotifier::default();
        let (one, other): (WebhookId, WebhookId) = (Id::MIN, Id::MAX);
        let (first, second) = (bell.register_lane(one), bell.register_lane(other));
        assert!(!bell.all_saturated(&[one]), "nothing was said");

        first.set_saturated(true);
        assert!(bell.all_saturated(&[one]) && !bell.all_saturated(&[one, other]));
        second.set_saturated(true);
        assert!(bell.all_saturated(&[one, other]));

        second.set_saturated(false);
        hungered(&bell).await;
        assert!(!bell.all_saturated(&[one, other]));
        drop(first);
        hungered(&bell).await;
        assert!(!bell.all_saturated(&[one]));
    }
}
