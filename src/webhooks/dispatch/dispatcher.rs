//! Starts lanes and wakes them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};
use tokio::task::{self, JoinError, JoinSet};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tracing::error;

use super::fan_out::BatchSize;
use super::lane::{Lane, LaneContext};
use super::{DispatchSettings, fan_out};
use crate::base::clock::{DAY_MS, TimestampMs};
use crate::base::id::{Id, TeamId, WebhookDeliveryId, WebhookId};
use crate::context::Context;
use crate::http_client::Client;
use crate::notices::{self, Notice};
use crate::store::{NEXT, Order, Reads, STOP, StoreError, WriteTx, skip_corrupt};
use crate::tables::{WEBHOOK_HEALTH, WEBHOOK_QUEUE, WEBHOOKS};
use crate::webhooks::model::WebhookStatus;
use crate::webhooks::{DispatchNotifier, QueueRow};

/// Requests at once over all endpoints.
const REQUESTS_MAX: usize = 4_096;
/// How often every queue is looked at, whatever the bells said.
const RECONCILE_EVERY: Duration = Duration::from_secs(60);
/// The pause between two steps that bring nobody what they could take up at once.
const SATURATED_PAUSE: Duration = Duration::from_millis(50);
/// Queues looked at in one read.
const QUEUES_MAX: usize = 1_000;
/// Places looked at, at either end of a queue, for how old it is.
const OLDEST_ROWS: usize = 50;
/// Endpoints whose owners are told in one commit.
const NOTICES_PER_PASS: usize = 100;
/// How old a delivery that waits may become before the owners are told.
const BACKLOG_MS_MAX: i64 = 6 * 60 * 60 * 1_000;

/// Delivers events to endpoints.
pub struct WebhookDispatcher {
    shared: LaneContext,
}

/// The head of an endpoint's queue.
#[derive(Clone, Copy, Debug)]
struct QueueHead {
    webhook: WebhookId,
    team: TeamId,
    /// When the oldest of what waits was queued, of those due first and last: what has failed often is
    /// due late.
    oldest_ms: TimestampMs,
}

impl WebhookDispatcher {
    /// Returns a dispatcher that nothing has been asked of.
    pub fn new(context: Context, bell: DispatchNotifier, client: Client, settings: DispatchSettings) -> Self {
        let places = Arc::new(Semaphore::new(REQUESTS_MAX));
        Self { shared: LaneContext { context, notifier: bell, client, settings, permits: places } }
    }

