//! Starts lanes and wakes them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tracing::error;

use super::lane::{Lane, Shared};
use super::{DispatchSettings, fan_out};
use crate::clock::{DAY_MS, TimestampMs};
use crate::context::Context;
use crate::id::{Id, TeamId, WebhookDeliveryId, WebhookId};
use crate::notices::{self, Notice};
use crate::outgoing::Client;
use crate::store::tables::{WEBHOOK_HEALTH, WEBHOOK_QUEUE, WEBHOOKS};
use crate::store::{Order, Reads, STOP, StoreError, WriteTx};
use crate::webhooks::WebhookBell;
use crate::webhooks::model::WebhookStatus;

/// Requests at once over all endpoints.
const REQUESTS_MAX: usize = 4_096;
/// How often every queue is looked at, whatever the bells said.
const RECONCILE_EVERY: Duration = Duration::from_secs(60);
/// Queues looked at in one read.
const QUEUES_MAX: usize = 1_000;
/// How long a delivery may be overdue before the owners are told.
const BACKLOG_MS_MAX: i64 = 6 * 60 * 60 * 1_000;

/// Delivers events to endpoints.
pub struct Dispatcher {
    shared: Shared,
}

/// The head of an endpoint's queue.
#[derive(Clone, Copy, Debug)]
struct Head {
    webhook: WebhookId,
    team: TeamId,
    due_ms: TimestampMs,
}

impl Dispatcher {
    /// Returns a dispatcher that nothing has been asked of.
    pub fn new(context: Context, bell: WebhookBell, client: Client, settings: DispatchSettings) -> Self {
        let places = Arc::new(Semaphore::new(REQUESTS_MAX));
        Self { shared: Shared { context, bell, client, settings, places } }
    }

    /// Delivers until the stop.
    ///
    /// # Errors
    /// [`StoreError`] when the outbox or the queues cannot be read.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) -> Result<(), StoreError> {
        tokio::try_join!(self.empty_outbox(stop.clone()), self.tend_lanes(stop))?;
        Ok(())
    }

    /// Moves events from the outbox to the queues of those who hear of them.
    async fn empty_outbox(&self, stop: CancellationToken) -> Result<(), StoreError> {
        let announcer = self.shared.context.announcer.clone();
        loop {
            loop {
                let fanned = tokio::select! {
                    () = stop.cancelled() => return Ok(()),
                    fanned = fan_out::step(&self.shared.context) => fanned?,
                };
                if fanned.events == 0 {
                    break;
                }
                self.shared.bell.queued(fanned.webhooks);
            }
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = announcer.outbox_rung() => {}
                // A ring is a hint; what it did not bring is found here.
                () = tokio::time::sleep(RECONCILE_EVERY) => {}
            }
        }
    }

    async fn tend_lanes(&self, stop: CancellationToken) -> Result<(), StoreError> {
        let mut lanes =
            Lanes { shared: &self.shared, stop: stop.clone(), wakes: HashMap::new(), running: JoinSet::new() };
        let mut reconcile = tokio::time::interval(RECONCILE_EVERY);
        reconcile.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                _ = reconcile.tick() => {
                    for head in self.look_at_all(&mut lanes).await? {
                        self.tell_backlog(head).await?;
                    }
                }
                () = self.shared.bell.heard() => {
                    let pending = self.shared.bell.take();
                    if pending.all {
                        self.look_at_all(&mut lanes).await?;
                        lanes.wake_all();
                    }
                    for webhook in pending.webhooks {
                        lanes.wake(webhook);
                    }
                }
                Some(ended) = lanes.running.join_next() => {
                    // What was queued while it ended is found in its queue.
                    if let Some(webhook) = lanes.forget(ended) && self.has_queue(webhook).await? {
                        lanes.wake(webhook);
                    }
                }
            }
        }
        while lanes.running.join_next().await.is_some() {}
        Ok(())
    }

    /// Wakes the lane of every endpoint that has anything in its queue; returns the overdue ones.
    async fn look_at_all(&self, lanes: &mut Lanes<'_>) -> Result<Vec<Head>, StoreError> {
        let mut overdue = Vec::new();
        let mut after = None;
        loop {
            let heads = self.shared.context.store.read(move |tx| heads(tx, after)).await?;
            let Some(last) = heads.last() else { return Ok(overdue) };
            after = Some(last.webhook);
            let late_ms = self.shared.context.now_ms() - BACKLOG_MS_MAX;
            for head in heads {
                lanes.wake(head.webhook);
                if head.due_ms < late_ms {
                    overdue.push(head);
                }
            }
        }
    }

    async fn has_queue(&self, webhook: WebhookId) -> Result<bool, StoreError> {
        self.shared.context.store.read(move |tx| Ok(head(tx, (webhook, 0, Id::MIN), webhook)?.is_some())).await
    }

    /// Tells the owners, at most once a day, that deliveries wait for too long.
    async fn tell_backlog(&self, head: Head) -> Result<(), StoreError> {
        let context = self.shared.context.clone();
        self.shared.context.store.write_bulk(move |tx| tell_backlog(tx, &context, head)).await
    }
}

