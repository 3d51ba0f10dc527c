//! The dispatcher: starts lanes and wakes them. [`DispatchNotifier`] is the handle of its other callers.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::{self, JoinError, JoinSet};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tracing::error;

use super::backlog::{self, QueueHead};
use super::figures::{WebhookAttemptCounts, WebhookFigures};
use super::lane::{LaneCapacity, LaneContext, WebhookLane};
use super::queue_count::{self, QueuedDeliveries};
use super::{DispatchSettings, clock_steps, fan_out};
use crate::base::id::{WebhookDeliveryId, WebhookId};
use crate::base::sync;
use crate::base::wakeup::{PendingWakeup, Wakeup};
use crate::context::Context;
use crate::http_client::HttpClient;
use crate::store::StoreError;

/// Requests in flight over all endpoints.
const REQUESTS_MAX: usize = 4_096;
/// Interval of the scans of the outbox and of all queues, which do not depend on notifications.
pub(super) const RECONCILE_EVERY: Duration = Duration::from_secs(60);
/// Endpoints that a wake-up names. With more, the dispatcher scans all queues.
const NOTIFIED_MAX: usize = 1_000;

/// Notifies the dispatcher of changes, and shows which deliveries are in flight. Cheap to clone.
///
/// A notification is a hint. The queue is a table, and the dispatcher scans it once a minute.
#[derive(Clone, Debug, Default)]
pub struct DispatchNotifier(Arc<NotifierInner>);

#[derive(Debug, Default)]
struct NotifierInner {
    wakeup: Wakeup<WebhookId, NOTIFIED_MAX>,
    /// Number of changes of each endpoint with a lane, since the lane started.
    versions: Mutex<HashMap<WebhookId, Arc<AtomicU64>>>,
    in_flight: Mutex<HashSet<WebhookDeliveryId>>,
}

impl DispatchNotifier {
    /// Reports a change of an endpoint. Called after the commit and before its caller gets a response, so that
    /// each later request uses the changed endpoint.
    pub fn endpoint_changed(&self, webhook: WebhookId) {
        if let Some(version) = sync::lock(&self.0.versions).get(&webhook) {
            version.fetch_add(1, Ordering::SeqCst);
        }
        self.deliveries_queued([webhook]);
    }

    /// Reports new deliveries of endpoints.
    pub(in crate::webhooks) fn deliveries_queued(&self, webhooks: impl IntoIterator<Item = WebhookId>) {
        self.0.wakeup.notify_rows(webhooks);
    }

    /// Makes the dispatcher scan every queue, after changes of unknown endpoints or of the clock.
    pub fn rescan_all(&self) {
        self.0.wakeup.rescan();
    }

    /// Returns whether a request with the delivery is in flight.
    pub fn is_attempting(&self, delivery: WebhookDeliveryId) -> bool {
        sync::lock(&self.0.in_flight).contains(&delivery)
    }

    #[cfg(test)]
    pub(in crate::webhooks) fn has_attempts(&self) -> bool {
        !sync::lock(&self.0.in_flight).is_empty()
    }

    #[cfg(test)]
    pub(in crate::webhooks) fn take(&self) -> PendingWakeup<WebhookId> {
        self.0.wakeup.take()
    }

    /// Marks a delivery as in flight until the guard is dropped.
    pub(in crate::webhooks) fn attempt_started(&self, delivery: WebhookDeliveryId) -> AttemptGuard {
        sync::lock(&self.0.in_flight).insert(delivery);
        AttemptGuard { notifier: self.clone(), delivery }
    }

    /// Counts the changes of an endpoint until the registration is dropped.
    pub(super) fn register_lane(&self, webhook: WebhookId) -> LaneRegistration {
        let version = Arc::<AtomicU64>::default();
        sync::lock(&self.0.versions).insert(webhook, Arc::clone(&version));
        LaneRegistration { notifier: self.clone(), webhook, version }
    }
}

/// The lane of an endpoint, as registered for its changes.
#[derive(Debug)]
pub(super) struct LaneRegistration {
    notifier: DispatchNotifier,
    webhook: WebhookId,
    version: Arc<AtomicU64>,
}

impl LaneRegistration {
    /// Returns the number of changes of the endpoint since the registration.
    pub(super) fn endpoint_version(&self) -> u64 {
        self.version.load(Ordering::SeqCst)
    }
}

impl Drop for LaneRegistration {
    fn drop(&mut self) {
        // A lane that ends late must not remove the registration of its successor.
        let mut versions = sync::lock(&self.notifier.0.versions);
        if versions.get(&self.webhook).is_some_and(|version| Arc::ptr_eq(version, &self.version)) {
            versions.remove(&self.webhook);
        }
    }
}

/// Marks a delivery as in flight.
#[must_use]
pub(in crate::webhooks) struct AttemptGuard {
    notifier: DispatchNotifier,
    delivery: WebhookDeliveryId,
}

impl Drop for AttemptGuard {
    fn drop(&mut self) {
        sync::lock(&self.notifier.0.in_flight).remove(&self.delivery);
    }
}

/// Delivers events to endpoints.
pub struct WebhookDispatcher {
    lanes: LaneContext,
    /// Endpoints with queued deliveries at the last complete scan.
    queues: AtomicUsize,
    /// Result of the last count; `None` before the first one.
    queued: Mutex<Option<QueuedDeliveries>>,
}

impl WebhookDispatcher {
    /// Returns a dispatcher that does nothing until [`WebhookDispatcher::run`].
    pub fn new(context: Context, notifier: DispatchNotifier, client: HttpClient, settings: DispatchSettings) -> Self {
        let (capacity, permits) = (LaneCapacity::default(), Arc::new(Semaphore::new(REQUESTS_MAX)));
        let counts = Arc::<WebhookAttemptCounts>::default();
        let lanes = LaneContext { context, notifier, client, settings, capacity, permits, counts };
        Self { lanes, queues: AtomicUsize::new(0), queued: Mutex::default() }
    }

