//! Removal of the queued emails of a canceled broadcast, page by page. Emails that have been attempted are not changed.

use super::rows::FanOutRow;
use crate::base::id::BroadcastId;
use crate::broadcast_rows::{count_canceled, read_counts};
use crate::broadcasts::placement::give_back;
use crate::emails::{CanceledPage, cancel_broadcast_page};
use crate::store::{Reads, StoreError, WriteTx};
use crate::tables::BROADCAST_FAN_OUTS;

/// Cancels a page of the queued emails of a broadcast, and stores the position. Returns whether none is left.
pub(super) fn cancel_page(tx: &WriteTx<'_>, id: BroadcastId) -> Result<bool, StoreError> {
    let Some(fan_out) = tx.get_valid(&BROADCAST_FAN_OUTS, &(id,))? else { return Ok(true) };
    if !fan_out.is_canceled {
        return Ok(true);
    }
    let range = read_counts(tx, id)?.range;
    let CanceledPage { last, due_times } = match range {
        Some(range) => cancel_broadcast_page(tx, fan_out.team, id, range, fan_out.canceled_to)?,
        None => CanceledPage::default(),
    };
    count_canceled(tx, id, due_times.len() as u64)?;
    give_back(tx, due_times.into_iter())?;
    if last.is_none() {
        tx.delete(&BROADCAST_FAN_OUTS, &(id,))?;
        return Ok(true);
    }
    tx.put(&BROADCAST_FAN_OUTS, &(id,), &FanOutRow { canceled_to: last, ..fan_out })?;
    Ok(false)
}
