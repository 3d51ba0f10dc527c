//! The rows of segments, and whom they hold by hand.

use serde::{Deserialize, Serialize};

use crate::clock::TimestampMs;
use crate::id::{ContactId, Id, SegmentId, TeamId};
use crate::store::tables::{CONTACT_SEGMENTS, SEGMENT_MEMBERS, SEGMENTS};
use crate::store::{NEXT, Order, Reads, Row, StoreError, WriteTx};

/// A segment on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SegmentRow {
    /// Its name.
    pub name: String,
    /// When it was made.
    pub created_ms: TimestampMs,
}
impl Row for SegmentRow {}

/// Returns whether the team has a segment of that id.
///
/// # Errors
/// [`StoreError`].
pub fn exists(tx: &impl Reads, team: TeamId, id: SegmentId) -> Result<bool, StoreError> {
    tx.contains(&SEGMENTS, &(team, id))
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

/// Returns the segments a contact was added to by hand, oldest segment first. Bounded by the team's
/// segments.
///
/// # Errors
/// [`StoreError`].
pub fn of_contact(tx: &impl Reads, team: TeamId, contact: ContactId) -> Result<Vec<SegmentId>, StoreError> {
    let mut segments = Vec::new();
    let (from, to) = ((team, contact, Id::MIN), (team, contact, Id::MAX));
    tx.scan(&CONTACT_SEGMENTS, &from, &to, Order::Ascending, |(_, _, segment), _| {
        segments.push(segment);
        NEXT
    })?;
    Ok(segments)
}