fn tell_backlog(tx: &WriteTx<'_>, context: &Context, head: Head) -> Result<(), StoreError> {
    let Head { webhook, team, due_ms } = head;
    let Some(row) = tx.get(&WEBHOOKS, &(team, webhook))? else { return Ok(()) };
    let mut health = tx.get(&WEBHOOK_HEALTH, &(team, webhook))?.unwrap_or_default();
    let now_ms = context.now_ms();
    let is_told = health.told_backlog_ms.is_some_and(|told_ms| now_ms - told_ms < DAY_MS);
    if is_told || row.status != WebhookStatus::Enabled {
        return Ok(());
    }
    health.told_backlog_ms = Some(now_ms);
    tx.put(&WEBHOOK_HEALTH, &(team, webhook), &health)?;
    notices::tell(tx, context, team, &Notice::WebhookBacklog { webhook, endpoint: row.endpoint, oldest_ms: due_ms })
}

/// The lanes there are.
struct Lanes<'a> {
    shared: &'a Shared,
    stop: CancellationToken,
    wakes: HashMap<WebhookId, Arc<Notify>>,
    running: JoinSet<WebhookId>,
}

impl Lanes<'_> {
    /// Wakes an endpoint's lane, or starts it.
    fn wake(&mut self, webhook: WebhookId) {
        if let Some(wake) = self.wakes.get(&webhook) {
            wake.notify_one();
            return;
        }
        let wake = Arc::new(Notify::new());
        self.wakes.insert(webhook, Arc::clone(&wake));
        self.running.spawn(Lane::new(self.shared.clone(), webhook, wake).run(self.stop.clone()));
    }

    fn wake_all(&self) {
        for wake in self.wakes.values() {
            wake.notify_one();
        }
    }

    /// Forgets a lane that has ended; returns whose it was.
    fn forget(&mut self, ended: Result<WebhookId, tokio::task::JoinError>) -> Option<WebhookId> {
        match ended {
            Ok(webhook) => {
                self.wakes.remove(&webhook);
                Some(webhook)
            }
            Err(panic) => {
                // Which one it was nobody can say: those that still run find nothing new to do.
                error!("the lane of a webhook panicked: {panic}");
                self.wakes.clear();
                self.running.abort_all();
                self.shared.bell.ring_all();
                None
            }
        }
    }
}

/// Returns the heads of the queues after that of an endpoint, in the order of the endpoints' ids.
fn heads(tx: &impl Reads, after: Option<WebhookId>) -> Result<Vec<Head>, StoreError> {
    let mut found: Vec<Head> = Vec::new();
    let mut passed = after;
    while found.len() < QUEUES_MAX {
        let from = passed.map_or((Id::MIN, 0, Id::MIN), |webhook| (webhook, u64::MAX, Id::MAX));
        let Some(next) = head(tx, from, Id::MAX)? else { break };
        passed = Some(next.webhook);
        found.push(next);
    }
    Ok(found)
}

/// Returns the first row of the queue from a key on, of endpoints up to `until`.
fn head(
    tx: &impl Reads,
    from: (WebhookId, u64, WebhookDeliveryId),
    until: WebhookId,
) -> Result<Option<Head>, StoreError> {
    let mut found = None;
    tx.scan(&WEBHOOK_QUEUE, &from, &(until, u64::MAX, Id::MAX), Order::Ascending, |(webhook, due_ms, _), row| {
        let due_ms = TimestampMs::try_from(due_ms).unwrap_or(TimestampMs::MAX);
        found = Some(Head { webhook, team: row.decode()?.team, due_ms });
        STOP
    })?;
    Ok(found)
}
