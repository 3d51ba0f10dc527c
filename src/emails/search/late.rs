//! Emails that were committed after the block that their id belongs to.
//!
//! The id of an email is drawn before its commit. A commit that takes longer than the worker waits leaves the email out
//! of its block. Some minutes later, the worker compares the blocks with the emails.

use std::collections::HashSet;

use super::block::{BLOCK_BYTES_MAX, BlockEmails, BlockWriter, Fingerprint};
use super::index::{block_of, fingerprints, position};
use crate::base::id::{EmailId, TeamId};
use crate::emails::store::EmailRow;
use crate::store::{Encoded, NEXT, Order, Reads, StoreError, WriteTx, match_keys};
use crate::tables::{EMAIL_SEARCH_BLOCKS, EMAILS};
use crate::teams;

/// Emails that one page compares.
const PAGE_ROWS: usize = 2_000;

/// A page of the comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LatePage {
    /// Emails that are in no block.
    pub(super) missing: Vec<EmailId>,
    /// Position after the page; `None` if there is nothing to compare.
    pub(super) verified: Option<EmailId>,
}

/// Compares the emails after `verified` and below `until` with the blocks.
pub(super) fn find(tx: &impl Reads, team: TeamId, verified: EmailId, until: EmailId) -> Result<LatePage, StoreError> {
    let indexed = position(tx, team)?.unwrap_or_default().indexed;
    let end = indexed.min(until);
    let mut page = LatePage { missing: Vec::new(), verified: None };
    if end <= verified {
        return Ok(page);
    }
    let emails = match_keys(tx, &EMAILS, (team, verified), (team, end), PAGE_ROWS, |_| true)?.map(|(_, id)| id);
    let (ids, last) = (emails.hits, emails.next.unwrap_or(end));
    page.verified = Some(last);
    let Some(first) = ids.first().copied() else { return Ok(page) };
    let mut known = HashSet::with_capacity(ids.len());
    // The block that the first email belongs to begins before it.
    let from = block_of(tx, team, first)?.map_or(first, |(first, _)| first);
    tx.scan(&EMAIL_SEARCH_BLOCKS, &(team, from), &(team, last), Order::Ascending, |_, stored| {
        known.extend(BlockEmails::of(stored.bytes()).map(|email| email.id));
        NEXT
    })?;
    page.missing = ids.into_iter().filter(|id| !known.contains(id)).collect();
    Ok(page)
}

/// Adds an email to the block that its id belongs to. An email that was deleted since is not added, and neither is one of
/// a removed team, whose blocks may be deleted before its emails.
pub(super) fn add(tx: &WriteTx<'_>, team: TeamId, id: EmailId) -> Result<(), StoreError> {
    if teams::find(tx, team)?.is_none() {
        return Ok(());
    }
    let Some(row): Option<EmailRow> = tx.get_valid(&EMAILS, &(team, id))? else { return Ok(()) };
    let (first, bytes) = block_of(tx, team, id)?.unwrap_or((id, Vec::new()));
    let mut emails: Vec<(EmailId, Vec<Fingerprint>)> =
        BlockEmails::of(&bytes).map(|email| (email.id, email.fingerprints().collect())).collect();
    if emails.iter().any(|(known, _)| *known == id) {
        return Ok(());
    }
    emails.push((id, fingerprints(&row).collect()));
    emails.sort_unstable_by_key(|(id, _)| *id);
    let mut block = BlockWriter::default();
    let mut start = first;
    for (id, recipients) in emails {
        if block.len() >= BLOCK_BYTES_MAX / 2 {
            let complete = std::mem::take(&mut block).finish();
            tx.put_encoded(&EMAIL_SEARCH_BLOCKS, &(team, start), &Encoded::blob(complete))?;
            start = id;
        }
        block.add(id, recipients);
    }
    tx.put_encoded(&EMAIL_SEARCH_BLOCKS, &(team, start), &Encoded::blob(block.finish()))
}
