//! Whom a segment holds: those its filter matches and those added by hand, each once.
//!
//! This file is the one place that answers this. Lists, counts and whatever sends to a segment walk
//! ([`scan`]); they differ in where they begin and when they stop. Of one contact and many segments
//! it is asked the other way round ([`that_hold`]).

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::filter::{Filter, FilterSubject};
use super::model::Segment;
use crate::base::clock::{self, TimestampMs};
use crate::base::id::{ContactId, SegmentId, TeamId};
use crate::contacts::ContactRef;
use crate::store::{NEXT, Order, Reads, STOP, StoreError};
use crate::tables::{CONTACTS, SEGMENT_MEMBERS};

/// What decides whom a segment holds.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentRule {
    /// The segment, for those added by hand.
    pub segment: SegmentId,
    /// The filter. Without one nobody is matched.
    pub filter: Option<Filter>,
}

impl SegmentRule {
    /// Returns the rule of a segment.
    pub fn of(segment: &Segment) -> Self {
        Self { segment: segment.id, filter: segment.filter.clone() }
    }
}

/// The contacts that are looked at: by id, so by creation, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContactRange {
    /// The oldest.
    pub from: ContactId,
    /// The newest.
    pub to: ContactId,
    /// Which end the walk begins at.
    pub order: Order,
}

impl ContactRange {
    /// Everybody, in that order.
    pub const fn all(order: Order) -> Self {
        Self { from: ContactId::MIN, to: ContactId::MAX, order }
    }

    /// Returns what is left of the span once a walk has come past `last`; `None` when nothing is.
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

/// How far a walk goes in one transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScanLimit {
    rows_max: usize,
    ends: Option<Instant>,
}

/// Rows between two looks at the clock: some 20 µs of them.
const ROWS_PER_LOOK: usize = 64;

impl ScanLimit {
    /// So many rows.
    pub(super) const fn rows(rows_max: usize) -> Self {
        Self { rows_max, ends: None }
    }

    /// So many rows, and no longer than `within` from the call on: how long a row takes depends on the
    /// filter and on what is kept of a contact.
    pub(super) fn within(rows_max: usize, within: Duration) -> Self {
        Self { rows_max, ends: Some(clock::monotonic() + within) }
    }

    /// Returns whether a walk that has looked at `rows` rows goes no further.
    fn is_over(self, rows: usize) -> bool {
        let is_late = || self.ends.is_some_and(|ends| clock::monotonic() >= ends);
        rows >= self.rows_max || (rows > 0 && rows.is_multiple_of(ROWS_PER_LOOK) && is_late())
    }
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanEnd {
    /// Everybody in the span has been looked at.
    ToTheEnd,
    /// The visitor had enough.
    Stopped,
    /// The walk went as far as allowed, and looked at this one last.
    Paused(ContactId),
}

/// One whom the segment holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentMatch {
    /// Who.
    pub contact: ContactId,
    /// How many rows were looked at before it.
    pub rows_before: usize,
}

/// Calls `visit` with those of the span whom the segment holds, in order, and looks at `rows_max`
/// rows at most: one transaction is not to stay open long, and the walk goes on in the next one
/// from [`ContactRange::beyond`].
///
/// # Errors
/// [`StoreError`].
pub fn scan(
    tx: &impl Reads,
    team: TeamId,
    rule: &SegmentRule,
    span: ContactRange,
    rows_max: usize,
    visit: impl FnMut(SegmentMatch) -> ControlFlow<()>,
) -> Result<ScanEnd, StoreError> {
    walk_at(tx, team, rule, span, ScanLimit::rows(rows_max), visit)
}

/// As [`scan`], as far as `pace` says.
///
/// # Errors
/// [`StoreError`].
pub(super) fn walk_at(
    tx: &impl Reads,
    team: TeamId,
    rule: &SegmentRule,
    span: ContactRange,
    pace: ScanLimit,
    mut visit: impl FnMut(SegmentMatch) -> ControlFlow<()>,
) -> Result<ScanEnd, StoreError> {
    let mut rows = Rows { last: None, count: 0, pace, ended: ScanEnd::ToTheEnd };
    let Some(filter) = &rule.filter else {
        let (from, to) = ((team, rule.segment, span.from), (team, rule.segment, span.to));
        tx.scan(&SEGMENT_MEMBERS, &from, &to, span.order, |(_, _, contact), _| {
            rows.look(contact, || Ok(true), &mut visit)
        })?;
        return Ok(rows.ended);
    };
    let members = members(tx, team, rule.segment, span, pace.rows_max)?;
    let mut members = members.into_iter().peekable();
    let (from, to) = ((team, span.from), (team, span.to));
    tx.scan(&CONTACTS, &from, &to, span.order, |(_, contact), row| {
        let holds = || {
            let is_passed = |member: &ContactId| match span.order {
                Order::Ascending => *member < contact,
                Order::Descending => *member > contact,
            };
            while members.next_if(is_passed).is_some() {}
            let by_hand = members.next_if_eq(&contact).is_some();
            Ok(by_hand || filter.matches(&Subject { contact, view: ContactRef::of(&row)? }))
        };
        rows.look(contact, holds, &mut visit)
    })?;
    Ok(rows.ended)
}