    /// Returns the current figures.
    pub fn figures(&self) -> WebhookFigures {
        WebhookFigures {
            attempts: self.lanes.counts.read(),
            requests: sync::lock(&self.lanes.notifier.0.in_flight).len(),
            queues: self.queues.load(Ordering::Relaxed),
            queued: sync::lock(&self.queued).map(|counted| counted.as_figures(self.lanes.context.clock.elapsed_ms())),
        }
    }

    /// Counts the queued deliveries.
    ///
    /// # Errors
    /// [`StoreError`] if the queue cannot be read.
    pub async fn count_queue(&self) -> Result<(), StoreError> {
        let counted = queue_count::count(&self.lanes.context).await?;
        *sync::lock(&self.queued) = Some(counted);
        Ok(())
    }

    /// Delivers events until the stop.
    ///
    /// # Errors
    /// [`StoreError`] if the outbox or the queues cannot be read, or the outbox cannot be written.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) -> Result<(), StoreError> {
        tokio::try_join!(fan_out::run(&self.lanes, stop.clone()), self.run_lanes(stop))?;
        Ok(())
    }

    async fn run_lanes(&self, stop: CancellationToken) -> Result<(), StoreError> {
        let mut lanes = LaneSet {
            context: &self.lanes,
            stop: stop.clone(),
            wakeups: HashMap::new(),
            running: JoinSet::new(),
            tasks: HashMap::new(),
        };
        let mut reconcile = tokio::time::interval(RECONCILE_EVERY);
        reconcile.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_first_scan = true;
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                _ = reconcile.tick() => {
                    let overdue = self.scan_queues(&mut lanes).await?;
                    // At the start, deliveries can be overdue because this server was down.
                    if !is_first_scan {
                        backlog::notify_owners(&self.lanes.context, overdue).await?;
                    }
                    is_first_scan = false;
                }
                pending = self.lanes.notifier.0.wakeup.notified() => {
                    let PendingWakeup { hints: webhooks, rescan } = pending;
                    if rescan {
                        self.scan_queues(&mut lanes).await?;
                        lanes.wake_all();
                    }
                    for webhook in webhooks {
                        lanes.wake(webhook);
                    }
                }
                Some(ended) = lanes.running.join_next_with_id() => {
                    // Deliveries may have been queued since the last load of the lane.
                    if let Some(webhook) = lanes.remove(ended) && self.has_queue(webhook).await? {
                        lanes.wake(webhook);
                    }
                }
            }
        }
        while lanes.running.join_next().await.is_some() {}
        Ok(())
    }

    /// Wakes the lane of every endpoint with a queue, and makes its deliveries due after a step of the clock. Returns the
    /// endpoints whose backlog is too old.
    async fn scan_queues(&self, lanes: &mut LaneSet<'_>) -> Result<Vec<QueueHead>, StoreError> {
        let mut overdue = Vec::new();
        let mut after = None;
        let mut queues = 0;
        loop {
            let now_ms = self.lanes.context.now_ms();
            let heads = self.lanes.context.store.read(move |tx| backlog::queue_heads(tx, after, now_ms)).await?;
            let Some(last) = heads.last() else {
                self.queues.store(queues, Ordering::Relaxed);
                return Ok(overdue);
            };
            after = Some(last.webhook);
            queues += heads.len();
            for head in heads {
                if head.has_ahead {
                    clock_steps::release_ahead(&self.lanes.context, &self.lanes.notifier, head.webhook).await?;
                }
                lanes.wake(head.webhook);
                if head.is_overdue(now_ms) {
                    overdue.push(head);
                }
            }
        }
    }

    async fn has_queue(&self, webhook: WebhookId) -> Result<bool, StoreError> {
        self.lanes.context.store.read(move |tx| backlog::has_queue(tx, webhook)).await
    }
}

/// The running lanes.
struct LaneSet<'a> {
    context: &'a LaneContext,
    stop: CancellationToken,
    wakeups: HashMap<WebhookId, Arc<Wakeup>>,
    running: JoinSet<WebhookId>,
    /// The endpoint of each task.
    tasks: HashMap<task::Id, WebhookId>,
}

impl LaneSet<'_> {
    /// Wakes the lane of an endpoint, or starts one.
    fn wake(&mut self, webhook: WebhookId) {
        if let Some(wakeup) = self.wakeups.get(&webhook) {
            wakeup.notify();
            return;
        }
        let wakeup = Arc::<Wakeup>::default();
        self.wakeups.insert(webhook, Arc::clone(&wakeup));
        let task = self.running.spawn(WebhookLane::new(self.context.clone(), webhook, wakeup).run(self.stop.clone()));
        self.tasks.insert(task.id(), webhook);
    }

    fn wake_all(&self) {
        for wakeup in self.wakeups.values() {
            wakeup.notify();
        }
    }

    /// Removes a lane that has ended. Returns its endpoint; `None` if the lane panicked, so that it starts again
    /// with the next scan of all queues and not immediately.
    fn remove(&mut self, ended: Result<(task::Id, WebhookId), JoinError>) -> Option<WebhookId> {
        let id = match &ended {
            Ok((id, _)) => *id,
            Err(panic) => panic.id(),
        };
        let webhook = self.tasks.remove(&id)?;
        self.wakeups.remove(&webhook);
        match ended {
            Ok(_) => Some(webhook),
            Err(panic) => {
                error!(webhook.id = %webhook, "the lane of a webhook panicked: {panic}");
                None
            }
        }
    }
}
