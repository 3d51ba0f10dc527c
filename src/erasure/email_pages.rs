//! Pages of the stages of emails: the queue, all emails, and the pending emails.
//!
//! A scan also prepares the new content of each email, so that the transaction only writes it.

use super::pages::{ROWS_MAX, erase_suppressions, parts};
use super::stages::ErasureStage;
use super::store::{ErasureRow, ErasureTarget};
use crate::base::id::{EmailId, TeamId};
use crate::context::Context;
use crate::delivery;
use crate::delivery::QueueKey;
use crate::emails::{self, EmailErasure, EmailRow, PreparedErasure};
use crate::events;
use crate::store::{CHUNKS_PER_COMMIT, Keyring, MatchPage, Reads, StoreError, WriteTx, match_page};
use crate::tables::EMAILS;

/// Emails in one page, each with its events and SMTP transcripts.
const EMAILS_MAX: usize = 100;
/// Emails of broadcasts in one page. They have no content of their own.
const BROADCAST_EMAILS_MAX: usize = 1_000;
/// Bytes of new contents that one transaction writes, plus one content.
const PREPARED_BYTES_MAX: usize = 4 << 20;
/// Pending emails in one row. If there are more, the scan for the others starts when half of these have been erased.
pub(super) const PENDING_EMAILS_MAX: usize = 1_000;

/// Emails of a page, and the position of the last row, if the range has more rows.
type EmailPage<P> = (Vec<PreparedErasure>, Option<P>);

/// Scans a page of the queue for the emails with a waiting recipient to erase.
pub(super) fn scan_queue(
    tx: &impl Reads,
    keyring: &Keyring,
    target: &ErasureTarget,
    after: QueueKey,
) -> Result<EmailPage<QueueKey>, StoreError> {
    let last = target.last_request();
    let page = emails::match_queued(tx, target.team, (after, last), &target.all(), |id| target.at(id), ROWS_MAX)?;
    let mut page = page.map(|key| (key, key.4));
    // The groups of an email are separate rows, and those of other destinations are not adjacent.
    page.hits.sort_unstable_by_key(|(_, id)| *id);
    page.hits.dedup_by_key(|(_, id)| *id);
    prepare(tx, keyring, target, page)
}

/// Scans a page of the emails that were accepted before the requests.
pub(super) fn scan_emails(
    tx: &impl Reads,
    keyring: &Keyring,
    target: &ErasureTarget,
    after: EmailId,
) -> Result<EmailPage<EmailId>, StoreError> {
    prepare(tx, keyring, target, match_emails(tx, after, target)?.map(|id| (id, id)))
}

/// Returns the pending emails that can be erased or have been deleted, at most [`EMAILS_MAX`].
pub(super) fn scan_pending(
    tx: &impl Reads,
    keyring: &Keyring,
    row: &ErasureRow,
    target: &ErasureTarget,
) -> Result<Vec<PreparedErasure>, StoreError> {
    let hits = erasable_emails(tx, row, target)?.into_iter().map(|id| (id, id)).collect();
    Ok(prepare(tx, keyring, target, MatchPage { hits, next: None })?.0)
}

/// Prepares the erasure of the emails of a page, each with its position. Ends the page early when the new contents have
/// [`PREPARED_BYTES_MAX`] bytes.
fn prepare<P>(
    tx: &impl Reads,
    keyring: &Keyring,
    target: &ErasureTarget,
    page: MatchPage<(P, EmailId)>,
) -> Result<EmailPage<P>, StoreError> {
    let (hits, next) = parts(page);
    let mut prepared = Vec::with_capacity(hits.len());
    let (mut bytes, count) = (0, hits.len());
    for (number, (position, id)) in (1..).zip(hits) {
        let email = emails::prepare_erasure(tx, keyring, target.team, id, &target.at(id))?;
        bytes += email.bytes();
        prepared.push(email);
        if bytes >= PREPARED_BYTES_MAX && number < count {
            return Ok((prepared, Some(position)));
        }
    }
    Ok((prepared, next.map(|(position, _)| position)))
}

