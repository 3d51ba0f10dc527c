//! Reading and removal of queue rows. The row of a new email of a broadcast stores only its team, so that it is small. Its
//! key and its email have the rest. A corrupt row is replaced by one from its email, and set aside when it is removed.

use super::corrupt_leases::{find_team, find_valid_email};
use super::holds::waiting_recipients;
use super::key::DueKey;
use super::set_aside::{set_aside, set_aside_with_email};
use crate::base::clock::TimestampMs;
use crate::base::id::TeamId;
use crate::context::Context;
use crate::delivery::rows::{Class, DueRow};
use crate::store::{Reads, StoreError, WriteTx};
use crate::tables::DUE;
use crate::{emails, events};

/// Returns the row of a queued group; `None` if it is not in the queue, or if its row is corrupt, which is logged.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(in crate::delivery) fn read_row(tx: &impl Reads, key: DueKey) -> Result<Option<DueRow>, StoreError> {
    match tx.get_valid(&DUE, &key.parts())? {
        Some(row) => complete(tx, key, row),
        None => Ok(None),
    }
}

/// Adds the fields that a stored row does not have. Returns `None` if its email cannot be read.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(super) fn complete(tx: &impl Reads, key: DueKey, row: DueRow) -> Result<Option<DueRow>, StoreError> {
    if !row.destination.is_empty() {
        return Ok(Some(row));
    }
    let destination = emails::broadcast_destination(tx, row.team, key.email)?;
    Ok(destination.map(|destination| DueRow { destination, ..with_times(key, row) }))
}

/// Adds the times that a stored row does not have. The wait of a paced email is the time from its id to its due time.
pub(super) fn with_times(key: DueKey, row: DueRow) -> DueRow {
    if !row.destination.is_empty() {
        return row;
    }
    let wait_ms = Some(key.due_ms - key.email.created_ms()).filter(|wait_ms| *wait_ms > 0);
    DueRow { first_due_ms: key.due_ms, wait_ms, ..row }
}

/// Returns a row without attempts in place of a corrupt one. `None` if its email cannot be read, or has no recipient
/// that waits with the group. The key of a broadcast does not name the team, which is searched for.
pub(super) fn rebuilt_row(tx: &impl Reads, key: DueKey) -> Result<Option<DueRow>, StoreError> {
    let found = match key.lane.class {
        Class::Transactional => {
            let team: TeamId = key.lane.stream.cast();
            emails::find_valid_row(tx, team, key.email)?.map(|email| (team, email))
        }
        Class::Broadcast => find_valid_email(tx, key.email)?,
    };
    // A recipient of the group that does not wait can have had another destination.
    let row = found.and_then(|(team, email)| {
        let waiting = &email.recipients[*waiting_recipients(&email, key).first()?];
        Some(DueRow::fresh(team, emails::destination_of(waiting).into_owned(), key.due_ms))
    });
    // An erased address has no destination.
    Ok(row.filter(|row| !row.destination.is_empty()))
}

/// Deletes the row of a queued group and returns it; `None` if the group is not in the queue any more.
///
/// A corrupt row is set aside and replaced by one without attempts, so that it delays its email but does not stop the
/// queue. If its email of a broadcast is corrupt too, the email counts as failed.
pub(super) fn take_row(tx: &WriteTx<'_>, context: &Context, key: DueKey) -> Result<Option<DueRow>, StoreError> {
    let bytes = match tx.take(&DUE, &key.parts())? {
        None => return Ok(None),
        Some(Ok(row)) => {
            let completed = complete(tx, key, row.clone())?;
            // An email whose address has been erased can be read.
            if completed.is_none() && emails::find_valid_row(tx, row.team, key.email)?.is_none() {
                drop_unreadable(tx, context, key, &row)?;
            }
            return Ok(completed);
        }
        Some(Err(bytes)) => bytes,
    };
    let rebuilt = rebuilt_row(tx, key)?;
    let team = match (&rebuilt, key.lane.class) {
        (Some(row), _) => Some(row.team),
        (None, Class::Transactional) => Some(key.lane.stream.cast()),
        (None, Class::Broadcast) => find_team(tx, key.email)?,
    };
    set_aside(tx, context, team, key.email, (&DUE, &key.parts()), bytes)?;
    if let (None, Some(team)) = (&rebuilt, team) {
        forget_corrupt(tx, key, team, context.now_ms())?;
    }
    Ok(rebuilt)
}

/// Removes groups from the queue that a scan could not read, as a claim does. Neither a hold nor their due time
/// matters, because they can never be delivered. A group that can be read stays.
pub(in crate::delivery) fn remove_unreadable(
    tx: &WriteTx<'_>,
    context: &Context,
    keys: &[DueKey],
) -> Result<(), StoreError> {
    for key in keys {
        if let Some(row) = take_row(tx, context, *key)? {
            tx.put(&DUE, &key.parts(), &row)?;
        }
    }
    Ok(())
}

/// Ends the delivery of a group that has left the queue and whose email cannot be read or does not exist.
pub(super) fn drop_unreadable(
    tx: &WriteTx<'_>,
    context: &Context,
    key: DueKey,
    due: &DueRow,
) -> Result<(), StoreError> {
    set_aside_with_email(tx, context, due.team, key.email, (&DUE, &key.parts()), due)?;
    forget_corrupt(tx, key, due.team, context.now_ms())
}

/// Counts the email of a group that has left the queue, if it is of a broadcast and its row is corrupt.
pub(in crate::delivery) fn forget_corrupt(
    tx: &WriteTx<'_>,
    key: DueKey,
    team: TeamId,
    now_ms: TimestampMs,
) -> Result<(), StoreError> {
    if key.lane.class == Class::Transactional {
        return Ok(());
    }
    // The claim recorded the event with the count, also if its attempt did not count or never began.
    let was_attempted = events::was_sent(tx, key.email)?;
    emails::count_corrupt(tx, team, key.lane.stream.cast(), key.email, was_attempted, now_ms)
}