    /// Delivers until the stop.
    ///
    /// # Errors
    /// [`StoreError`] when the outbox or the queues cannot be read.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) -> Result<(), StoreError> {
        tokio::try_join!(self.drain_outbox(stop.clone()), self.run_lanes(stop))?;
        Ok(())
    }

    /// Moves events from the outbox to the queues of those who hear of them: as fast as it goes while any
    /// of them can take up more, and at leisure otherwise, because the writer has others to serve.
    async fn drain_outbox(&self, stop: CancellationToken) -> Result<(), StoreError> {
        let (bell, announcer) = (&self.shared.notifier, &self.shared.context.event_bus);
        let (mut last, mut stride) = (TeamId::MIN, BatchSize::Full);
        loop {
            let fanned = tokio::select! {
                () = stop.cancelled() => return Ok(()),
                fanned = fan_out::fan_out_batch(&self.shared.context, last, stride) => fanned?,
            };
            last = fanned.last;
            let nobody_waits = !fanned.subscribers.is_empty() && bell.all_saturated(&fanned.subscribers);
            stride = if nobody_waits { BatchSize::Small } else { BatchSize::Full };
            bell.deliveries_queued(fanned.webhooks);
            // Under a steady trickle the outbox is empty after every step, and the pause gathers what comes.
            if nobody_waits {
                tokio::select! {
                    () = stop.cancelled() => return Ok(()),
                    () = bell.capacity_available() => stride = BatchSize::Full,
                    () = tokio::time::sleep(SATURATED_PAUSE) => {}
                }
            }
            if fanned.is_all {
                tokio::select! {
                    () = stop.cancelled() => return Ok(()),
                    () = announcer.outbox_notified() => {}
                    // A ring is a hint; what it did not bring is found here.
                    () = tokio::time::sleep(RECONCILE_EVERY) => {}
                }
            }
        }
    }

    async fn run_lanes(&self, stop: CancellationToken) -> Result<(), StoreError> {
        let mut lanes = LaneSet {
            shared: &self.shared,
            stop: stop.clone(),
            wakes: HashMap::new(),
            running: JoinSet::new(),
            tasks: HashMap::new(),
        };
        let mut reconcile = tokio::time::interval(RECONCILE_EVERY);
        reconcile.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut has_run = false;
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                _ = reconcile.tick() => {
                    let heads = self.scan_queues(&mut lanes).await?;
                    // What this server itself was late with, because it was down, gets its turn first.
                    if has_run {
                        self.notify_backlogs(heads).await?;
                    }
                    has_run = true;
                }
                () = self.shared.notifier.notified() => {
                    let pending = self.shared.notifier.take();
                    if pending.all {
                        self.scan_queues(&mut lanes).await?;
                        lanes.wake_all();
                    }
                    for webhook in pending.webhooks {
                        lanes.wake(webhook);
                    }
                }
                Some(ended) = lanes.running.join_next_with_id() => {
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

    /// Wakes the lane of every endpoint that has anything in its queue; returns those whose backlog is
    /// too old.
    async fn scan_queues(&self, lanes: &mut LaneSet<'_>) -> Result<Vec<QueueHead>, StoreError> {
        let mut overdue = Vec::new();
        let mut after = None;
        loop {
            let heads = self.shared.context.store.read(move |tx| heads(tx, after)).await?;
            let Some(last) = heads.last() else { return Ok(overdue) };
            after = Some(last.webhook);
            let late_ms = self.shared.context.now_ms() - BACKLOG_MS_MAX;
            for head in heads {
                lanes.wake(head.webhook);
                if head.oldest_ms < late_ms {
                    overdue.push(head);
                }
            }
        }
    }

    async fn has_queue(&self, webhook: WebhookId) -> Result<bool, StoreError> {
        self.shared.context.store.read(move |tx| Ok(head(tx, (webhook, 0, Id::MIN), webhook)?.is_some())).await
    }

    /// Tells the owners, at most once a day, that deliveries wait for too long.
    async fn notify_backlogs(&self, heads: Vec<QueueHead>) -> Result<(), StoreError> {
        for heads in heads.chunks(NOTICES_PER_PASS) {
            let (context, heads) = (self.shared.context.clone(), heads.to_vec());
            let tell = move |tx: &WriteTx<'_>| heads.iter().try_for_each(|head| notify_backlog(tx, &context, *head));
            self.shared.context.store.write_bulk(tell).await?;
        }
        Ok(())
    }
}

fn notify_backlog(tx: &WriteTx<'_>, context: &Context, head: QueueHead) -> Result<(), StoreError> {
    let QueueHead { webhook, team, oldest_ms } = head;
    let what = format_args!("webhook {webhook} and how it fares");
    let Some(row) = skip_corrupt(tx.get(&WEBHOOKS, &(team, webhook)), what)?.flatten() else { return Ok(()) };
    let health = skip_corrupt(tx.get(&WEBHOOK_HEALTH, &(team, webhook)), what)?;
    let mut health = health.flatten().unwrap_or_default();
    let now_ms = context.now_ms();
    let is_told = health.backlog_notified_ms.is_some_and(|told_ms| now_ms - told_ms < DAY_MS);
    if is_told || row.status != WebhookStatus::Enabled {
        return Ok(());
    }
    health.backlog_notified_ms = Some(now_ms);
    tx.put(&WEBHOOK_HEALTH, &(team, webhook), &health)?;
    notices::record(tx, context, team, &Notice::WebhookBacklog { webhook, endpoint: row.endpoint, oldest_ms })
}

/// The lanes there are.
struct LaneSet<'a> {
    shared: &'a LaneContext,
    stop: CancellationToken,
    wakes: HashMap<WebhookId, Arc<Notify>>,
    running: JoinSet<WebhookId>,
    /// Whose lane a task is.
    tasks: HashMap<task::Id, WebhookId>,
}

impl LaneSet<'_> {
    /// Wakes an endpoint's lane, or starts it.
    fn wake(&mut self, webhook: WebhookId) {
        if let Some(wake) = self.wakes.get(&webhook) {
            wake.notify_one();
            return;
        }
        let wake = Arc::new(Notify::new());
        self.wakes.insert(webhook, Arc::clone(&wake));
        let task = self.running.spawn(Lane::new(self.shared.clone(), webhook, wake).run(self.stop.clone()));
        self.tasks.insert(task.id(), webhook);
    }

    fn wake_all(&self) {
        for wake in self.wakes.values() {
            wake.notify_one();
        }
    }

    /// Forgets a lane that has ended; returns whose it was, unless it panicked: then it is started again
    /// when all queues are looked at next, and not at once.
    fn forget(&mut self, ended: Result<(task::Id, WebhookId), JoinError>) -> Option<WebhookId> {
        let id = match &ended {
            Ok((id, _)) => *id,
            Err(panic) => panic.id(),
        };
        let webhook = self.tasks.remove(&id)?;
        self.wakes.remove(&webhook);
        match ended {
            Ok(_) => Some(webhook),
            Err(panic) => {
                error!(%webhook, "the lane of a webhook panicked: {panic}");
                None
            }
        }
    }
}

