//! The contacts of a segment: the contacts that match its filter, and its members, each once.
//!
//! Only this file decides which contacts a segment contains. Counts, lists and exports call [`scan`]
//! with a range, a limit and a visitor. [`containing`] compares one contact with many segments. `contact_scan.rs` uses the
//! same rules and also visits the fields of the contacts.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::filter::{Filter, FilterSubject};
use super::model::Segment;
use crate::base::clock::{self, TimestampMs};
use crate::base::id::{ContactId, SegmentId, TeamId};
use crate::contacts::ContactRef;
use crate::store::{NEXT, Order, Reads, STOP, Step, StoreError};
use crate::tables::{CONTACTS, SEGMENT_MEMBERS};

/// The definition of the contacts that a segment contains.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentRule {
    /// The segment, which is the key of its members.
    pub segment: SegmentId,
    /// The filter. `None` matches no contact.
    pub filter: Option<Filter>,
}

impl SegmentRule {
    /// Returns the rule of a segment.
    pub fn of(segment: &Segment) -> Self {
        Self { segment: segment.id, filter: segment.filter.clone() }
    }
}

/// A range of contact ids, both ends included. Ids are in order of creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContactRange {
    /// The oldest contact.
    pub from: ContactId,
    /// The newest contact.
    pub to: ContactId,
    /// Direction of a scan.
    pub order: Order,
}

impl ContactRange {
    /// Returns the range of all contacts.
    pub const fn all(order: Order) -> Self {
        Self { from: ContactId::MIN, to: ContactId::MAX, order }
    }

    /// Returns the part of the range that a scan reaches after `last`; `None` if that part is empty.
    #[must_use]
    pub fn beyond(self, last: ContactId) -> Option<Self> {
        let rest = match self.order {
            Order::Ascending => Self { from: next_id(last)?, ..self },
            Order::Descending => Self { to: previous_id(last)?, ..self },
        };
        (rest.from <= rest.to).then_some(rest)
    }
}

fn next_id(id: ContactId) -> Option<ContactId> {
    let next = u128::from_be_bytes(*id.as_bytes()).checked_add(1)?;
    Some(ContactId::from_bytes(next.to_be_bytes()))
}

fn previous_id(id: ContactId) -> Option<ContactId> {
    let previous = u128::from_be_bytes(*id.as_bytes()).checked_sub(1)?;
    Some(ContactId::from_bytes(previous.to_be_bytes()))
}

/// Bounds of one scan. A scan runs in one read transaction, and a long transaction keeps the file
/// from reusing space.
#[derive(Clone, Copy, Debug)]
pub struct ScanLimit {
    /// Maximum number of rows.
    pub rows_max: usize,
    /// Maximum duration. The cost of a row depends on the filter and on the size of the contact.
    pub time_max: Duration,
}

impl ScanLimit {
    /// Limit of every scan outside of tests.
    pub const DEFAULT: Self = Self { rows_max: 20_000, time_max: Duration::from_millis(20) };
}

/// Number of rows between two reads of the clock, some 20 µs apart.
const ROWS_PER_CLOCK_READ: usize = 64;

/// Calls `visit` for each contact of the range that the segment contains, in the order of the range.
/// Returns the last contact read if `limit` ended the scan: the scan continues from
/// [`ContactRange::beyond`] that contact, in another transaction. Returns `None` if the scan read the
/// whole range, or if `visit` ended it.
///
/// # Errors
/// [`StoreError`] if the file cannot be read or a row is corrupt.
pub fn scan(
    tx: &impl Reads,
    team: TeamId,
    rule: &SegmentRule,
    range: ContactRange,
    limit: ScanLimit,
    visit: impl FnMut(ContactId) -> ControlFlow<()>,
) -> Result<Option<ContactId>, StoreError> {
    let mut progress = ScanProgress::new(limit, visit);
    let Some(filter) = &rule.filter else {
        let (from, to) = ((team, rule.segment, range.from), (team, rule.segment, range.to));
        tx.scan(&SEGMENT_MEMBERS, &from, &to, range.order, |(_, _, contact), _| progress.row(contact, true))?;
        return Ok(progress.last);
    };
    let members = members(tx, team, rule.segment, range, limit.rows_max)?;
    let (from, to) = ((team, range.from), (team, range.to));
    tx.scan(&CONTACTS, &from, &to, range.order, |(_, contact), row| {
        let is_contained =
            members.contains(&contact) || filter.matches(&Subject { contact, view: ContactRef::of(&row)? });
        progress.row(contact, is_contained)
    })?;
    Ok(progress.last)
}

