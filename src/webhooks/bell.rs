//! How those who change endpoints and queues wake the dispatcher, and what it says of its work.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
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
    /// How often an endpoint has changed, of those that somebody remembers.
    changes: Mutex<HashMap<WebhookId, Arc<AtomicU64>>>,
    pending: Mutex<Pending>,
    attempting: Mutex<HashSet<WebhookDeliveryId>>,
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
        if let Some(changes) = lock(&self.0.changes).get(&webhook) {
            changes.fetch_add(1, Ordering::SeqCst);
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

    /// Returns the number that every change of an endpoint raises from here on: who remembers the
    /// endpoint compares. One at a time may watch it.
    pub(super) fn watch(&self, webhook: WebhookId) -> Watch {
        let changes = Arc::new(AtomicU64::new(0));
        lock(&self.0.changes).insert(webhook, Arc::clone(&changes));
        Watch { bell: self.clone(), webhook, changes }
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

/// How often an endpoint has changed since it has been watched.
#[derive(Debug)]
pub(super) struct Watch {
    bell: WebhookBell,
    webhook: WebhookId,
    changes: Arc<AtomicU64>,
}

impl Watch {
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut watched = lock(&self.bell.0.changes);
        // The next one to watch may have begun already.
        if watched.get(&self.webhook).is_some_and(|changes| Arc::ptr_eq(changes, &self.changes)) {
            watched.remove(&self.webhook);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
