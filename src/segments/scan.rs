//! The contacts of a segment: the contacts that match its filter, and its members, each once.
//!
//! Only this file decides which contacts a segment contains. Lists, exports and broadcasts call [`scan_contacts`] with
//! a range, a limit and a visitor. [`containing`] compares one contact with many segments.

use std::collections::HashSet;

use super::filter::{Filter, FilterSubject};
use super::model::Segment;
use crate::base::clock::{TimestampMs, monotonic};
use crate::base::id::{ContactId, SegmentId, TeamId};
use crate::contacts::{ContactRef, ContactRow};
use crate::store::{NEXT, Order, Reads, STOP, ScanLimit, ScanStep, StoreError, Stored, skip_corrupt};
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

/// Calls `visit` for each contact of the range that the segment contains, or for each contact of the team without a
/// rule, in the order of the range. Logs and skips a corrupt contact. Returns the last contact read if `limit` ended the
/// scan: the scan continues from [`ContactRange::beyond`] that contact, in another transaction. Returns `None` if the
/// scan read the whole range, or if `visit` ended it.
///
/// # Errors
/// [`StoreError`] if the file cannot be read, or `visit` fails.
pub fn scan_contacts(
    tx: &impl Reads,
    team: TeamId,
    rule: Option<&SegmentRule>,
    range: ContactRange,
    limit: ScanLimit,
    mut visit: impl FnMut(ContactId, &ContactRef<'_>) -> ScanStep,
) -> Result<Option<ContactId>, StoreError> {
    let (mut rows, mut last, started) = (0, None, monotonic());
    let mut row_read = |contact: ContactId, contained: Option<ContactRef<'_>>| {
        if let Some(view) = contained
            && visit(contact, &view)?.is_break()
        {
            return STOP;
        }
        rows += 1;
        if !limit.is_reached(rows, started) {
            return NEXT;
        }
        last = Some(contact);
        STOP
    };
    if let Some(SegmentRule { segment, filter: None }) = rule {
        let (from, to) = ((team, *segment, range.from), (team, *segment, range.to));
        tx.scan(&SEGMENT_MEMBERS, &from, &to, range.order, |(_, _, contact), _| {
            let (key, mut step) = ((team, contact), None);
            tx.scan(&CONTACTS, &key, &key, range.order, |_, row| {
                step = Some(row_read(contact, valid(contact, &row)?));
                STOP
            })?;
            step.unwrap_or_else(|| row_read(contact, None))
        })?;
        return Ok(last);
    }
    let filter = rule.and_then(|rule| rule.filter.as_ref());
    let members = match rule {
        Some(rule) => members(tx, team, rule.segment, range, limit.rows_max)?,
        None => HashSet::new(),
    };
    tx.scan(&CONTACTS, &(team, range.from), &(team, range.to), range.order, |(_, contact), row| {
        let contains = |view: &ContactRef<'_>| {
            let matches = |filter: &Filter| filter.matches(&Subject { contact, view });
            members.contains(&contact) || filter.is_none_or(matches)
        };
        row_read(contact, valid(contact, &row)?.filter(contains))
    })?;
    Ok(last)
}

/// Returns the number of contacts of the range that the segment contains, and the end of the scan as
/// [`scan_contacts`]. Reads no contact if the segment has no filter, because each member is a contact.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(super) fn count(
    tx: &impl Reads,
    team: TeamId,
    rule: &SegmentRule,
    range: ContactRange,
    limit: ScanLimit,
) -> Result<(usize, Option<ContactId>), StoreError> {
    let (mut contacts, mut last, started) = (0, None, monotonic());
    if rule.filter.is_some() {
        last = scan_contacts(tx, team, Some(rule), range, limit, |_, _| {
            contacts += 1;
            NEXT
        })?;
        return Ok((contacts, last));
    }
    let (from, to) = ((team, rule.segment, range.from), (team, rule.segment, range.to));
    tx.scan(&SEGMENT_MEMBERS, &from, &to, range.order, |(_, _, contact), _| {
        contacts += 1;
        if !limit.is_reached(contacts, started) {
            return NEXT;
        }
        last = Some(contact);
        STOP
    })?;
    Ok((contacts, last))
}

/// Returns the fields of a stored contact; `None` if it is corrupt, which is logged.
#[inline]
fn valid<'a>(contact: ContactId, row: &'a Stored<'a, ContactRow>) -> Result<Option<ContactRef<'a>>, StoreError> {
    skip_corrupt(ContactRef::of(row), format_args!("contact {contact}"))
}

/// Returns the first members of the range, at most `rows_max`. A scan of as many contacts cannot pass
/// the last of them, because each member is a contact.
fn members(
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
        let subject = Subject { contact, view: &ContactRef::of(&row)? };
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
struct Subject<'a> {
    contact: ContactId,
    view: &'a ContactRef<'a>,
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
