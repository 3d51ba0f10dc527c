//! Scans the delivery queues, and notifies owners of deliveries that wait too long.

use super::clock_steps::is_ahead;
use crate::base::clock::{DAY_MS, TimestampMs};
use crate::base::id::{Id, TeamId, WebhookDeliveryId, WebhookId};
use crate::context::Context;
use crate::notices::{self, Notice};
use crate::store::{NEXT, Order, Reads, STOP, StoreError, WriteTx};
use crate::tables::{WEBHOOK_HEALTH, WEBHOOK_QUEUE, WEBHOOKS};
use crate::webhooks::model::WebhookStatus;

/// Queues of one read.
const QUEUES_MAX: usize = 1_000;
/// Rows at each end of a queue that are read for the age of its oldest delivery.
const OLDEST_ROWS: usize = 50;
const NOTICES_PER_COMMIT: usize = 100;
/// Age of a waiting delivery at which the owners are notified.
const BACKLOG_MS_MAX: i64 = 6 * 60 * 60 * 1_000;

/// The queue of one endpoint.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueHead {
    pub(super) webhook: WebhookId,
    /// [`TeamId::MIN`] if the first row is corrupt.
    team: TeamId,
    /// Time at which the oldest delivery was queued, among the [`OLDEST_ROWS`] first and last of the queue: a
    /// delivery with many failures is due late.
    oldest_ms: TimestampMs,
    /// Whether one of these deliveries is due too far in the future.
    pub(super) has_ahead: bool,
}

impl QueueHead {
    /// Returns whether the oldest delivery waits too long.
    pub(super) fn is_overdue(&self, now_ms: TimestampMs) -> bool {
        self.oldest_ms < now_ms - BACKLOG_MS_MAX
    }
}

/// Returns up to [`QUEUES_MAX`] queues of the endpoints after `after`, in the order of their ids.
pub(super) fn queue_heads(
    tx: &impl Reads,
    after: Option<WebhookId>,
    now_ms: TimestampMs,
) -> Result<Vec<QueueHead>, StoreError> {
    let mut heads: Vec<QueueHead> = Vec::new();
    let mut last = after;
    while heads.len() < QUEUES_MAX {
        let from = last.map_or((Id::MIN, 0, Id::MIN), |webhook| (webhook, u64::MAX, Id::MAX));
        let Some(next) = queue_head(tx, from, Id::MAX)? else { break };
        last = Some(next.webhook);
        let (oldest_ms, has_ahead) = sample(tx, next.webhook, now_ms)?;
        heads.push(QueueHead { oldest_ms: oldest_ms.unwrap_or(next.oldest_ms), has_ahead, ..next });
    }
    Ok(heads)
}

/// Returns whether an endpoint has queued deliveries.
pub(super) fn has_queue(tx: &impl Reads, webhook: WebhookId) -> Result<bool, StoreError> {
    Ok(queue_head(tx, (webhook, 0, Id::MIN), webhook)?.is_some())
}

/// Returns the first queue row from `from` to the last row of endpoint `until`.
fn queue_head(
    tx: &impl Reads,
    from: (WebhookId, u64, WebhookDeliveryId),
    until: WebhookId,
) -> Result<Option<QueueHead>, StoreError> {
    let mut found = None;
    tx.scan(&WEBHOOK_QUEUE, &from, &(until, u64::MAX, Id::MAX), Order::Ascending, |(webhook, ..), row| {
        // The lane of the endpoint deletes a corrupt row.
        let (team, oldest_ms) = row.valid().map_or((TeamId::MIN, TimestampMs::MAX), |row| (row.team, row.queued_ms));
        found = Some(QueueHead { webhook, team, oldest_ms, has_ahead: false });
        STOP
    })?;
    Ok(found)
}

