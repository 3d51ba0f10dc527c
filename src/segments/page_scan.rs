//! One page of the contacts of a segment, read in steps.

use super::error::SegmentPageError;
use super::scan::{ContactRange, SegmentRule, containing, scan_contacts};
use super::store;
use crate::base::id::{ContactId, SegmentId, TeamId};
use crate::contacts::{self, ContactRow};
use crate::store::page::{Cursor, Page, PageQuery};
use crate::store::{NEXT, Order, Reads, STOP, ScanLimit, StoreError, skip_corrupt};
use crate::tables::SEGMENT_MEMBERS;

/// The part of a page that has been read.
#[derive(Debug)]
pub(super) struct PageScan {
    team: TeamId,
    rule: SegmentRule,
    rows_max: usize,
    order: Order,
    /// Contacts in scan order. One more than the page contains means that more follow.
    rows: Vec<(ContactId, ContactRow)>,
    /// Range that has not been scanned; `None` if the page is complete.
    rest: Option<ContactRange>,
}

impl PageScan {
    /// Starts a page at its cursor. Reads no contact except that of the cursor.
    ///
    /// # Errors
    /// [`SegmentPageError::NotFound`] and [`SegmentPageError::UnknownCursor`]; [`StoreError`].
    pub(super) fn start(
        tx: &impl Reads,
        team: TeamId,
        segment: SegmentId,
        query: PageQuery<ContactId>,
    ) -> Result<Self, SegmentPageError> {
        let segment = store::find(tx, team, segment)?.ok_or(SegmentPageError::NotFound)?;
        let rule = SegmentRule::of(&segment);
        let (order, cursor) = match query.cursor {
            Cursor::Newest => (Order::Descending, None),
            Cursor::After(id) => (Order::Descending, Some(id)),
            Cursor::Before(id) => (Order::Ascending, Some(id)),
        };
        let mut rest = Some(ContactRange::all(order));
        if let Some(cursor) = cursor {
            // Before its last change, the contact may have matched the filter and been listed.
            let may_have_matched = rule.filter.is_some()
                && contacts::find_valid(tx, team, cursor)?.is_some_and(|row| row.updated_ms.is_some());
            let was_listed = may_have_matched
                || tx.contains(&SEGMENT_MEMBERS, &(team, rule.segment, cursor))?
                || store::was_member(tx, team, rule.segment, cursor)?
                || skip_corrupt(containing(tx, team, vec![segment], cursor), format_args!("contact {cursor}"))?
                    .is_none_or(|segments| !segments.is_empty());
            if !was_listed {
                return Err(SegmentPageError::UnknownCursor);
            }
            rest = ContactRange::all(order).beyond(cursor);
        }
        Ok(Self { team, rule, rows_max: query.limit + 1, order, rows: Vec::new(), rest })
    }

    /// Scans further, up to `limit`, and reads the contacts that belong to the page.
    pub(super) fn advance(&mut self, tx: &impl Reads, limit: ScanLimit) -> Result<(), StoreError> {
        let Some(range) = self.rest else { return Ok(()) };
        let last = scan_contacts(tx, self.team, Some(&self.rule), range, limit, |contact, view| {
            self.rows.extend(view.valid_row().map(|row| (contact, row)));
            if self.rows.len() < self.rows_max { NEXT } else { STOP }
        })?;
        self.rest = last.and_then(|last| range.beyond(last));
        Ok(())
    }

    /// Returns whether the page is complete.
    pub(super) fn is_finished(&self) -> bool {
        self.rest.is_none()
    }

    /// Returns the page, newest contact first.
    pub(super) fn into_page(self) -> Page<(ContactId, ContactRow)> {
        let Self { mut rows, rows_max, order, .. } = self;
        let has_more = rows.len() == rows_max;
        rows.truncate(rows_max - 1);
        if order == Order::Ascending {
            rows.reverse();
        }
        Page { rows, has_more }
    }
}