/// Returns the heads of the queues after that of an endpoint, in the order of the endpoints' ids.
fn heads(tx: &impl Reads, after: Option<WebhookId>) -> Result<Vec<QueueHead>, StoreError> {
    let mut found: Vec<QueueHead> = Vec::new();
    let mut passed = after;
    while found.len() < QUEUES_MAX {
        let from = passed.map_or((Id::MIN, 0, Id::MIN), |webhook| (webhook, u64::MAX, Id::MAX));
        let Some(next) = head(tx, from, Id::MAX)? else { break };
        passed = Some(next.webhook);
        let oldest_ms = oldest(tx, next.webhook)?.unwrap_or(next.oldest_ms);
        found.push(QueueHead { oldest_ms, ..next });
    }
    Ok(found)
}

/// Returns the first row of the queue from a key on, of endpoints up to `until`.
fn head(
    tx: &impl Reads,
    from: (WebhookId, u64, WebhookDeliveryId),
    until: WebhookId,
) -> Result<Option<QueueHead>, StoreError> {
    let mut found = None;
    tx.scan(&WEBHOOK_QUEUE, &from, &(until, u64::MAX, Id::MAX), Order::Ascending, |(webhook, _, delivery), row| {
        let row: Option<QueueRow> = skip_corrupt(row.decode(), format_args!("the place of delivery {delivery}"))?;
        // Its lane takes away what does not read.
        let (team, oldest_ms) = row.map_or((TeamId::MIN, TimestampMs::MAX), |row| (row.team, row.queued_ms));
        found = Some(QueueHead { webhook, team, oldest_ms });
        STOP
    })?;
    Ok(found)
}

/// Returns when the oldest was queued of what is due first and last for an endpoint.
fn oldest(tx: &impl Reads, webhook: WebhookId) -> Result<Option<TimestampMs>, StoreError> {
    let mut oldest: Option<TimestampMs> = None;
    for order in [Order::Ascending, Order::Descending] {
        let mut seen = 0;
        let (from, to) = ((webhook, 0, Id::MIN), (webhook, u64::MAX, Id::MAX));
        tx.scan(&WEBHOOK_QUEUE, &from, &to, order, |(_, _, delivery), row| {
            let row: Option<QueueRow> = skip_corrupt(row.decode(), format_args!("the place of delivery {delivery}"))?;
            if let Some(row) = row {
                oldest = Some(oldest.map_or(row.queued_ms, |known| known.min(row.queued_ms)));
            }
            seen += 1;
            if seen < OLDEST_ROWS { NEXT } else { STOP }
        })?;
    }
    Ok(oldest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhooks::{SubscribedEvents, WebhookRow};

    const TEAM: TeamId = TeamId::from_bytes([7; 16]);

    #[tokio::test]
    async fn owners_are_told_once_a_day_of_what_waits_for_more_than_six_hours() {
        let (_directory, context) = Context::temporary();
        let webhook: WebhookId = context.id();
        let row = WebhookRow {
            endpoint: "https://hooks.example.com/".into(),
            subscription: SubscribedEvents::All,
            status: WebhookStatus::Enabled,
            activation: 0,
            secret: Vec::new(),
            previous: None,
        };
        let began_ms = context.now_ms();
        let (first, last) = (context.id(), context.id());
        let places = [(began_ms + 1_000, first, began_ms), (began_ms + DAY_MS, last, began_ms - 1)];
        let put = move |tx: &WriteTx<'_>| {
            tx.put(&WEBHOOKS, &(TEAM, webhook), &row)?;
            places.iter().try_for_each(|(due_ms, id, queued_ms)| {
                let key = (webhook, u64::try_from(*due_ms).unwrap(), *id);
                tx.put(&WEBHOOK_QUEUE, &key, &QueueRow { team: TEAM, queued_ms: *queued_ms })
            })
        };
        context.store.write::<_, StoreError>(put).await.unwrap();

        let found = context.store.read::<_, StoreError>(|tx| heads(tx, None)).await.unwrap();
        assert_eq!(
            found.iter().map(|head| (head.webhook, head.oldest_ms)).collect::<Vec<_>>(),
            [(webhook, began_ms - 1)]
        );

        let mut told = Vec::new();
        for hours in [7, 12, 23, 30] {
            context.clock.advance(Duration::from_secs(hours * 3_600));
            let (telling, head) = (context.clone(), found[0]);
            context.store.write_bulk(move |tx| notify_backlog(tx, &telling, head)).await.unwrap();
            let health = context.store.read_now::<_, StoreError>(|tx| tx.get(&WEBHOOK_HEALTH, &(TEAM, webhook)));
            told.push(health.unwrap().unwrap().backlog_notified_ms.unwrap() - began_ms);
        }
        told.dedup();
        assert_eq!(told.iter().map(|ms| ms / 3_600_000).collect::<Vec<_>>(), [7, 42, 72]);
    }
}
