//! Late emails of broadcasts under sending limits: after an outage or a hold, their slots have passed. They get new due times,
//! so that they do not all leave at once.

use super::holds::move_group;
use super::key::DueKey;
use crate::base::clock::{DAY_MS, TimestampMs};
use crate::broadcasts::SendEstimates;
use crate::delivery::rows::DueRow;
use crate::emails::{self, EmailRow};
use crate::store::{StoreError, WriteTx};

/// A late group that has been taken from the queue.
pub(super) struct LateGroup {
    pub(super) key: DueKey,
    pub(super) due: DueRow,
    pub(super) row: EmailRow,
}

/// Returns late groups to the queue at the next times that the limits allow. Without room, they wait for a day.
///
/// # Errors
/// [`StoreError`].
pub(super) fn place_again(
    tx: &WriteTx<'_>,
    limits: &SendEstimates,
    late: Vec<LateGroup>,
    now_ms: TimestampMs,
) -> Result<(), StoreError> {
    if late.is_empty() {
        return Ok(());
    }
    let passed: Vec<TimestampMs> = late.iter().map(|group| group.key.due_ms).collect();
    let due_times = limits.place_again(tx, now_ms, &passed)?;
    let due_times = due_times.unwrap_or_else(|| vec![now_ms + DAY_MS; passed.len()]);
    for (LateGroup { key, due, mut row }, due_ms) in late.into_iter().zip(due_times) {
        // The retry period starts at the first due time.
        let due = DueRow { first_due_ms: due_ms, wait_ms: Some(due_ms - now_ms), ..due };
        move_group(tx, key, due_ms, &due, &mut row)?;
        emails::put_row(tx, due.team, key.email, &row, now_ms)?;
    }
    Ok(())
}
