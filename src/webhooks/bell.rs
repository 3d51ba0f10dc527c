//! How those who change endpoints and queues wake the dispatcher, and what it says of its work.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::id::{WebhookDeliveryId, WebhookId};

/// Endpoints that wait for the dispatcher to look at them; beyond this it looks at all of them.
const PENDING_MAX: usize = 1_000;

/// Tells the dispatcher that an endpoint or its queue has changed. Cheap to clone.
///
/// A ring is a hint: the queue itself is the table, and the dispatcher finds there whatever a ring did
/// not bring.
#[derive(Clone, Debug, Default)]
pub struct WebhookBell(Arc<Bell>);

#[derive(Debug, Default)]
struct Bell {
    notify: Notify,
    /// The endpoints that somebody watches.
    watched: Mutex<HashMap<WebhookId, Arc<Watched>>>,
    /// Rung when an endpoint that had enough to do has no more.
    hungry: Notify,
    pending: Mutex<Pending>,
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
pub(super) struct Pending {
    /// Endpoints to look at.
    pub(super) webhooks: HashSet<WebhookId>,
    /// Look at all of them.
    pub(super) all: bool,
}

impl WebhookBell {
    /// Says that an endpoint has changed, after the commit of it. What is sent to it from then on is sent
    /// as the endpoint stands.
    pub fn ring(&self, webhook: WebhookId) {
        if let Some(watched) = lock(&self.0.watched).get(&webhook) {
            watched.changes.fetch_add(1, Ordering::SeqCst);
        }
        self.queued([webhook]);
    }

    /// Says that deliveries have been queued for endpoints.
    pub(super) fn queued(&self, webhooks: impl IntoIterator<Item = WebhookId>) {
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
    pub fn ring_all(&self) {
        lock(&self.0.pending).all = true;
        self.0.notify.notify_one();
    }

    /// Watches an endpoint: what every change of it raises from here on, and what its lane says of its
    /// work. One at a time may watch it.
    pub(super) fn watch(&self, webhook: WebhookId) -> Watch {
        let watched = Arc::<Watched>::default();
        lock(&self.0.watched).insert(webhook, Arc::clone(&watched));
        Watch { bell: self.clone(), webhook, watched }
    }

    /// Returns whether the lane of each of the endpoints has more in the queue than it can take up.
    pub(super) fn have_enough<'w>(&self, webhooks: impl IntoIterator<Item = &'w WebhookId>) -> bool {
        let watched = lock(&self.0.watched);
        let has_enough = |webhook| watched.get(webhook).is_some_and(|lane| lane.has_enough.load(Ordering::SeqCst));
        webhooks.into_iter().all(has_enough)
    }

    /// Waits until an endpoint that had enough to do has no more.
    pub(super) async fn hungered(&self) {
        self.0.hungry.notified().await;
    }

    /// Returns whether a request that carries the delivery is under way.
    pub fn is_attempting(&self, delivery: WebhookDeliveryId) -> bool {
        lock(&self.0.attempting).contains(&delivery)
    }

    pub(super) fn begin(&self, delivery: WebhookDeliveryId) {
        lock(&self.0.attempting).insert(delivery);
    }

    pub(super) fn end(&self, delivery: WebhookDeliveryId) {
        lock(&self.0.attempting).remove(&delivery);
    }

    pub(super) fn take(&self) -> Pending {
        std::mem::take(&mut *lock(&self.0.pending))
    }

    pub(super) async fn heard(&self) {
        self.0.notify.notified().await;
    }
}

/// An endpoint that is watched by its lane.
#[derive(Debug)]
pub(super) struct Watch {
    bell: WebhookBell,
    webhook: WebhookId,
    watched: Arc<Watched>,
}

impl Watch {
    /// Returns how often the endpoint has changed since it has been watched.
    pub(super) fn changes(&self) -> u64 {
        self.watched.changes.load(Ordering::SeqCst)
    }

    /// Says whether the lane has more in the queue than it can take up.
    pub(super) fn set_enough(&self, has_enough: bool) {
        if self.watched.has_enough.swap(has_enough, Ordering::SeqCst) && !has_enough {
            self.bell.0.hungry.notify_one();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.set_enough(false);
        let mut watched = lock(&self.bell.0.watched);
        // The next one to watch may have begun already.
        if watched.get(&self.webhook).is_some_and(|watched| Arc::ptr_eq(watched, &self.watched)) {
            watched.remove(&self.webhook);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::id::Id;

    async fn hungered(bell: &WebhookBell) {
        tokio::time::timeout(Duration::from_secs(20), bell.hungered()).await.unwrap();
    }

    #[tokio::test]
    async fn a_lane_has_enough_until_it_says_otherwise_or_ends() {
        let bell = WebhookBell::default();
        let (one, other): (WebhookId, WebhookId) = (Id::MIN, Id::MAX);
        let (first, second) = (bell.watch(one), bell.watch(other));
        assert!(!bell.have_enough(&[one]), "nothing was said");

        first.set_enough(true);
        assert!(bell.have_enough(&[one]) && !bell.have_enough(&[one, other]));
        second.set_enough(true);
        assert!(bell.have_enough(&[one, other]));

        second.set_enough(false);
        hungered(&bell).await;
        assert!(!bell.have_enough(&[one, other]));
        drop(first);
        hungered(&bell).await;
        assert!(!bell.have_enough(&[one]));
    }
}
