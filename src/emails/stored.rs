//! Rows of emails by their id, of the API and of broadcasts.
//!
//! The emails of broadcasts are in a table of their own, so that the list and the search of emails do not show them.
//! Every read and write by id goes through these functions, so that delivery, reports, events and erasure work for both.

use super::broadcast::BroadcastEmailList;
use super::queue_keys::destination_of;
use super::store::{BroadcastEmailRow, EmailRow};
use crate::base::clock::TimestampMs;
use crate::base::id::{BroadcastId, EmailId, TeamId};
use crate::broadcast_rows::{self, BroadcastOutcome, RecipientChange};
use crate::delivery::simulated;
use crate::store::{Reads, StoreError, WriteTx, skip_corrupt};
use crate::tables::{BROADCAST_EMAILS, BROADCAST_OUTCOMES, EMAILS};

/// Returns the row of an email; `None` if the team has no such email. Includes hidden emails.
pub(crate) fn find_row(tx: &impl Reads, team: TeamId, id: EmailId) -> Result<Option<EmailRow>, StoreError> {
    if let Some(row) = tx.get(&EMAILS, &(team, id))? {
        return Ok(Some(row));
    }
    match tx.get(&BROADCAST_EMAILS, &(team, id))? {
        Some(row) => joined(tx, team, id, row).map(Some),
        None => Ok(None),
    }
}

/// Does the same as [`find_row`]. A corrupt row is logged, and returned as `None`.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn find_valid_row(tx: &impl Reads, team: TeamId, id: EmailId) -> Result<Option<EmailRow>, StoreError> {
    Ok(skip_corrupt(find_row(tx, team, id), format_args!("email {id}"))?.flatten())
}

/// Returns whether the team has an email, also if its row is corrupt. Includes hidden emails.
pub(crate) fn has_row(tx: &impl Reads, team: TeamId, id: EmailId) -> Result<bool, StoreError> {
    Ok(tx.contains(&EMAILS, &(team, id))? || tx.contains(&BROADCAST_EMAILS, &(team, id))?)
}

/// Returns the destination in the queue of an email of a broadcast. `None` if the team has no such email, its row is
/// corrupt, or its address has been erased.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn broadcast_destination(tx: &impl Reads, team: TeamId, id: EmailId) -> Result<Option<String>, StoreError> {
    let row = tx.get_valid(&BROADCAST_EMAILS, &(team, id))?;
    let destination = row.map(|row| destination_of(&row.recipient(id)).into_owned());
    Ok(destination.filter(|destination| !destination.is_empty()))
}

/// Returns an email of a broadcast with the fields of its broadcast.
pub(super) fn joined(
    tx: &impl Reads,
    team: TeamId,
    id: EmailId,
    row: BroadcastEmailRow,
) -> Result<EmailRow, StoreError> {
    let broadcast = broadcast_rows::find_valid(tx, team, row.broadcast)?;
    Ok(row.join(id, broadcast.as_ref()))
}

/// Stores the row of an email. For an email of a broadcast, also changes the counts of the broadcast and the index of
/// its lists. After the last queued email, the broadcast is sent.
pub(crate) fn put_row(
    tx: &WriteTx<'_>,
    team: TeamId,
    id: EmailId,
    row: &EmailRow,
    now_ms: TimestampMs,
) -> Result<(), StoreError> {
    if row.broadcast.is_none() {
        return tx.put(&EMAILS, &(team, id), row);
    }
    let before = tx.get_valid(&BROADCAST_EMAILS, &(team, id))?;
    let Some(after) = BroadcastEmailRow::of(id, row, before.as_ref()) else { return Ok(()) };
    tx.put(&BROADCAST_EMAILS, &(team, id), &after)?;
    index(tx, id, before.as_ref(), &after)?;
    match before {
        Some(before) => count(tx, team, id, &before, &after, now_ms),
        None => Ok(()),
    }
}

