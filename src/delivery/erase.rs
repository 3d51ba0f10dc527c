//! Erasure of addresses from SMTP transcripts.

use super::rows::SmtpAttemptRow;
use crate::base::address::{AddressSet, ERASED};
use crate::base::id::{EmailId, Id};
use crate::store::{KeyOf, NEXT, Order, Reads, STOP, StoreError, WriteTx};
use crate::tables::ATTEMPTS;

/// Returns whether an attempt for an email contains an address. Skips corrupt attempts.
pub(crate) fn attempts_mention(tx: &impl Reads, email: EmailId, addresses: &AddressSet) -> Result<bool, StoreError> {
    let mut found = false;
    tx.scan_valid(&ATTEMPTS, &(email, Id::MIN), &(email, Id::MAX), Order::Ascending, |_, mut row| {
        found = erase_row(&mut row, addresses);
        if found { STOP } else { NEXT }
    })?;
    Ok(found)
}

/// Erases addresses from the attempts for an email. A text that contains one becomes [`ERASED`] as a
/// whole. The number of attempts is limited: each recipient group has at most one for each delay of the
/// retry schedule.
pub(crate) fn erase_attempts(tx: &WriteTx<'_>, email: EmailId, addresses: &AddressSet) -> Result<(), StoreError> {
    let erased = tx.collect(&ATTEMPTS, KeyOf::bounds(email), Order::Ascending, |key, row| {
        let Some(mut row) = row.valid() else { return Ok(None) };
        Ok(erase_row(&mut row, addresses).then_some((key, row)))
    })?;
    erased.iter().try_for_each(|(key, row)| tx.put(&ATTEMPTS, key, row))
}

/// Returns whether the row contained an address.
fn erase_row(row: &mut SmtpAttemptRow, addresses: &AddressSet) -> bool {
    let SmtpAttemptRow {
        at_ms: _,
        group: _,
        number: _,
        // The names of a site and of a host, and the IP addresses of both ends.
        site: _,
        source: _,
        host: _,
        address: _,
        tls: _,
        tls_downgraded: _,
        possible_duplicate: _,
        tried_recipients: _,
        summary,
        deferral_reason,
        transcript,
    } = row;
    let mut found = false;
    for text in [summary, transcript].into_iter().chain(deferral_reason) {
        if addresses.is_mentioned_in(text) {
            ERASED.clone_into(text);
            found = true;
        }
    }
    found
}
