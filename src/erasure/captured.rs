//! The built-in mailbox, which is the instance's and not a team's.

use super::stages::{CHUNKS_MAX, MatchPage, ROWS_MAX, StepResult};
use super::store::{ErasureRow, ErasureTarget, Stage};
use crate::base::id::{CapturedId, Id};
use crate::delivery::{CapturedRow, capture};
use crate::store::{Reads, StoreError, WriteTx, skip_corrupt};
use crate::tables::EMAILS;
use crate::{emails, teams};

/// Reads a page of the messages that are to be removed.
pub(super) fn page(
    tx: &impl Reads,
    target: &ErasureTarget,
    after: CapturedId,
) -> Result<MatchPage<CapturedId>, StoreError> {
    let (hits, next) = capture::page_of_meant(tx, after, ROWS_MAX, |id, message| is_meant(tx, id, message, target))?;
    Ok(MatchPage { hits, next })
}

/// Returns whether a message in the mailbox is to or about an erased address. The mailbox is the
/// instance's: one that belongs to an email of another team stays, and so does one that came later.
fn is_meant(
    tx: &impl Reads,
    id: CapturedId,
    message: &CapturedRow,
    target: &ErasureTarget,
) -> Result<bool, StoreError> {
    let team = target.team;
    let addresses = message.email.map_or_else(|| target.at(id), |email| target.at(email));
    let is_named = message.recipients.iter().chain([&message.sender]).any(|text| addresses.contains(text));
    let Some(email) = message.email else { return Ok(is_named) };
    if email > target.until() {
        return Ok(false);
    }
    if let Some(row) = skip_corrupt(tx.get(&EMAILS, &(team, email)), format_args!("email {email}"))?.flatten() {
        return Ok(is_named || emails::is_concerned(&row, &addresses));
    }
    if !is_named {
        return Ok(false);
    }
    for other in teams::list(tx)?.iter().filter(|other| other.id != team) {
        if tx.contains(&EMAILS, &(other.id, email))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Removes messages, and says what comes after them.
pub(super) fn erase(
    tx: &WriteTx<'_>,
    row: &mut ErasureRow,
    page: &MatchPage<CapturedId>,
) -> Result<StepResult, StoreError> {
    let is_late = matches!(row.stage, Stage::RecheckCaptured { .. });
    let mut chunks_left = CHUNKS_MAX;
    for id in &page.hits {
        if !capture::remove(tx, *id, &mut chunks_left)? {
            // The page is looked at again: what is left of it is found again.
            return Ok(StepResult::More);
        }
    }
    row.stage = match (page.next, is_late) {
        (Some(after), false) => Stage::Captured { after },
        (Some(after), true) => Stage::RecheckCaptured { after },
        (None, false) => Stage::AudienceEvents { after: Id::MIN },
        (None, true) if row.late_entries.is_empty() => Stage::RecheckMessages { after: Id::MIN },
        (None, true) => Stage::RecheckAudienceEvents { after: Id::MIN },
    };
    Ok(StepResult::More)
}
