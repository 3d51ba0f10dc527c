//! The first step of a broadcast: its status, and the last contact of its audience.

use tracing::{info, warn};

use super::rows::stop_fan_out;
use crate::base::clock::TimestampMs;
use crate::base::id::BroadcastId;
use crate::broadcasts::counts::{finish, read_counts};
use crate::broadcasts::rows::{BroadcastRow, BroadcastStatus, FanOutRow};
use crate::broadcasts::store;
use crate::store::{Reads, StoreError, WriteTx};
use crate::tables::{BROADCAST_FAN_OUTS, BROADCASTS};
use crate::{contacts, domains, segments, teams, topics};

/// Starts a due broadcast. Does nothing if it has been started. A broadcast whose domain, segment or topic does not exist
/// fails.
///
/// # Errors
/// [`StoreError`].
pub(super) fn start(tx: &WriteTx<'_>, id: BroadcastId, now_ms: TimestampMs) -> Result<(), StoreError> {
    let Some(fan_out) = tx.get_valid(&BROADCAST_FAN_OUTS, &(id,))? else { return Ok(()) };
    if fan_out.last.is_some() || fan_out.is_canceled || !fan_out.is_due(now_ms) {
        return Ok(());
    }
    let team = fan_out.team;
    let row = tx.get_valid(&BROADCASTS, &(team, id))?;
    let Some(mut row) = row.filter(|row| row.status.is_started()) else { return forget(tx, id) };
    if teams::is_removed(tx, team)? {
        // The worker of the removal deletes the broadcast.
        return forget(tx, id);
    }
    if let Some(missing) = missing_part(tx, &fan_out, &row)? {
        warn!(broadcast.id = %id, "broadcast {id} failed: its {missing} does not exist");
        return fail(tx, id, &fan_out, row);
    }
    row.status = BroadcastStatus::Queued;
    row.started_ms = Some(now_ms);
    info!(broadcast.id = %id, recipients = row.audience, "started broadcast {id}");
    let Some(last) = contacts::newest(tx, team)? else {
        row.is_queued_whole = true;
        store::put(tx, team, id, &row)?;
        forget(tx, id)?;
        return finish(tx, team, id, now_ms).map(|_| ());
    };
    store::put(tx, team, id, &row)?;
    let filter = match row.segment {
        Some(segment) => segments::find(tx, team, segment)?.and_then(|segment| segment.filter),
        None => None,
    };
    tx.put(&BROADCAST_FAN_OUTS, &(id,), &FanOutRow { last: Some(last), filter, ..fan_out })
}

/// Fails a broadcast. Emails that are queued are removed as those of a canceled broadcast.
///
/// # Errors
/// [`StoreError`].
fn fail(tx: &WriteTx<'_>, id: BroadcastId, fan_out: &FanOutRow, row: BroadcastRow) -> Result<(), StoreError> {
    store::put(tx, fan_out.team, id, &BroadcastRow { status: BroadcastStatus::Failed, finishes_ms: None, ..row })?;
    if read_counts(tx, id)?.queued > 0 { stop_fan_out(tx, fan_out.team, id) } else { forget(tx, id) }
}

/// Returns the name of a part of the broadcast that does not exist any more.
pub(super) fn missing_part(
    tx: &impl Reads,
    fan_out: &FanOutRow,
    row: &BroadcastRow,
) -> Result<Option<&'static str>, StoreError> {
    let team = fan_out.team;
    if let Some(domain) = row.domain
        && !domains::exists(tx, team, domain)?
    {
        return Ok(Some("domain"));
    }
    if let Some(segment) = row.segment
        && !segments::exists(tx, team, segment)?
    {
        return Ok(Some("segment"));
    }
    match row.topic {
        Some(topic) if topics::find(tx, team, topic)?.is_none() => Ok(Some("topic")),
        _ => Ok(None),
    }
}

/// Fails a broadcast in progress if its domain, segment or topic does not exist any more, or forgets its position if it is
/// not sent any more.
///
/// # Errors
/// [`StoreError`].
pub(super) fn fail_if_incomplete(tx: &WriteTx<'_>, id: BroadcastId) -> Result<(), StoreError> {
    let Some(fan_out) = tx.get_valid(&BROADCAST_FAN_OUTS, &(id,))? else { return Ok(()) };
    if fan_out.is_canceled {
        return Ok(());
    }
    let row = tx.get_valid(&BROADCASTS, &(fan_out.team, id))?;
    let Some(row) = row.filter(|row| row.status == BroadcastStatus::Queued) else { return forget(tx, id) };
    match missing_part(tx, &fan_out, &row)? {
        Some(missing) => {
            warn!(broadcast.id = %id, "broadcast {id} failed: its {missing} does not exist");
            fail(tx, id, &fan_out, row)
        }
        None => Ok(()),
    }
}

fn forget(tx: &WriteTx<'_>, id: BroadcastId) -> Result<(), StoreError> {
    tx.delete(&BROADCAST_FAN_OUTS, &(id,)).map(|_| ())
}
