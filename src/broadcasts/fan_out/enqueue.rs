//! Queue rows of the stored emails of a broadcast, some in each transaction.

use tracing::info;

use super::rows::FanOutRow;
use crate::base::clock::TimestampMs;
use crate::base::id::{BroadcastId, EmailId};
use crate::broadcast_rows::{self, BroadcastRow, BroadcastStatus, read_counts};
use crate::delivery::Due;
use crate::emails::{EnqueuedPage, enqueue_broadcast_page};
use crate::store::{Reads, StoreError, WriteTx};
use crate::tables::BROADCAST_FAN_OUTS;

/// Number of queue rows of a transaction for each request that waits or is expected. A row of another domain changes
/// another leaf of the queue, which the commit writes. A constant number serves either one request or many. With 16,
/// the p99 of single requests was 2.7 and 3.7 times the idle one in two runs. With four, a fan-out beside 64 requests
/// in flight queued 473 recipients a second.
const QUEUE_ROWS_PER_REQUEST: usize = 2;
/// Smallest maximum of queue rows of a transaction beside requests, if it stores nothing else.
pub(super) const AWAITED_QUEUE_ROWS: usize = 4;

/// Result of a transaction that puts stored emails into the queue.
#[derive(Debug, Default)]
pub(super) struct Enqueued {
    /// Groups of the emails.
    pub(super) due: Vec<Due>,
    /// Whether the transaction can be followed by another one.
    pub(super) has_more: bool,
}

/// Puts up to `rows_max` stored emails of a broadcast into the queue, and stores the position. Beside requests, these are
/// fewer. Does nothing if the broadcast is canceled or has no position.
pub(super) fn enqueue_page(
    tx: &WriteTx<'_>,
    id: BroadcastId,
    rows_max: usize,
    now_ms: TimestampMs,
) -> Result<Enqueued, StoreError> {
    let stored = tx.get_valid(&BROADCAST_FAN_OUTS, &(id,))?;
    let Some(fan_out) = stored.filter(|fan_out| !fan_out.is_canceled && fan_out.to_enqueue.is_some()) else {
        return Ok(Enqueued::default());
    };
    let row = broadcast_rows::find_valid(tx, fan_out.team, id)?;
    // A later hold is another one, of which the owners are notified again.
    let mut fan_out = FanOutRow { is_held: false, ..fan_out };
    let due = enqueue(tx, id, &mut fan_out, rows_max, now_ms)?;
    put_position(tx, id, &fan_out, !row.is_some_and(|row| reads_contacts(&row)))?;
    Ok(Enqueued { due, has_more: fan_out.to_enqueue.is_some() })
}

/// Returns whether a broadcast has contacts that were not read.
pub(super) fn reads_contacts(row: &BroadcastRow) -> bool {
    row.status == BroadcastStatus::Queued && !row.is_queued_whole
}

/// Puts up to `rows_max` stored emails of a broadcast into the queue, from the position `fan_out.to_enqueue` on, and moves
/// it. The caller stores the position.
pub(super) fn enqueue(
    tx: &WriteTx<'_>,
    id: BroadcastId,
    fan_out: &mut FanOutRow,
    rows_max: usize,
    now_ms: TimestampMs,
) -> Result<Vec<Due>, StoreError> {
    let Some(from) = fan_out.to_enqueue else { return Ok(Vec::new()) };
    // The counts have no range if their row was corrupt.
    let last = read_counts(tx, id)?.range.map_or(EmailId::MAX, |(_, last)| last);
    let rows_max = rows_beside(tx.waiting_requests(), rows_max);
    let EnqueuedPage { next, due } = enqueue_broadcast_page(tx, fan_out.team, id, (from, last), rows_max, now_ms)?;
    fan_out.to_enqueue = next;
    Ok(due)
}

/// Stores the position of a broadcast in progress. Deletes it if all emails are stored and in the queue.
pub(super) fn put_position(
    tx: &WriteTx<'_>,
    id: BroadcastId,
    fan_out: &FanOutRow,
    is_whole: bool,
) -> Result<(), StoreError> {
    if !is_whole || fan_out.to_enqueue.is_some() {
        return tx.put(&BROADCAST_FAN_OUTS, &(id,), fan_out);
    }
    tx.after_commit(move || info!(broadcast.id = %id, "all recipients of broadcast {id} are in the queue"));
    tx.delete(&BROADCAST_FAN_OUTS, &(id,)).map(|_| ())
}

/// Returns the number of queue rows of a transaction beside requests.
pub(super) const fn rows_beside(waiting_requests: usize, rows_max: usize) -> usize {
    let beside = QUEUE_ROWS_PER_REQUEST * waiting_requests;
    let beside = if beside < AWAITED_QUEUE_ROWS { AWAITED_QUEUE_ROWS } else { beside };
    if waiting_requests == 0 || beside > rows_max { rows_max } else { beside }
}
