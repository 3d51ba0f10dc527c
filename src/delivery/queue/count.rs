//! Counting of the queued groups, page by page.

use super::key::{DueKey, LaneKey, QUEUE_END, QUEUE_START, QueueKey};
use super::stored_rows::complete;
use crate::base::clock::TimestampMs;
use crate::store::{NEXT, Order, Reads, STOP, StoreError};
use crate::tables::DUE;

/// Queued groups of one lane, as far as one page has read them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::delivery) struct LaneCount {
    pub(in crate::delivery) lane: LaneKey,
    /// Recipient domain; `None` if the first row is corrupt, or its email cannot be read.
    pub(in crate::delivery) destination: Option<String>,
    /// Number of groups that are due.
    pub(in crate::delivery) due: u64,
    /// Number of groups that are not due yet.
    pub(in crate::delivery) later: u64,
    /// Due time of the first group.
    pub(in crate::delivery) first_due_ms: TimestampMs,
}

/// One page of a count.
#[derive(Debug)]
pub(in crate::delivery) struct CountPage {
    pub(in crate::delivery) lanes: Vec<LaneCount>,
    /// Last key of the page; `None` if no row follows.
    pub(in crate::delivery) last: Option<QueueKey>,
}

/// Counts up to `rows_max` queued groups after the key `after`, by lane. Reads the keys, and one row of each lane.
pub(in crate::delivery) fn count_page(
    tx: &impl Reads,
    after: Option<QueueKey>,
    now_ms: TimestampMs,
    rows_max: usize,
) -> Result<CountPage, StoreError> {
    let mut page = CountPage { lanes: Vec::new(), last: None };
    let mut rows = 0;
    tx.scan(&DUE, &after.unwrap_or(QUEUE_START), &QUEUE_END, Order::Ascending, |parts, row| {
        if Some(parts) == after {
            return NEXT;
        }
        let key = DueKey::from_parts(parts);
        if page.lanes.last().is_none_or(|count| count.lane != key.lane) {
            // The claim of a corrupt row logs it.
            let destination = match row.decode() {
                Ok(row) => complete(tx, key, row)?.map(|row| row.destination),
                Err(_) => None,
            };
            page.lanes.push(LaneCount { lane: key.lane, destination, due: 0, later: 0, first_due_ms: key.due_ms });
        }
        if let Some(count) = page.lanes.last_mut() {
            let is_due = key.due_ms <= now_ms;
            *(if is_due { &mut count.due } else { &mut count.later }) += 1;
        }
        rows += 1;
        if rows == rows_max {
            page.last = Some(parts);
            return STOP;
        }
        NEXT
    })?;
    Ok(page)
}
