//! Removing single messages from the mailbox: those that an erasure reaches.

use crate::base::id::{CapturedId, Id};
use crate::delivery::rows::CapturedRow;
use crate::store::{NEXT, Order, Reads, STOP, StoreError, WriteTx, skip_corrupt};
use crate::tables::{CAPTURED, CAPTURED_MESSAGES};

/// Reads up to `rows_max` envelopes after `after`; returns the messages that are meant, and where the
/// next page begins unless this is the last. An envelope that does not read is passed over.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn page_of_meant(
    tx: &impl Reads,
    after: CapturedId,
    rows_max: usize,
    mut is_meant: impl FnMut(CapturedId, &CapturedRow) -> Result<bool, StoreError>,
) -> Result<(Vec<CapturedId>, Option<CapturedId>), StoreError> {
    let (mut hits, mut seen, mut next) = (Vec::new(), 0, None);
    tx.scan(&CAPTURED, &(after,), &(Id::MAX,), Order::Ascending, |(id,), row| {
        if id == after {
            return NEXT;
        }
        if let Some(row) = skip_corrupt(row.decode(), format_args!("captured message {id}"))?
            && is_meant(id, &row)?
        {
            hits.push(id);
        }
        seen += 1;
        if seen < rows_max {
            return NEXT;
        }
        next = Some(id);
        STOP
    })?;
    Ok((hits, next))
}

/// Removes a message with its envelope, at most `chunks_left` of its chunks, which is lowered by
/// them; returns whether it is gone. The envelope goes last, so that what is left is found by it.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn remove(tx: &WriteTx<'_>, id: CapturedId, chunks_left: &mut usize) -> Result<bool, StoreError> {
    let removed = tx.delete_range(&CAPTURED_MESSAGES, &(id, 0), &(id, u32::MAX), *chunks_left)?;
    *chunks_left -= removed;
    if *chunks_left == 0 {
        return Ok(false);
    }
    tx.delete(&CAPTURED, &(id,))?;
    Ok(true)
}