/// Returns whether the segment holds the contact.
///
/// # Errors
/// [`StoreError`].
pub fn holds(tx: &impl Reads, team: TeamId, rule: &SegmentRule, contact: ContactId) -> Result<bool, StoreError> {
    let only = ContactRange { from: contact, to: contact, order: Order::Ascending };
    Ok(scan(tx, team, rule, only, 1, |_| ControlFlow::Break(()))? == ScanEnd::Stopped)
}

/// Returns those of the segments that hold the contact, in their order. The contact is read once,
/// whatever the number of filters it is held against.
///
/// # Errors
/// [`StoreError`].
pub fn that_hold(
    tx: &impl Reads,
    team: TeamId,
    segments: Vec<Segment>,
    contact: ContactId,
) -> Result<Vec<Segment>, StoreError> {
    let mut holding = Vec::new();
    let key = (team, contact);
    let mut segments = Some(segments);
    tx.scan(&CONTACTS, &key, &key, Order::Ascending, |_, row| {
        let subject = Subject { contact, view: ContactRef::of(&row)? };
        for segment in segments.take().into_iter().flatten() {
            let by_hand = tx.contains(&SEGMENT_MEMBERS, &(team, segment.id, contact))?;
            if by_hand || segment.filter.as_ref().is_some_and(|filter| filter.matches(&subject)) {
                holding.push(segment);
            }
        }
        STOP
    })?;
    Ok(holding)
}

/// Returns those of the span who were added by hand, as far as a walk over `rows_max` contacts can
/// come: each of them is a contact.
fn members(
    tx: &impl Reads,
    team: TeamId,
    segment: SegmentId,
    span: ContactRange,
    rows_max: usize,
) -> Result<Vec<ContactId>, StoreError> {
    let mut members = Vec::new();
    let (from, to) = ((team, segment, span.from), (team, segment, span.to));
    tx.scan(&SEGMENT_MEMBERS, &from, &to, span.order, |(_, _, contact), _| {
        if members.len() == rows_max {
            return STOP;
        }
        members.push(contact);
        NEXT
    })?;
    Ok(members)
}

/// Counts the rows of a walk.
struct Rows {
    last: Option<ContactId>,
    count: usize,
    pace: ScanLimit,
    ended: ScanEnd,
}

impl Rows {
    fn look(
        &mut self,
        contact: ContactId,
        holds: impl FnOnce() -> Result<bool, StoreError>,
        visit: &mut impl FnMut(SegmentMatch) -> ControlFlow<()>,
    ) -> crate::store::Step {
        if self.pace.is_over(self.count)
            && let Some(last) = self.last
        {
            self.ended = ScanEnd::Paused(last);
            return STOP;
        }
        let rows_before = self.count;
        self.count += 1;
        self.last = Some(contact);
        if holds()? && visit(SegmentMatch { contact, rows_before }).is_break() {
            self.ended = ScanEnd::Stopped;
            return STOP;
        }
        NEXT
    }
}

/// A stored contact as a filter looks at it.
struct Subject<'a> {
    contact: ContactId,
    view: ContactRef<'a>,
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

    #[test]
    fn a_walk_ends_with_its_rows_or_with_its_time() {
        let (rows, spent, long) = (
            ScanLimit::rows(1_000),
            ScanLimit::within(1_000, Duration::ZERO),
            ScanLimit::within(1_000, Duration::from_secs(3_600)),
        );
        for (count, expected) in [
            (0, (false, false, false)),
            (1, (false, false, false)),
            (ROWS_PER_LOOK, (false, true, false)),
            (ROWS_PER_LOOK + 1, (false, false, false)),
            (1_000, (true, true, true)),
        ] {
            assert_eq!((rows.is_over(count), spent.is_over(count), long.is_over(count)), expected, "{count}");
        }
    }
}
