//! The suppression list, and the events about contacts and suppressions.

use super::stages::{MatchPage, ROWS_MAX, StepResult};
use super::store::{ErasureRow, ErasureTarget, Stage, among};
use crate::base::id::{ErasureId, EventId, Id, SuppressionId};
use crate::events::{self, ErasureScope};
use crate::store::{Reads, StoreError, WriteTx, skip_corrupt};
use crate::suppressions::{self, EraseSelector};

/// Takes the addresses out of the entries that there were when they were asked for.
pub(super) fn erase_listed(tx: &WriteTx<'_>, target: &ErasureTarget) -> Result<(), StoreError> {
    erase_entries(tx, target, |request| EraseSelector::Until(among(request)))?;
    Ok(())
}

/// Takes the addresses out of the entries that emails from before the requests have brought since: a
/// bounce or a complaint lists the address, with the email that it is about.
pub(super) fn erase_derived_entries(
    tx: &WriteTx<'_>,
    row: &mut ErasureRow,
    target: &ErasureTarget,
) -> Result<(), StoreError> {
    row.late_entries.extend(erase_entries(tx, target, |request| EraseSelector::CausedUpTo(among(request)))?);
    Ok(())
}

/// Takes the addresses out of their entries, as far as `which` says for the last request that names
/// each. Returns the entries that held one.
fn erase_entries(
    tx: &WriteTx<'_>,
    target: &ErasureTarget,
    which: impl Fn(ErasureId) -> EraseSelector,
) -> Result<Vec<SuppressionId>, StoreError> {
    let mut entries = Vec::new();
    for (address, request) in &target.hashes {
        let erased = suppressions::erase(tx, target.team, address, which(*request));
        let what = format_args!("an entry of the suppression list of team {}", target.team);
        entries.extend(skip_corrupt(erased, what)?.flatten());
    }
    Ok(entries)
}

/// Reads a page of the events.
pub(super) fn page_of_events(
    tx: &impl Reads,
    row: &ErasureRow,
    target: &ErasureTarget,
    after: EventId,
) -> Result<MatchPage<EventId>, StoreError> {
    let (hits, next) = events::audience_page(tx, target.team, after, |id| reach(row, target, id), ROWS_MAX)?;
    Ok(MatchPage { hits, next })
}

/// Takes the addresses out of them.
pub(super) fn erase_events(
    tx: &WriteTx<'_>,
    row: &mut ErasureRow,
    target: &ErasureTarget,
    page: &MatchPage<EventId>,
) -> Result<StepResult, StoreError> {
    for id in &page.hits {
        events::erase_audience(tx, target.team, *id, &reach(row, target, *id))?;
    }
    let is_late = matches!(row.stage, Stage::RecheckAudienceEvents { .. });
    row.stage = match (page.next, is_late) {
        (Some(after), false) => Stage::AudienceEvents { after },
        (Some(after), true) => Stage::RecheckAudienceEvents { after },
        (None, false) => Stage::Messages { after: Id::MIN },
        (None, true) => Stage::RecheckMessages { after: Id::MIN },
    };
    Ok(StepResult::More)
}

/// Returns what is reached of an event: those who were asked for after it, and the entries that emails
/// brought later.
fn reach<'a>(row: &'a ErasureRow, target: &ErasureTarget, event: EventId) -> ErasureScope<'a> {
    ErasureScope { addresses: target.at(event), entries: &row.late_entries }
}
