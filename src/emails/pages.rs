//! The emails of a team in the order of their ids, for a worker that reads each of them once.

use super::store::EmailRow;
use crate::base::id::{EmailId, TeamId};
use crate::store::{Reads, StoreError, match_keys, rows_after};
use crate::tables::EMAILS;

/// Returns up to `rows_max` emails of the API after one id and up to another, oldest first. A corrupt row is logged, and
/// returned as `None`.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn emails_after(
    tx: &impl Reads,
    team: TeamId,
    (after, until): (EmailId, EmailId),
    rows_max: usize,
) -> Result<Vec<(EmailId, Option<EmailRow>)>, StoreError> {
    let page = rows_after(tx, &EMAILS, (team, after), (team, until), rows_max)?;
    Ok(page.into_iter().map(|((_, id), row)| (id, row)).collect())
}

/// Does the same as [`emails_after`], without the rows.
pub(crate) fn email_ids_after(
    tx: &impl Reads,
    team: TeamId,
    (after, until): (EmailId, EmailId),
    rows_max: usize,
) -> Result<Vec<EmailId>, StoreError> {
    let page = match_keys(tx, &EMAILS, (team, after), (team, until), rows_max, |_| true)?;
    Ok(page.map(|(_, id)| id).hits)
}

/// Stores the row of an email.
#[cfg(test)]
pub(crate) fn put_email(
    tx: &crate::store::WriteTx<'_>,
    team: TeamId,
    id: EmailId,
    row: &EmailRow,
) -> Result<(), StoreError> {
    tx.put(&EMAILS, &(team, id), row)
}

/// Deletes emails as retention does.
#[cfg(test)]
pub(crate) fn delete_emails(tx: &crate::store::WriteTx<'_>, team: TeamId, ids: &[EmailId]) -> Result<(), StoreError> {
    ids.iter().try_for_each(|id| super::retention::delete_email(tx, team, *id))
}
