//! Number and age of the queued deliveries of all endpoints, for monitoring.
//!
//! The table is the queue, so that the deliveries are counted there, page by page. A count reads the key of each row. It
//! rests after each page, so that it uses at most a twentieth of one core, however long the queue is.

use super::figures::QueuedDeliveryFigures;
use crate::base::clock::{TimestampMs, monotonic};
use crate::base::id::{Id, WebhookDeliveryId, WebhookId};
use crate::context::Context;
use crate::store::{ReadTx, Reads, StoreError, match_keys};
use crate::tables::WEBHOOK_QUEUE;
use crate::workers::rest_after;

/// Number of rows of a page.
const PAGE_ROWS: usize = 2_000;

/// Key of a row of the queue: endpoint, due time, delivery.
type RowKey = (WebhookId, u64, WebhookDeliveryId);

const FIRST: RowKey = (Id::MIN, 0, Id::MIN);
const LAST: RowKey = (Id::MAX, u64::MAX, Id::MAX);

/// Queued deliveries of all endpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct QueuedDeliveries {
    /// Number of deliveries that are due.
    pub(super) due: u64,
    /// Number of deliveries that are not due yet.
    pub(super) later: u64,
    /// Time since the oldest due delivery became due.
    pub(super) oldest_due_ms: i64,
    /// End of the count on the monotonic clock.
    pub(super) counted_ms: i64,
}

impl QueuedDeliveries {
    /// Returns the figures at `elapsed_ms` on the monotonic clock.
    pub(super) fn as_figures(&self, elapsed_ms: i64) -> QueuedDeliveryFigures {
        QueuedDeliveryFigures {
            deliveries: [("due", self.due), ("later", self.later)],
            oldest_due_ms: self.oldest_due_ms,
            age_ms: elapsed_ms - self.counted_ms,
        }
    }
}

/// Counts the queued deliveries.
///
/// # Errors
/// [`StoreError`] if the queue cannot be read.
pub(super) async fn count(context: &Context) -> Result<QueuedDeliveries, StoreError> {
    let (mut counted, mut after) = (QueuedDeliveries::default(), None);
    loop {
        let (started, now_ms) = (monotonic(), context.now_ms());
        let read = move |tx: &ReadTx| count_page(tx, after, now_ms, PAGE_ROWS, counted);
        (counted, after) = context.store.read(read).await?;
        if after.is_none() {
            return Ok(QueuedDeliveries { counted_ms: context.clock.elapsed_ms(), ..counted });
        }
        rest_after(started).await;
    }
}

/// Adds up to `rows_max` rows after the key `after` to `counted`. Also returns the last key; `None` at the end.
fn count_page(
    tx: &impl Reads,
    after: Option<RowKey>,
    now_ms: TimestampMs,
    rows_max: usize,
    mut counted: QueuedDeliveries,
) -> Result<(QueuedDeliveries, Option<RowKey>), StoreError> {
    let page = match_keys(tx, &WEBHOOK_QUEUE, after.unwrap_or(FIRST), LAST, rows_max, |(_, due_ms, _)| {
        let waiting_ms = now_ms - i64::try_from(due_ms).unwrap_or(i64::MAX);
        if waiting_ms >= 0 {
            counted.due += 1;
            counted.oldest_due_ms = counted.oldest_due_ms.max(waiting_ms);
        } else {
            counted.later += 1;
        }
        false
    })?;
    Ok((counted, page.next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::TeamId;
    use crate::store::WriteTx;
    use crate::webhooks::QueueRow;

    #[tokio::test]
    async fn due_and_later_deliveries_of_all_endpoints_are_counted_in_pages() {
        let (_directory, context) = Context::temporary();
        let now_ms = context.now_ms();
        let put = move |tx: &WriteTx<'_>| {
            for (webhook, wait_ms) in [(1, 7_000), (1, 0), (1, -1), (2, 9_000), (2, -5_000)] {
                let due_ms = u64::try_from(now_ms - wait_ms).unwrap();
                let key = (WebhookId::from_bytes([webhook; 16]), due_ms, Id::MIN);
                tx.put(&WEBHOOK_QUEUE, &key, &QueueRow { team: TeamId::MIN, queued_ms: now_ms })?;
            }
            Ok(())
        };
        context.commit(put).await;

        for rows_max in [1, 2, 5, 6] {
            let (mut counted, mut after) = (QueuedDeliveries::default(), None);
            loop {
                (counted, after) = context.read(move |tx| count_page(tx, after, now_ms, rows_max, counted));
                if after.is_none() {
                    break;
                }
            }

            let expected = QueuedDeliveries { due: 3, later: 2, oldest_due_ms: 9_000, counted_ms: 0 };
            assert_eq!(counted, expected, "{rows_max}");
        }
    }
}
