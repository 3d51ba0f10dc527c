//! Changes of the stored position of a broadcast.

use crate::base::id::{BroadcastId, TeamId};
use crate::broadcasts::rows::FanOutRow;
use crate::broadcasts::store::started;
use crate::store::{Reads, StoreError, WriteTx};
use crate::tables::BROADCAST_FAN_OUTS;

/// Ends the fan-out of a broadcast in the transaction that cancels it. The worker then removes the queued emails. Notify it
/// after the commit.
///
/// # Errors
/// [`StoreError`].
pub fn stop_fan_out(tx: &WriteTx<'_>, team: TeamId, broadcast: BroadcastId) -> Result<(), StoreError> {
    let stored = tx.get_valid(&BROADCAST_FAN_OUTS, &(broadcast,))?;
    let row = stored.unwrap_or_else(|| FanOutRow::due(team, 0));
    tx.put(&BROADCAST_FAN_OUTS, &(broadcast,), &FanOutRow { is_canceled: true, filter: None, ..row })
}

/// Makes the worker read the current pages of the team again, in the transaction that deletes contacts to erase them: a page
/// that was read before contains their addresses.
///
/// # Errors
/// [`StoreError`].
pub fn discard_pages(tx: &WriteTx<'_>, team: TeamId) -> Result<(), StoreError> {
    for id in started(tx, team)? {
        let Some(row) = tx.get_valid(&BROADCAST_FAN_OUTS, &(id,))? else { continue };
        if row.last.is_some() && !row.is_canceled {
            let erasures = row.erasures.wrapping_add(1);
            tx.put(&BROADCAST_FAN_OUTS, &(id,), &FanOutRow { erasures, ..row })?;
        }
    }
    Ok(())
}
