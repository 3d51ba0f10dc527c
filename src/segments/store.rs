//! The rows of segments, and whom they hold by hand.

use serde::{Deserialize, Serialize};

use super::filter::Filter;
use super::model::{SEGMENTS_MAX, Segment};
use crate::base::clock::TimestampMs;
use crate::base::id::{ContactId, Id, SegmentId, TeamId};
use crate::store::{NEXT, Order, Reads, Row, STOP, StoreError, WriteTx};
use crate::tables::{CONTACT_SEGMENTS, SEGMENT_MEMBERS, SEGMENTS};

/// A segment on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SegmentRow {
    /// Its name.
    pub name: String,
    /// Whom it holds by what is known of them; none for a segment that is filled by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
    /// When it was made.
    pub created_ms: TimestampMs,
}
impl Row for SegmentRow {}

impl SegmentRow {
    /// Returns the segment as the use cases see it.
    pub(super) fn segment(self, id: SegmentId) -> Segment {
        let Self { name, filter, created_ms } = self;
        Segment { id, name, filter, created_ms }
    }
}

/// Returns the team's segment of that id.
///
/// # Errors
/// [`StoreError`].
pub fn find(tx: &impl Reads, team: TeamId, id: SegmentId) -> Result<Option<Segment>, StoreError> {
    Ok(tx.get(&SEGMENTS, &(team, id))?.map(|row| row.segment(id)))
}

/// Returns whether the team has a segment of that id.
///
/// # Errors
/// [`StoreError`].
pub fn exists(tx: &impl Reads, team: TeamId, id: SegmentId) -> Result<bool, StoreError> {
    tx.contains(&SEGMENTS, &(team, id))
}

/// Returns every segment of the team, newest first; at most [`SEGMENTS_MAX`].
///
/// # Errors
/// [`StoreError`].
pub fn all(tx: &impl Reads, team: TeamId) -> Result<Vec<Segment>, StoreError> {
    let mut segments = Vec::new();
    tx.scan(&SEGMENTS, &(team, Id::MIN), &(team, Id::MAX), Order::Descending, |(_, id), row| {
        segments.push(row.decode()?.segment(id));
        NEXT
    })?;
    Ok(segments)
}

/// Returns how many segments the team has; at most [`SEGMENTS_MAX`].
///
/// # Errors
/// [`StoreError`].
pub fn count(tx: &impl Reads, team: TeamId) -> Result<usize, StoreError> {
    let mut segments = 0;
    tx.scan(&SEGMENTS, &(team, Id::MIN), &(team, Id::MAX), Order::Ascending, |_, _| {
        segments += 1;
        NEXT
    })?;
    Ok(segments)
}

/// Adds a contact to a segment by hand; returns whether it was not in it by hand before.
///
/// # Errors
/// [`StoreError`].
pub fn add_member(tx: &WriteTx<'_>, team: TeamId, segment: SegmentId, contact: ContactId) -> Result<bool, StoreError> {
    if tx.contains(&CONTACT_SEGMENTS, &(team, contact, segment))? {
        return Ok(false);
    }
    tx.put(&SEGMENT_MEMBERS, &(team, segment, contact), &())?;
    tx.put(&CONTACT_SEGMENTS, &(team, contact, segment), &())?;
    Ok(true)
}

/// Takes a contact out of a segment it was added to by hand; returns whether it was in it.
///
/// # Errors
/// [`StoreError`].
pub fn remove_member(
    tx: &WriteTx<'_>,
    team: TeamId,
    segment: SegmentId,
    contact: ContactId,
) -> Result<bool, StoreError> {
    tx.delete(&SEGMENT_MEMBERS, &(team, segment, contact))?;
    tx.delete(&CONTACT_SEGMENTS, &(team, contact, segment))
}

/// Returns the segments a contact was added to by hand, oldest segment first. At most
/// [`SEGMENTS_MAX`]: a segment that was deleted is left out while its memberships are still being
/// removed.
///
/// # Errors
/// [`StoreError`].
pub fn of_contact(tx: &impl Reads, team: TeamId, contact: ContactId) -> Result<Vec<SegmentId>, StoreError> {
    oldest_of_contact(tx, team, contact, SEGMENTS_MAX)
}

/// As [`of_contact`], the oldest `max` of them.
///
/// # Errors
/// [`StoreError`].
pub fn oldest_of_contact(
    tx: &impl Reads,
    team: TeamId,
    contact: ContactId,
    max: usize,
) -> Result<Vec<SegmentId>, StoreError> {
    let mut segments = Vec::new();
    let (from, to) = ((team, contact, Id::MIN), (team, contact, Id::MAX));
    tx.scan(&CONTACT_SEGMENTS, &from, &to, Order::Ascending, |(_, _, segment), _| {
        if segments.len() == max {
            return STOP;
        }
        if exists(tx, team, segment)? {
            segments.push(segment);
        }
        NEXT
    })?;
    Ok(segments)
}

/// Removes up to `rows_max` memberships of a segment; returns whether any are left.
///
/// # Errors
/// [`StoreError`].
pub(super) fn remove_members(
    tx: &WriteTx<'_>,
    team: TeamId,
    segment: SegmentId,
    rows_max: usize,
) -> Result<bool, StoreError> {
    let mut members = Vec::new();
    let mut is_more = false;
    let (from, to) = ((team, segment, Id::MIN), (team, segment, Id::MAX));
    tx.scan(&SEGMENT_MEMBERS, &from, &to, Order::Ascending, |(_, _, contact), _| {
        if members.len() == rows_max {
            is_more = true;
            return STOP;
        }
        members.push(contact);
        NEXT
    })?;
    for contact in members {
        remove_member(tx, team, segment, contact)?;
    }
    Ok(is_more)
}

/// Returns the first segment after `after` that has members and no row: one that was deleted while
/// it had more than one commit removes. The cost is a seek for each segment that is passed over.
///
/// # Errors
/// [`StoreError`].
pub(super) fn first_orphan(
    tx: &impl Reads,
    after: Option<(TeamId, SegmentId)>,
) -> Result<Option<(TeamId, SegmentId)>, StoreError> {
    let mut passed = after;
    loop {
        let from = passed.map_or((Id::MIN, Id::MIN, Id::MIN), |(team, segment)| (team, segment, Id::MAX));
        let mut found = None;
        tx.scan(&SEGMENT_MEMBERS, &from, &(Id::MAX, Id::MAX, Id::MAX), Order::Ascending, |(team, segment, _), _| {
            found = Some((team, segment));
            STOP
        })?;
        match found {
            Some((team, segment)) if exists(tx, team, segment)? => passed = found,
            found => return Ok(found),
        }
    }
}
