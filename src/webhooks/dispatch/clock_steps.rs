//! Deliveries that are due too far in the future, because the clock was set back after they were queued.
//!
//! Due times are times of the wall clock. The scan of all queues finds such a queue (`backlog.rs`), at the start and once a
//! minute. This file then makes its deliveries due, one page a transaction. After a kill, the next scan continues.

use tracing::info;

use super::dispatcher::DispatchNotifier;
use crate::base::clock::{CLOCK_STEP_MS, TimestampMs};
use crate::base::id::{Id, WebhookDeliveryId, WebhookId};
use crate::context::Context;
use crate::store::{MatchPage, Reads, StoreError, WriteTx, match_page};
use crate::tables::{WEBHOOK_DELIVERIES, WEBHOOK_QUEUE};
use crate::webhooks::retry::RETRY_DELAY_MS_MAX;
use crate::webhooks::store::{self, DeliveryRow, QueueRow, WebhookDeliveryState};

/// Number of rows that one transaction reads.
const PAGE_ROWS: usize = 500;

/// Key of a queue row: endpoint, due time, delivery.
type QueueKey = (WebhookId, u64, WebhookDeliveryId);

/// Returns whether a delivery is due later than any retry, or was queued in the future and is not due.
pub(super) fn is_ahead(key: QueueKey, row: &QueueRow, now_ms: TimestampMs) -> bool {
    let wait_ms = due_ms(key).saturating_sub(now_ms);
    let is_from_future = row.queued_ms > now_ms + CLOCK_STEP_MS;
    wait_ms > CLOCK_STEP_MS && (is_from_future || wait_ms > RETRY_DELAY_MS_MAX + CLOCK_STEP_MS)
}

fn due_ms((_, due_ms, _): QueueKey) -> TimestampMs {
    TimestampMs::try_from(due_ms).unwrap_or(TimestampMs::MAX)
}

/// Makes the deliveries of an endpoint due that are due too far in the future, except those in flight.
pub(super) async fn release_ahead(
    context: &Context,
    notifier: &DispatchNotifier,
    webhook: WebhookId,
) -> Result<(), StoreError> {
    let (mut next, mut released) = (Some((webhook, 0, Id::MIN)), 0);
    while let Some(after) = next {
        let now_ms = context.now_ms();
        let page = context.store.read(move |tx| read_ahead(tx, after, now_ms)).await?;
        next = page.next;
        if !page.hits.is_empty() {
            let notifier = notifier.clone();
            let release = move |tx: &WriteTx<'_>| make_due(tx, &notifier, &page.hits, now_ms);
            released += context.store.write_bulk(release).await?;
        }
    }
    if released > 0 {
        info!(
            webhook.id = %webhook,
            deliveries = released,
            "made {released} webhook deliveries due again, because the clock was set back"
        );
    }
    Ok(())
}

/// Reads a page of the queue of an endpoint after a key, and returns the deliveries that are due too far in the future.
fn read_ahead(tx: &impl Reads, after: QueueKey, now_ms: TimestampMs) -> Result<MatchPage<QueueKey>, StoreError> {
    let (webhook, ..) = after;
    let later = after.max(store::queue_key(webhook, now_ms + CLOCK_STEP_MS, Id::MIN));
    // The lane of the endpoint deletes a corrupt row.
    let is_match = |key, row: Option<QueueRow>| Ok(row.is_some_and(|row| is_ahead(key, &row, now_ms)));
    match_page(tx, &WEBHOOK_QUEUE, later, (webhook, u64::MAX, Id::MAX), PAGE_ROWS, is_match)
}

/// Makes deliveries due now. Returns their number.
fn make_due(
    tx: &WriteTx<'_>,
    notifier: &DispatchNotifier,
    keys: &[QueueKey],
    now_ms: TimestampMs,
) -> Result<usize, StoreError> {
    let mut changed = 0;
    for key in keys {
        let (webhook, _, id) = *key;
        let Some(queued) = tx.get_valid(&WEBHOOK_QUEUE, key)? else { continue };
        let Some(row) = tx.get_valid(&WEBHOOK_DELIVERIES, &(queued.team, webhook, id))? else { continue };
        let is_queued = row.state == WebhookDeliveryState::Queued { due_ms: due_ms(*key) };
        if !is_queued || notifier.is_attempting(id) {
            continue;
        }
        tx.delete(&WEBHOOK_QUEUE, key)?;
        let (state, queued_ms) = (WebhookDeliveryState::Queued { due_ms: now_ms }, row.queued_ms.min(now_ms));
        store::put_queued(tx, (queued.team, webhook, id), &DeliveryRow { state, queued_ms, ..row })?;
        changed += 1;
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::TeamId;

    const NOW_MS: TimestampMs = 1_767_604_353_456;
    const HOUR_MS: i64 = 60 * 60 * 1_000;

    #[test]
    fn without_a_step_no_delivery_is_ahead() {
        for (queued_ms, wait_ms, expected) in [
            (-HOUR_MS, 5_000, false),
            (-HOUR_MS, 10 * HOUR_MS, false),
            (0, HOUR_MS, false),
            // The clock was set back by an hour, or by a day.
            (HOUR_MS, HOUR_MS, true),
            (HOUR_MS, 0, false),
            (-HOUR_MS, 24 * HOUR_MS, true),
        ] {
            let key = store::queue_key(Id::MIN, NOW_MS + wait_ms, Id::MIN);
            let row = QueueRow { team: TeamId::MIN, queued_ms: NOW_MS + queued_ms };
            assert_eq!(is_ahead(key, &row, NOW_MS), expected, "{queued_ms} {wait_ms}");
        }
    }
}
