//! The contacts of a segment or of a whole team, with their fields, for work over every contact.

use std::ops::ControlFlow;

use super::scan::{ContactRange, ScanLimit, ScanProgress, SegmentRule, Subject, members};
use crate::base::id::{ContactId, TeamId};
use crate::contacts::ContactRef;
use crate::store::{Reads, STOP, Step, StoreError, skip_corrupt};
use crate::tables::{CONTACTS, SEGMENT_MEMBERS};

/// Calls `visit` for each contact of the range that the segment contains, or for each contact of the team without a
/// rule, in the order of the range. Logs and skips a corrupt contact. Returns as [`super::scan()`].
///
/// # Errors
/// [`StoreError`] if the file cannot be read, or `visit` fails.
pub fn scan_contacts(
    tx: &impl Reads,
    team: TeamId,
    rule: Option<&SegmentRule>,
    range: ContactRange,
    limit: ScanLimit,
    mut visit: impl FnMut(ContactId, &ContactRef<'_>) -> Step,
) -> Result<Option<ContactId>, StoreError> {
    let mut progress = ScanProgress::new(limit, |_| ControlFlow::Continue(()));
    let filter = match rule {
        Some(SegmentRule { segment, filter: None }) => {
            let (from, to) = ((team, *segment, range.from), (team, *segment, range.to));
            tx.scan(&SEGMENT_MEMBERS, &from, &to, range.order, |(_, _, contact), _| {
                let mut step = STOP;
                let mut is_found = false;
                tx.scan(&CONTACTS, &(team, contact), &(team, contact), range.order, |_, row| {
                    let view = skip_corrupt(ContactRef::of(&row), format_args!("contact {contact}"))?;
                    is_found = view.is_some();
                    step = view.map_or(STOP, |view| visit(contact, &view));
                    STOP
                })?;
                if is_found && step?.is_break() { STOP } else { progress.row(contact, false) }
            })?;
            return Ok(progress.last());
        }
        Some(rule) => Some((members(tx, team, rule.segment, range, limit.rows_max)?, rule.filter.as_ref())),
        None => None,
    };
    tx.scan(&CONTACTS, &(team, range.from), &(team, range.to), range.order, |(_, contact), row| {
        let Some(view) = skip_corrupt(ContactRef::of(&row), format_args!("contact {contact}"))? else {
            return progress.row(contact, false);
        };
        let is_contained = filter.as_ref().is_none_or(|(members, filter)| {
            members.contains(&contact) || filter.is_some_and(|filter| filter.matches(&Subject { contact, view }))
        });
        if is_contained && visit(contact, &view)?.is_break() { STOP } else { progress.row(contact, false) }
    })?;
    Ok(progress.last())
}
