//! Recovery of the groups whose lease is corrupt.
//!
//! Such a lease names neither its node nor the team of its email. It is recovered at the start of the engine if no other
//! node is alive, whose lease it could be. Otherwise it waits for a later start. The leases that this process holds are
//! excluded.

use tracing::{error, warn};

use super::requeue;
use super::set_aside::set_aside;
use crate::base::id::{EmailId, Id, TeamId};
use crate::context::Context;
use crate::delivery::rows::DueRow;
use crate::emails::{self, EmailRow, RecipientRow, RecipientState};
use crate::store::{NEXT, Order, ReadTx, Reads, STOP, StoreError, WriteTx, has_other_alive, skip_corrupt};
use crate::tables::LEASES;
use crate::teams;

/// Maximum number of corrupt leases that one start recovers.
const RECOVERED_MAX: usize = 500;

/// Email and group of a lease.
type LeaseKey = (EmailId, u16);

/// Requeues the groups of corrupt leases, except those that `is_held` selects. Returns their number.
///
/// The groups are due immediately and marked as possible duplicates. Their attempts are counted again from the first one.
pub(in crate::delivery) async fn recover_corrupt(
    context: &Context,
    is_held: impl Fn(LeaseKey) -> bool,
) -> Result<usize, StoreError> {
    let (node, now_ms) = (context.store.node(), context.now_ms());
    let read = move |tx: &ReadTx| match has_other_alive(tx, node, now_ms)? {
        true => Ok::<_, StoreError>(Vec::new()),
        false => corrupt_leases(tx),
    };
    let corrupt = context.store.read(read).await?;
    let mut recovered = 0;
    for key in corrupt.into_iter().filter(|key| !is_held(*key)) {
        let recovering = context.clone();
        let recover = move |tx: &WriteTx<'_>| recover_lease(tx, &recovering, key);
        recovered += usize::from(context.store.write_bulk(recover).await?);
    }
    Ok(recovered)
}

fn corrupt_leases(tx: &impl Reads) -> Result<Vec<LeaseKey>, StoreError> {
    let mut corrupt = Vec::new();
    tx.scan(&LEASES, &(Id::MIN, 0), &(Id::MAX, u16::MAX), Order::Ascending, |key, lease| {
        if lease.valid().is_none() {
            corrupt.push(key);
        }
        if corrupt.len() == RECOVERED_MAX { STOP } else { NEXT }
    })?;
    Ok(corrupt)
}

/// Sets a corrupt lease aside and requeues its group. Returns whether the group is in the queue.
fn recover_lease(tx: &WriteTx<'_>, context: &Context, key: LeaseKey) -> Result<bool, StoreError> {
    match tx.get(&LEASES, &key) {
        Err(StoreError::Corrupt(_)) => {}
        // It was settled or replaced since the read.
        other => return other.map(|_| false),
    }
    let (email, group) = key;
    let Some(Err(bytes)) = tx.take(&LEASES, &key)? else { return Ok(false) };
    let found = find_valid_email(tx, email)?;
    set_aside(tx, context, found.as_ref().map(|(team, _)| *team), email, (&LEASES, &key), bytes)?;
    let Some((team, mut row)) = found else {
        error!(email.id = %email, "dropped a corrupt lease, because its email cannot be read");
        return Ok(false);
    };
    let is_leased = |recipient: &&RecipientRow| recipient.group == group && recipient.state == RecipientState::InFlight;
    let Some(recipient) = row.recipients.iter().find(is_leased) else { return Ok(false) };
    warn!(email.id = %email, "requeued a group whose lease is corrupt");
    let now_ms = context.now_ms();
    let first_due_ms = row.scheduled_ms.map_or(row.created_ms, |at_ms| at_ms.max(row.created_ms));
    let destination = emails::destination_of(recipient).into_owned();
    let due = DueRow { possible_duplicate: true, ..DueRow::fresh(team, destination, first_due_ms) };
    requeue(tx, &mut row, email, group, now_ms, &due)?;
    emails::put_row(tx, team, email, &row, now_ms)?;
    Ok(true)
}

/// Returns an email and its team, for keys without the team. Searches all teams.
pub(in crate::delivery) fn find_email(
    tx: &impl Reads,
    email: EmailId,
) -> Result<Option<(TeamId, EmailRow)>, StoreError> {
    emails::find_of_teams(tx, &teams::ids(tx)?, email)
}

/// Returns the team of an email, also if the row of the email is corrupt. Searches all teams.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(super) fn find_team(tx: &impl Reads, email: EmailId) -> Result<Option<TeamId>, StoreError> {
    for team in teams::ids(tx)? {
        if emails::has_row(tx, team, email)? {
            return Ok(Some(team));
        }
    }
    Ok(None)
}

/// Does the same as [`find_email`]. A corrupt email is logged, and returned as `None`.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(super) fn find_valid_email(tx: &impl Reads, email: EmailId) -> Result<Option<(TeamId, EmailRow)>, StoreError> {
    Ok(skip_corrupt(find_email(tx, email), format_args!("email {email}"))?.flatten())
}