/// Returns a page of the emails that were accepted before the requests and contain an address. An email in flight that
/// contained one before the queue was scanned is in the page too.
fn match_emails(tx: &impl Reads, after: EmailId, target: &ErasureTarget) -> Result<MatchPage<EmailId>, StoreError> {
    let team = target.team;
    let matches = |(_, id): (TeamId, EmailId), email: Option<EmailRow>| {
        let addresses = &target.at(id);
        let is_erased = |email: &EmailRow| email.erasure.is_some_and(|mark| target.includes(mark.id));
        let is_match = |email: EmailRow| {
            emails::mentions(&email, addresses) || (is_erased(&email) && emails::is_in_flight(&email))
        };
        Ok(email.is_some_and(is_match)
            || events::email_events_mention(tx, id, addresses)?
            || delivery::attempts_mention(tx, id, addresses)?)
    };
    let last = target.last_request();
    let page = match_page(tx, &EMAILS, (team, after), (team, last), EMAILS_MAX, &matches)?.map(|(_, id)| id);
    // The emails of broadcasts up to the end of the page.
    let until = page.next.unwrap_or(last);
    let of_broadcasts = emails::match_broadcast_emails(tx, team, (after, until), BROADCAST_EMAILS_MAX, matches)?;
    let next = of_broadcasts.next.or(page.next);
    let mut hits = page.hits;
    hits.extend(of_broadcasts.hits);
    hits.retain(|id| next.is_none_or(|next| *id <= next));
    hits.sort_unstable();
    if hits.len() > EMAILS_MAX {
        hits.truncate(EMAILS_MAX);
        let next = hits.last().copied();
        return Ok(MatchPage { hits, next });
    }
    Ok(MatchPage { hits, next })
}

pub(super) fn erase_emails(
    tx: &WriteTx<'_>,
    context: &Context,
    row: &mut ErasureRow,
    target: &ErasureTarget,
    emails: &[PreparedErasure],
) -> Result<bool, StoreError> {
    let mut chunks_left = CHUNKS_PER_COMMIT;
    let ErasureStage::Emails { mut after } = row.stage else {
        // The queue. The later stage of the emails lists the emails that cannot be erased yet.
        for email in emails {
            if erase_email(tx, context, target, email, &mut chunks_left)? == EmailErasure::Unfinished {
                return Ok(false);
            }
        }
        return Ok(true);
    };
    for email in emails {
        let id = email.id;
        match erase_email(tx, context, target, email, &mut chunks_left)? {
            EmailErasure::Erased => {}
            EmailErasure::NotSettled | EmailErasure::ErasedInFlight => {
                if row.pending_emails.len() < PENDING_EMAILS_MAX {
                    row.pending_emails.push(id);
                } else {
                    row.resume_after.get_or_insert(after);
                }
            }
            EmailErasure::Unfinished => {
                row.stage = ErasureStage::Emails { after };
                return Ok(false);
            }
        }
        after = id;
    }
    Ok(true)
}

/// Erases an email with its timeline and SMTP transcripts. If the row of the email is corrupt, only
/// these are erased.
fn erase_email(
    tx: &WriteTx<'_>,
    context: &Context,
    target: &ErasureTarget,
    email: &PreparedErasure,
    chunks_left: &mut usize,
) -> Result<EmailErasure, StoreError> {
    let addresses = &target.at(email.id);
    let erased = emails::erase(tx, context, (target.team, target.id()), email, addresses, chunks_left)?;
    if matches!(erased, EmailErasure::Erased | EmailErasure::ErasedInFlight) {
        events::erase_email_events(tx, email.id, addresses)?;
        delivery::erase_attempts(tx, email.id, addresses)?;
    }
    Ok(erased)
}

/// Returns up to [`EMAILS_MAX`] pending emails that have been deleted, can be erased, or have been erased and are no
/// longer in flight.
fn erasable_emails(tx: &impl Reads, row: &ErasureRow, target: &ErasureTarget) -> Result<Vec<EmailId>, StoreError> {
    let mut erasable = Vec::new();
    for id in &row.pending_emails {
        let email = emails::find_valid_row(tx, target.team, *id)?;
        let is_ready = |email: EmailRow| {
            let addresses = target.at(*id);
            emails::is_erasable(&email, &addresses)
                && (emails::mentions(&email, &addresses) || !emails::is_in_flight(&email))
        };
        if email.is_none_or(is_ready) {
            erasable.push(*id);
            if erasable.len() == EMAILS_MAX {
                break;
            }
        }
    }
    Ok(erasable)
}

/// Erases pending emails that can be erased, and the suppressions that they caused. Returns whether the
/// second run can start.
pub(super) fn erase_pending(
    tx: &WriteTx<'_>,
    context: &Context,
    row: &mut ErasureRow,
    target: &ErasureTarget,
    emails: &[PreparedErasure],
) -> Result<bool, StoreError> {
    let mut chunks_left = CHUNKS_PER_COMMIT;
    let mut erased = Vec::new();
    for email in emails {
        match erase_email(tx, context, target, email, &mut chunks_left)? {
            EmailErasure::Erased => erased.push(email.id),
            // The attempt of another recipient has not ended, or one has started since the scan.
            EmailErasure::NotSettled | EmailErasure::ErasedInFlight => {}
            EmailErasure::Unfinished => break,
        }
    }
    if !erased.is_empty() {
        erase_suppressions(tx, row, target, context.now_ms())?;
    }
    row.pending_emails.retain(|id| !erased.contains(id));
    let pending_max = if row.resume_after.is_some() { PENDING_EMAILS_MAX / 2 } else { 0 };
    Ok(row.pending_emails.len() <= pending_max)
}
