//! The rows of segments and of their members.

use serde::{Deserialize, Serialize};

use super::filter::Filter;
use super::model::{SEGMENTS_MAX, Segment};
use crate::base::clock::TimestampMs;
use crate::base::id::{ContactId, Id, SegmentId, TeamId};
use crate::contacts;
use crate::store::{KeyOf, NEXT, Order, Reads, Row, STOP, StoreError, WriteTx, match_keys, was_listed};
use crate::tables::{CONTACT_SEGMENTS, SEGMENT_MEMBERS, SEGMENTS};

/// Number of members deleted in one commit, which takes some milliseconds.
const MEMBERS_PER_COMMIT: usize = 1_000;

/// A segment on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SegmentRow {
    pub name: String,
    /// The filter; `None` if the segment contains only its members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
    /// Time of creation.
    pub created_ms: TimestampMs,
}
impl Row for SegmentRow {}

impl SegmentRow {
    /// Converts the row to a segment.
    pub(super) fn segment(self, id: SegmentId) -> Segment {
        let Self { name, filter, created_ms } = self;
        Segment { id, name, filter, created_ms }
    }
}

/// Returns the team's segment of that id.
pub fn find(tx: &impl Reads, team: TeamId, id: SegmentId) -> Result<Option<Segment>, StoreError> {
    Ok(tx.get(&SEGMENTS, &(team, id))?.map(|row| row.segment(id)))
}

/// Returns whether the team has a segment of that id.
pub fn exists(tx: &impl Reads, team: TeamId, id: SegmentId) -> Result<bool, StoreError> {
    tx.contains(&SEGMENTS, &(team, id))
}

/// Returns the segments of the team, newest first; at most [`SEGMENTS_MAX`].
pub fn all(tx: &impl Reads, team: TeamId) -> Result<Vec<Segment>, StoreError> {
    tx.collect(&SEGMENTS, KeyOf::bounds(team), Order::Descending, |(_, id), row| {
        Ok(row.valid().map(|row| row.segment(id)))
    })
}

/// Returns the number of segments of the team; at most [`SEGMENTS_MAX`].
pub fn count(tx: &impl Reads, team: TeamId) -> Result<usize, StoreError> {
    let mut segments = 0;
    tx.scan(&SEGMENTS, &(team, Id::MIN), &(team, Id::MAX), Order::Ascending, |_, _| {
        segments += 1;
        NEXT
    })?;
    Ok(segments)
}

/// Makes a contact a member of a segment. Returns `false` if it already was one.
pub fn add_member(tx: &WriteTx<'_>, team: TeamId, segment: SegmentId, contact: ContactId) -> Result<bool, StoreError> {
    if tx.contains(&CONTACT_SEGMENTS, &(team, contact, segment))? {
        return Ok(false);
    }
    tx.put(&SEGMENT_MEMBERS, &(team, segment, contact), &())?;
    tx.put(&CONTACT_SEGMENTS, &(team, contact, segment), &())?;
    Ok(true)
}

/// Ends the membership of a contact that is not deleted. Returns whether there was one. The contact stays a cursor of
/// the lists of the segment, and the segment one of the list of the contact.
pub fn leave(
    tx: &WriteTx<'_>,
    team: TeamId,
    segment: SegmentId,
    contact: ContactId,
    now_ms: TimestampMs,
) -> Result<bool, StoreError> {
    let left = remove_member(tx, team, segment, contact)?;
    if left {
        tx.keep_cursor(&SEGMENT_MEMBERS, &(team, segment, contact), now_ms)?;
    }
    Ok(left)
}

/// Returns whether a contact was in a segment in the last 24 hours and was deleted or left it. A deleted contact may
/// have matched the filter of any segment of its team.
pub(super) fn was_member(
    tx: &impl Reads,
    team: TeamId,
    segment: SegmentId,
    contact: ContactId,
) -> Result<bool, StoreError> {
    Ok(was_listed(tx, &SEGMENT_MEMBERS, &(team, segment, contact))? || contacts::was_listed(tx, team, contact)?)
}

/// Returns whether a segment was in the list of a contact's segments in the last 24 hours and was deleted or left.
pub fn was_of_contact(
    tx: &impl Reads,
    team: TeamId,
    segment: SegmentId,
    contact: ContactId,
) -> Result<bool, StoreError> {
    Ok(was_listed(tx, &SEGMENT_MEMBERS, &(team, segment, contact))? || was_listed(tx, &SEGMENTS, &(team, segment))?)
}

/// Deletes the membership of a contact in a segment, with the contact or with the segment. Returns whether there was
/// one.
pub fn remove_member(
    tx: &WriteTx<'_>,
    team: TeamId,
    segment: SegmentId,
    contact: ContactId,
) -> Result<bool, StoreError> {
    tx.delete(&SEGMENT_MEMBERS, &(team, segment, contact))?;
    tx.delete(&CONTACT_SEGMENTS, &(team, contact, segment))
}

/// Returns the segments that a contact is a member of, oldest segment first; at most
/// [`SEGMENTS_MAX`]. Omits deleted segments whose members have not been deleted yet.
pub fn of_contact(tx: &impl Reads, team: TeamId, contact: ContactId) -> Result<Vec<SegmentId>, StoreError> {
    oldest_of_contact(tx, team, contact, SEGMENTS_MAX)
}

/// Does the same as [`of_contact`]; at most the `max` oldest segments.
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

/// Deletes up to [`MEMBERS_PER_COMMIT`] members of a segment. Returns whether more may remain.
pub(super) fn remove_members(tx: &WriteTx<'_>, team: TeamId, segment: SegmentId) -> Result<bool, StoreError> {
    let (from, to) = ((team, segment, Id::MIN), (team, segment, Id::MAX));
    let page = match_keys(tx, &SEGMENT_MEMBERS, from, to, MEMBERS_PER_COMMIT, |_| true)?;
    for (_, _, contact) in page.hits {
        remove_member(tx, team, segment, contact)?;
    }
    Ok(page.next.is_some())
}