/// Returns the time at which the oldest of the first and last deliveries of a queue was queued. Also returns whether
/// one of them is due too far in the future.
fn sample(tx: &impl Reads, webhook: WebhookId, now_ms: TimestampMs) -> Result<(Option<TimestampMs>, bool), StoreError> {
    let (mut oldest, mut has_ahead): (Option<TimestampMs>, bool) = (None, false);
    for order in [Order::Ascending, Order::Descending] {
        let mut rows = 0;
        let (from, to) = ((webhook, 0, Id::MIN), (webhook, u64::MAX, Id::MAX));
        tx.scan(&WEBHOOK_QUEUE, &from, &to, order, |key, row| {
            if let Some(row) = row.valid() {
                oldest = Some(oldest.map_or(row.queued_ms, |oldest| oldest.min(row.queued_ms)));
                has_ahead |= is_ahead(key, &row, now_ms);
            }
            // A corrupt row counts too, so that the scan is bounded.
            rows += 1;
            if rows < OLDEST_ROWS { NEXT } else { STOP }
        })?;
    }
    Ok((oldest, has_ahead))
}

/// Notifies the owners of endpoints, at most once a day, that deliveries wait too long.
pub(super) async fn notify_owners(context: &Context, overdue: Vec<QueueHead>) -> Result<(), StoreError> {
    for heads in overdue.chunks(NOTICES_PER_COMMIT) {
        let (writing, heads) = (context.clone(), heads.to_vec());
        let write = move |tx: &WriteTx<'_>| heads.iter().try_for_each(|head| notify(tx, &writing, *head));
        context.store.write_bulk(write).await?;
    }
    Ok(())
}

fn notify(tx: &WriteTx<'_>, context: &Context, head: QueueHead) -> Result<(), StoreError> {
    let QueueHead { webhook, team, oldest_ms, has_ahead: _ } = head;
    let Some(row) = tx.get_valid(&WEBHOOKS, &(team, webhook))? else { return Ok(()) };
    let mut health = tx.get_valid(&WEBHOOK_HEALTH, &(team, webhook))?.unwrap_or_default();
    let now_ms = context.now_ms();
    let is_recent = health.backlog_notified_ms.is_some_and(|notified_ms| now_ms - notified_ms < DAY_MS);
    if is_recent || row.status != WebhookStatus::Enabled {
        return Ok(());
    }
    health.backlog_notified_ms = Some(now_ms);
    tx.put(&WEBHOOK_HEALTH, &(team, webhook), &health)?;
    notices::record(tx, context, team, &Notice::WebhookBacklog { webhook, endpoint: row.endpoint, oldest_ms })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::webhooks::{QueueRow, SubscribedEvents, WebhookRow};

    const TEAM: TeamId = TeamId::from_bytes([7; 16]);

    #[tokio::test]
    async fn owners_are_notified_once_a_day_of_deliveries_that_wait_for_more_than_six_hours() {
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
        let start_ms = context.now_ms();
        let (first, last) = (context.id(), context.id());
        let rows = [(start_ms + 1_000, first, start_ms), (start_ms + DAY_MS, last, start_ms - 1)];
        let put = move |tx: &WriteTx<'_>| {
            tx.put(&WEBHOOKS, &(TEAM, webhook), &row)?;
            rows.iter().try_for_each(|(due_ms, id, queued_ms)| {
                let key = (webhook, u64::try_from(*due_ms).unwrap(), *id);
                tx.put(&WEBHOOK_QUEUE, &key, &QueueRow { team: TEAM, queued_ms: *queued_ms })
            })
        };
        context.commit(put).await;

        let found = context.read(|tx| queue_heads(tx, None, start_ms));
        assert_eq!(
            found.iter().map(|head| (head.webhook, head.oldest_ms)).collect::<Vec<_>>(),
            [(webhook, start_ms - 1)]
        );

        let mut notified_ms = Vec::new();
        for hours in [7, 12, 23, 30] {
            context.clock.advance(Duration::from_secs(hours * 3_600));
            let (writing, head) = (context.clone(), found[0]);
            context.store.write_bulk(move |tx| notify(tx, &writing, head)).await.unwrap();
            let health = context.read(|tx| tx.get(&WEBHOOK_HEALTH, &(TEAM, webhook))).unwrap();
            notified_ms.push(health.backlog_notified_ms.unwrap() - start_ms);
        }
        notified_ms.dedup();
        assert_eq!(notified_ms.iter().map(|ms| ms / 3_600_000).collect::<Vec<_>>(), [7, 42, 72]);
    }
}
