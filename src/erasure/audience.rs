//! The suppression list, and the events about contacts and suppressions.

use super::places::{Page, Progress, ROWS_MAX};
use super::store::{ErasureRow, Stage, Target, among};
use crate::events::{self, Reach};
use crate::id::{ErasureId, EventId, Id, SuppressionId};
use crate::store::{Reads, StoreError, WriteTx, skip_corrupt};
use crate::suppressions::{self, Erased};

/// Takes the addresses out of the entries that there were when they were asked for.
pub(super) fn erase_listed(tx: &WriteTx<'_>, target: &Target) -> Result<(), StoreError> {
    erase_entries(tx, target, |request| Erased::Until(among(request)))?;
    Ok(())
}

/// Takes the addresses out of the entries that emails from before the requests have brought since: a
/// bounce or a complaint lists the address, with the email that it is about.
pub(super) fn erase_brought(tx: &WriteTx<'_>, row: &mut ErasureRow, target: &Target) -> Result<(), StoreError> {
    row.late_entries.extend(erase_entries(tx, target, |request| Erased::BroughtUpTo(among(request)))?);
    Ok(())
}

/// Takes the addresses out of their entries, as far as `which` says for the last request that names
/// each. Returns the entries that held one.
fn erase_entries(
    tx: &WriteTx<'_>,
    target: &Target,
    which: impl Fn(ErasureId) -> Erased,
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
    target: &Target,
    after: EventId,
) -> Result<Page<EventId>, StoreError> {
    let (hits, next) = events::audience_page(tx, target.team, after, |id| reach(row, target, id), ROWS_MAX)?;
    Ok(Page { hits, next })
}

/// Takes the addresses out of them.
pub(super) fn erase_events(
    tx: &WriteTx<'_>,
    row: &mut ErasureRow,
    target: &Target,
    page: &Page<EventId>,
) -> Result<Progress, StoreError> {
    for id in &page.hits {
        events::erase_audience(tx, target.team, *id, &reach(row, target, *id))?;
    }
    let is_late = matches!(row.stage, Stage::LateAudienceEvents { .. });
    row.stage = match (page.next, is_late) {
        (Some(after), false) => Stage::AudienceEvents { after },
        (Some(after), true) => Stage::LateAudienceEvents { after },
        (None, false) => Stage::Messages { after: Id::MIN },
        (None, true) => Stage::LateMessages { after: Id::MIN },
    };
    Ok(Progress::More)
}

/// Returns what is reached of an event: those who were asked for after it, and the entries that emails
/// brought later.
fn reach<'a>(row: &'a ErasureRow, target: &Target, event: EventId) -> Reach<'a> {
    Reach { addresses: target.at(event), entries: &row.late_entries }
}