/// Moves an email of a broadcast in the index of the lists.
fn index(
    tx: &WriteTx<'_>,
    id: EmailId,
    before: Option<&BroadcastEmailRow>,
    after: &BroadcastEmailRow,
) -> Result<(), StoreError> {
    for list in BroadcastEmailList::INDEXED {
        let Some(number) = list.index_number() else { continue };
        let key = (after.broadcast, number, id);
        match (before.is_some_and(|before| list.includes(before)), list.includes(after)) {
            (false, true) => tx.put(&BROADCAST_OUTCOMES, &key, &())?,
            (true, false) => {
                tx.delete(&BROADCAST_OUTCOMES, &key)?;
            }
            (true, true) | (false, false) => {}
        }
    }
    Ok(())
}

/// Counts the change of an email of a broadcast.
fn count(
    tx: &WriteTx<'_>,
    team: TeamId,
    id: EmailId,
    before: &BroadcastEmailRow,
    after: &BroadcastEmailRow,
    now_ms: TimestampMs,
) -> Result<(), StoreError> {
    let change = RecipientChange {
        email: id,
        // An erasure takes the address out of the new row.
        domain: before.mailbox.domain(),
        from: BroadcastOutcome::from(before.last_event),
        to: BroadcastOutcome::from(after.last_event),
        was_attempted: before.is_attempted,
        is_attempted: after.is_attempted,
        is_simulated: simulated::outcome(&after.mailbox.bare()).is_some(),
    };
    if change.from == change.to && change.was_attempted == change.is_attempted {
        return Ok(());
    }
    broadcast_rows::change_counts(tx, team, after.broadcast, change, now_ms)
}

/// Counts an email of a broadcast whose row is corrupt as failed, so that its broadcast can end. Call it when the email leaves
/// the queue. Does nothing if the row is valid or deleted.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn count_corrupt(
    tx: &WriteTx<'_>,
    team: TeamId,
    broadcast: BroadcastId,
    id: EmailId,
    was_attempted: bool,
    now_ms: TimestampMs,
) -> Result<(), StoreError> {
    let key = (team, id);
    if !tx.contains(&BROADCAST_EMAILS, &key)? || tx.get_valid(&BROADCAST_EMAILS, &key)?.is_some() {
        return Ok(());
    }
    let from = if was_attempted { BroadcastOutcome::Sent } else { BroadcastOutcome::Queued };
    let change = RecipientChange {
        email: id,
        domain: None,
        from,
        to: BroadcastOutcome::Failed,
        was_attempted,
        is_attempted: was_attempted,
        is_simulated: false,
    };
    broadcast_rows::change_counts(tx, team, broadcast, change, now_ms)
}

/// Deletes the row of an email, whatever its table. The counts of its broadcast stay. Returns whether the email was of the
/// API.
pub(super) fn delete_row(tx: &WriteTx<'_>, team: TeamId, id: EmailId) -> Result<bool, StoreError> {
    if tx.delete(&EMAILS, &(team, id))? {
        return Ok(true);
    }
    if let Some(row) = tx.get_valid(&BROADCAST_EMAILS, &(team, id))? {
        let lists = BroadcastEmailList::INDEXED.into_iter().filter(|list| list.includes(&row));
        for number in lists.filter_map(BroadcastEmailList::index_number) {
            tx.delete(&BROADCAST_OUTCOMES, &(row.broadcast, number, id))?;
        }
    }
    tx.delete(&BROADCAST_EMAILS, &(team, id))?;
    Ok(false)
}

/// Keeps the id of an email as a cursor of its list for 24 hours, for an email that is hidden or deleted.
pub(super) fn keep_cursor(tx: &WriteTx<'_>, team: TeamId, id: EmailId, now_ms: TimestampMs) -> Result<(), StoreError> {
    if tx.contains(&BROADCAST_EMAILS, &(team, id))? {
        return tx.keep_cursor(&BROADCAST_EMAILS, &(team, id), now_ms);
    }
    tx.keep_cursor(&EMAILS, &(team, id), now_ms)
}
