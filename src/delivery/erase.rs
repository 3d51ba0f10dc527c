//! Taking addresses out of conversations.

use super::rows::SmtpAttemptRow;
use crate::base::address::AddressSet;
use crate::base::id::{EmailId, Id};
use crate::events::ERASED;
use crate::store::{NEXT, Order, Reads, STOP, StoreError, WriteTx, skip_corrupt};
use crate::tables::ATTEMPTS;

/// Returns whether a conversation about an email mentions one of the addresses. One that does not read
/// is passed over, here and below.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn attempts_hold(tx: &impl Reads, email: EmailId, addresses: &AddressSet) -> Result<bool, StoreError> {
    let mut found = false;
    tx.scan(&ATTEMPTS, &(email, Id::MIN), &(email, Id::MAX), Order::Ascending, |(_, id), row| {
        let Some(mut row) = skip_corrupt(row.decode(), format_args!("conversation {id} about email {email}"))? else {
            return NEXT;
        };
        found = erase_row(&mut row, addresses);
        if found { STOP } else { NEXT }
    })?;
    Ok(found)
}

/// Takes addresses out of the conversations about an email: a text that mentions one goes whole.
/// There are as many as the retry schedule has delays, for each of its recipient groups.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn erase_attempts(tx: &WriteTx<'_>, email: EmailId, addresses: &AddressSet) -> Result<(), StoreError> {
    let mut erased = Vec::new();
    tx.scan(&ATTEMPTS, &(email, Id::MIN), &(email, Id::MAX), Order::Ascending, |key, row| {
        let what = format_args!("conversation {} about email {email}", key.1);
        let Some(mut row) = skip_corrupt(row.decode(), what)? else { return NEXT };
        if erase_row(&mut row, addresses) {
            erased.push((key, row));
        }
        NEXT
    })?;
    erased.iter().try_for_each(|(key, row)| tx.put(&ATTEMPTS, key, row))
}

/// Returns whether there was anything to take out.
fn erase_row(row: &mut SmtpAttemptRow, addresses: &AddressSet) -> bool {
    let SmtpAttemptRow {
        at_ms: _,
        group: _,
        number: _,
        // A host's name and its network address.
        host: _,
        address: _,
        tls: _,
        possible_duplicate: _,
        summary,
        transcript,
    } = row;
    let mut found = false;
    for text in [summary, transcript] {
        if addresses.is_mentioned_in(text) {
            ERASED.clone_into(text);
            found = true;
        }
    }
    found
}
