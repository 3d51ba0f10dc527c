//! Deletion of the captured messages that an erasure covers.

use crate::base::clock::TimestampMs;
use crate::base::id::{CapturedId, Id};
use crate::delivery::rows::CapturedRow;
use crate::store::{MatchPage, Reads, StoreError, WriteTx, match_page};
use crate::tables::{CAPTURED, CAPTURED_MESSAGES};

/// Scans up to `rows_max` envelopes after `after` for those that satisfy `matches`.
pub(crate) fn match_messages(
    tx: &impl Reads,
    after: CapturedId,
    rows_max: usize,
    mut matches: impl FnMut(CapturedId, &CapturedRow) -> Result<bool, StoreError>,
) -> Result<MatchPage<CapturedId>, StoreError> {
    let page = match_page(tx, &CAPTURED, (after,), (Id::MAX,), rows_max, |(id,), row: Option<CapturedRow>| {
        row.map_or(Ok(false), |row| matches(id, &row))
    })?;
    Ok(page.map(|(id,)| id))
}

/// Deletes a captured message and returns whether all of it is deleted. Subtracts the deleted chunks
/// from `chunks_left`, which limits them. The envelope is deleted last: until then a scan finds the rest.
pub(crate) fn delete_message(
    tx: &WriteTx<'_>,
    id: CapturedId,
    chunks_left: &mut usize,
    now_ms: TimestampMs,
) -> Result<bool, StoreError> {
    let deleted = tx.delete_range(&CAPTURED_MESSAGES, &(id, 0), &(id, u32::MAX), *chunks_left)?;
    *chunks_left -= deleted;
    if *chunks_left == 0 {
        return Ok(false);
    }
    tx.delete_listed(&CAPTURED, &(id,), now_ms)?;
    Ok(true)
}
