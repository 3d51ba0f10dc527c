//! The first step of a broadcast: its status, and the last contact of its audience.

use tracing::{info, warn};

use super::rows::{FanOutRow, stop_fan_out};
use crate::base::clock::TimestampMs;
use crate::base::id::{BroadcastId, TeamId};
use crate::broadcast_rows::{self, BroadcastRow, BroadcastStatus, finish, read_counts};
use crate::emails::SendingGuard;
use crate::store::{Reads, StoreError, WriteTx};
use crate::tables::BROADCAST_FAN_OUTS;
use crate::{contacts, domains, segments, teams, topics};

/// Time after which the start of a held broadcast is tried again.
const HOLD_RETRY_MS: i64 = 15 * 60_000;

/// Starts a due broadcast. Does nothing if it has been started. A broadcast whose domain, segment or topic does not exist
/// fails. While sending is paused, it is tried again every 15 minutes.
pub(super) fn start(
    tx: &WriteTx<'_>,
    id: BroadcastId,
    now_ms: TimestampMs,
    guard: &dyn SendingGuard,
) -> Result<(), StoreError> {
    let Some(fan_out) = tx.get_valid(&BROADCAST_FAN_OUTS, &(id,))? else { return Ok(()) };
    if fan_out.last.is_some() || fan_out.is_canceled || !fan_out.is_due(now_ms) {
        return Ok(());
    }
    let team = fan_out.team;
    let row = broadcast_rows::find_valid(tx, team, id)?;
    let Some(mut row) = row.filter(|row| row.status.is_started()) else { return forget(tx, id) };
    if teams::is_removed(tx, team)? {
        // The worker of the removal deletes the broadcast.
        return forget(tx, id);
    }
    if let Some(missing) = missing_part(tx, &fan_out, &row)? {
        warn!(broadcast.id = %id, "broadcast {id} failed: its {missing} does not exist");
        return fail(tx, id, &fan_out, row);
    }
    if is_paused(tx, team, &row, guard)? {
        note_held(tx, id, &fan_out, guard)?;
        let due_ms = now_ms + HOLD_RETRY_MS;
        let held = FanOutRow { due_ms, is_scheduled: true, is_held: true, ..fan_out };
        return tx.put(&BROADCAST_FAN_OUTS, &(id,), &held);
    }
    row.status = BroadcastStatus::Queued;
    row.started_ms = Some(now_ms);
    info!(broadcast.id = %id, recipients = row.audience, "started broadcast {id}");
    let Some(last) = contacts::newest(tx, team)? else {
        (row.is_queued_whole, row.audience) = (true, 0);
        broadcast_rows::put(tx, team, id, &row)?;
        forget(tx, id)?;
        return finish(tx, team, id, now_ms).map(|_| ());
    };
    broadcast_rows::put(tx, team, id, &row)?;
    let filter = match row.segment {
        Some(segment) => segments::find(tx, team, segment)?.and_then(|segment| segment.filter),
        None => None,
    };
    tx.put(&BROADCAST_FAN_OUTS, &(id,), &FanOutRow { last: Some(last), filter, is_held: false, ..fan_out })
}

/// Returns whether the team, or the region of the broadcast's domain, cannot send broadcasts now.
fn is_paused(tx: &WriteTx<'_>, team: TeamId, row: &BroadcastRow, guard: &dyn SendingGuard) -> Result<bool, StoreError> {
    if guard.sending_pause(tx, team)?.is_some() {
        return Ok(true);
    }
    let Some(domain) = row.domain else { return Ok(false) };
    Ok(guard.region_pause(tx, team, domain)?.is_some())
}

/// Notifies the owners once that a broadcast is held.
fn note_held(
    tx: &WriteTx<'_>,
    id: BroadcastId,
    fan_out: &FanOutRow,
    guard: &dyn SendingGuard,
) -> Result<(), StoreError> {
    if fan_out.is_held {
        return Ok(());
    }
    info!(broadcast.id = %id, "held broadcast {id}, because sending is paused");
    guard.broadcast_held(tx, fan_out.team, id)
}

/// Notifies the owners once that a broadcast in progress is held.
pub(super) fn hold(tx: &WriteTx<'_>, id: BroadcastId, guard: &dyn SendingGuard) -> Result<(), StoreError> {
    let Some(fan_out) = tx.get_valid(&BROADCAST_FAN_OUTS, &(id,))? else { return Ok(()) };
    if fan_out.is_held || fan_out.is_canceled {
        return Ok(());
    }
    note_held(tx, id, &fan_out, guard)?;
    tx.put(&BROADCAST_FAN_OUTS, &(id,), &FanOutRow { is_held: true, ..fan_out })
}

/// Fails a broadcast. Emails that are queued are removed as those of a canceled broadcast.
fn fail(tx: &WriteTx<'_>, id: BroadcastId, fan_out: &FanOutRow, row: BroadcastRow) -> Result<(), StoreError> {
    let row = BroadcastRow { status: BroadcastStatus::Failed, finishes_ms: None, ..row };
    broadcast_rows::put(tx, fan_out.team, id, &row)?;
    if read_counts(tx, id)?.queued > 0 { stop_fan_out(tx, fan_out.team, id) } else { forget(tx, id) }
}

/// Returns the name of a part of the broadcast that does not exist any more. A corrupt topic counts as deleted.
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
        Some(topic) => {
            let found = topics::find_valid(tx, team, topic)?;
            Ok(found.is_none().then_some("topic"))
        }
        None => Ok(None),
    }
}

/// Fails a broadcast in progress if its domain, segment or topic does not exist any more. Forgets its position if it is
/// not sent any more.
pub(super) fn fail_if_incomplete(tx: &WriteTx<'_>, id: BroadcastId) -> Result<(), StoreError> {
    let Some(fan_out) = tx.get_valid(&BROADCAST_FAN_OUTS, &(id,))? else { return Ok(()) };
    if fan_out.is_canceled {
        return Ok(());
    }
    let row = broadcast_rows::find_valid(tx, fan_out.team, id)?;
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