/// Returns the first members of the range, at most `rows_max`. A scan of as many contacts cannot pass
/// the last of them, because each member is a contact.
pub(super) fn members(
    tx: &impl Reads,
    team: TeamId,
    segment: SegmentId,
    range: ContactRange,
    rows_max: usize,
) -> Result<HashSet<ContactId>, StoreError> {
    let mut members = HashSet::new();
    let (from, to) = ((team, segment, range.from), (team, segment, range.to));
    tx.scan(&SEGMENT_MEMBERS, &from, &to, range.order, |(_, _, contact), _| {
        members.insert(contact);
        if members.len() < rows_max { NEXT } else { STOP }
    })?;
    Ok(members)
}

/// Position of a scan within its limit.
pub(super) struct ScanProgress<F> {
    rows: usize,
    rows_max: usize,
    ends: Instant,
    /// Last contact read, once the limit is reached.
    last: Option<ContactId>,
    visit: F,
}

impl<F: FnMut(ContactId) -> ControlFlow<()>> ScanProgress<F> {
    pub(super) fn new(limit: ScanLimit, visit: F) -> Self {
        let ends = clock::monotonic() + limit.time_max;
        Self { rows: 0, rows_max: limit.rows_max, ends, last: None, visit }
    }

    /// Returns the last contact read, once the limit is reached.
    pub(super) fn last(&self) -> Option<ContactId> {
        self.last
    }

    /// Counts a row. Ends the scan if `visit` does or the limit is reached.
    pub(super) fn row(&mut self, contact: ContactId, is_contained: bool) -> Step {
        self.rows += 1;
        if is_contained && (self.visit)(contact).is_break() {
            return STOP;
        }
        let is_late = || self.rows.is_multiple_of(ROWS_PER_CLOCK_READ) && clock::monotonic() >= self.ends;
        if self.rows >= self.rows_max || is_late() {
            self.last = Some(contact);
            return STOP;
        }
        NEXT
    }
}

/// Returns whether the segment contains the contact.
///
/// # Errors
/// [`StoreError`] if the file cannot be read or a row is corrupt.
pub(super) fn contains(
    tx: &impl Reads,
    team: TeamId,
    rule: &SegmentRule,
    contact: ContactId,
) -> Result<bool, StoreError> {
    let only = ContactRange { from: contact, to: contact, order: Order::Ascending };
    let mut is_contained = false;
    scan(tx, team, rule, only, ScanLimit::DEFAULT, |_| {
        is_contained = true;
        ControlFlow::Break(())
    })?;
    Ok(is_contained)
}

/// Returns the segments that contain the contact, in the given order. Reads the contact once, for any
/// number of segments.
///
/// # Errors
/// [`StoreError`] if the file cannot be read or a row is corrupt.
pub fn containing(
    tx: &impl Reads,
    team: TeamId,
    segments: Vec<Segment>,
    contact: ContactId,
) -> Result<Vec<Segment>, StoreError> {
    let mut containing = Vec::new();
    let key = (team, contact);
    let mut segments = Some(segments);
    tx.scan(&CONTACTS, &key, &key, Order::Ascending, |_, row| {
        let subject = Subject { contact, view: ContactRef::of(&row)? };
        for segment in segments.take().into_iter().flatten() {
            let is_member = tx.contains(&SEGMENT_MEMBERS, &(team, segment.id, contact))?;
            if is_member || segment.filter.as_ref().is_some_and(|filter| filter.matches(&subject)) {
                containing.push(segment);
            }
        }
        STOP
    })?;
    Ok(containing)
}

/// A stored contact, as the subject of a filter.
pub(super) struct Subject<'a> {
    pub(super) contact: ContactId,
    pub(super) view: ContactRef<'a>,
}

impl FilterSubject for Subject<'_> {
    fn email(&self) -> &str {
        self.view.email()
    }
    fn first_name(&self) -> Option<&str> {
        self.view.first_name()
    }
    fn last_name(&self) -> Option<&str> {
        self.view.last_name()
    }
    fn unsubscribed(&self) -> bool {
        self.view.unsubscribed()
    }
    fn created_ms(&self) -> TimestampMs {
        self.contact.created_ms()
    }
    fn property(&self, key: &str) -> Option<&str> {
        self.view.property(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows_read(rows_max: usize, time_max: Duration) -> usize {
        let visit = |_| ControlFlow::Continue(());
        let ends = clock::monotonic() + time_max;
        let mut progress = ScanProgress { rows: 0, rows_max, ends, last: None, visit };
        while progress.row(ContactId::MIN, true).unwrap().is_continue() {}
        assert_eq!(progress.last, Some(ContactId::MIN));
        progress.rows
    }

    #[test]
    fn a_scan_ends_at_its_number_of_rows_or_at_its_time() {
        assert_eq!(rows_read(1, Duration::from_secs(3_600)), 1);
        assert_eq!(rows_read(1_000, Duration::from_secs(3_600)), 1_000);
        assert_eq!(rows_read(1_000, Duration::ZERO), ROWS_PER_CLOCK_READ);
    }
}
