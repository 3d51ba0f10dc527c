//! The rows of broadcasts, and the index of active broadcasts.

use super::by_domain::delete_domains;
use super::clicked_links::{self, delete_links};
use super::content::delete_content;
use super::rows::{ActiveBroadcastRow, BroadcastRow, BroadcastStatus};
use crate::base::clock::TimestampMs;
use crate::base::id::{BroadcastId, Id, SegmentId, TeamId, TopicId};
use crate::emails::delete_broadcast_outcomes;
use crate::store::{NEXT, Order, Reads, STOP, StoreError, WriteTx};
use crate::tables::{ACTIVE_BROADCASTS, BROADCAST_COUNTS, BROADCAST_FAN_OUTS, BROADCASTS, PENDING_BROADCAST_INSIGHTS};

/// Number of broadcasts of a removed team that one commit deletes: each has at most some tens of chunks.
const DELETED_PER_COMMIT: usize = 8;
/// Rows of the index of emails that one commit deletes with the broadcasts of a removed team.
const OUTCOMES_PER_COMMIT: usize = 1_000;

/// Returns the team's broadcast of that id.
///
/// # Errors
/// [`StoreError`].
pub fn find(tx: &impl Reads, team: TeamId, id: BroadcastId) -> Result<Option<BroadcastRow>, StoreError> {
    tx.get(&BROADCASTS, &(team, id))
}

/// Stores a broadcast, and its row in the index of active broadcasts. Records the start for `insights`. Every change of a
/// status uses this function, so that a segment or topic can be deleted when no broadcast needs it any more.
///
/// # Errors
/// [`StoreError`].
pub fn put(tx: &WriteTx<'_>, team: TeamId, id: BroadcastId, row: &BroadcastRow) -> Result<(), StoreError> {
    tx.put(&BROADCASTS, &(team, id), row)?;
    if row.status == BroadcastStatus::Queued && !tx.contains(&PENDING_BROADCAST_INSIGHTS, &(team, id))? {
        tx.put(&PENDING_BROADCAST_INSIGHTS, &(team, id), &())?;
    }
    if !row.status.is_active() {
        tx.delete(&ACTIVE_BROADCASTS, &(team, id))?;
        return Ok(());
    }
    let BroadcastRow { segment, topic, status, .. } = *row;
    let active = ActiveBroadcastRow { segment, topic, is_started: status.is_started() };
    if tx.get(&ACTIVE_BROADCASTS, &(team, id))? != Some(active) {
        tx.put(&ACTIVE_BROADCASTS, &(team, id), &active)?;
    }
    Ok(())
}

/// Returns whether a draft, scheduled or queued broadcast is addressed to the segment. Reads up to
/// [`super::ACTIVE_MAX`] small rows.
///
/// # Errors
/// [`StoreError`].
pub fn uses_segment(tx: &impl Reads, team: TeamId, segment: SegmentId) -> Result<bool, StoreError> {
    any_active(tx, team, |row| row.segment == Some(segment))
}

/// As [`uses_segment`], for a topic.
///
/// # Errors
/// [`StoreError`].
pub fn uses_topic(tx: &impl Reads, team: TeamId, topic: TopicId) -> Result<bool, StoreError> {
    any_active(tx, team, |row| row.topic == Some(topic))
}

/// Returns whether a broadcast of the team is scheduled or queued.
///
/// # Errors
/// [`StoreError`].
pub fn has_started(tx: &impl Reads, team: TeamId) -> Result<bool, StoreError> {
    any_active(tx, team, |row| row.is_started)
}

/// Returns the broadcasts of a team that are scheduled or queued.
///
/// # Errors
/// [`StoreError`].
pub(super) fn started(tx: &impl Reads, team: TeamId) -> Result<Vec<BroadcastId>, StoreError> {
    let mut started = Vec::new();
    tx.scan_valid(&ACTIVE_BROADCASTS, &(team, Id::MIN), &(team, Id::MAX), Order::Ascending, |(_, id), row| {
        if row.is_started {
            started.push(id);
        }
        NEXT
    })?;
    Ok(started)
}

fn any_active(
    tx: &impl Reads,
    team: TeamId,
    is_found: impl Fn(&ActiveBroadcastRow) -> bool,
) -> Result<bool, StoreError> {
    let mut found = false;
    tx.scan(&ACTIVE_BROADCASTS, &(team, Id::MIN), &(team, Id::MAX), Order::Ascending, |_, row| {
        found = is_found(&row.decode()?);
        if found { STOP } else { NEXT }
    })?;
    Ok(found)
}

/// Returns whether the team has a broadcast with a higher id.
///
/// # Errors
/// [`StoreError`].
pub(super) fn has_newer(tx: &impl Reads, team: TeamId, id: BroadcastId) -> Result<bool, StoreError> {
    let mut newest = None;
    tx.scan(&BROADCASTS, &(team, id), &(team, Id::MAX), Order::Descending, |(_, other), _| {
        newest = Some(other);
        STOP
    })?;
    Ok(newest.is_some_and(|newest| newest > id))
}

/// Deletes a draft with its content.
///
/// # Errors
/// [`StoreError`].
pub(super) fn delete_draft(
    tx: &WriteTx<'_>,
    team: TeamId,
    id: BroadcastId,
    now_ms: TimestampMs,
) -> Result<(), StoreError> {
    tx.delete_listed(&BROADCASTS, &(team, id), now_ms)?;
    tx.delete(&ACTIVE_BROADCASTS, &(team, id))?;
    delete_content(tx, id)?;
    Ok(())
}

/// Deletes up to [`DELETED_PER_COMMIT`] broadcasts of a removed team with their content, counts, domains, links and
/// positions; returns their number. Ends after [`clicked_links::LINKS_MAX`] links and domains, of which one broadcast can
/// have about 2,000. A broadcast with more index rows of emails than [`OUTCOMES_PER_COMMIT`] counts, but is in the next page
/// again.
///
/// # Errors
/// [`StoreError`].
pub fn delete_page_of_team(tx: &WriteTx<'_>, team: TeamId) -> Result<usize, StoreError> {
    let mut page: Vec<BroadcastId> = Vec::with_capacity(DELETED_PER_COMMIT);
    tx.scan(&BROADCASTS, &(team, Id::MIN), &(team, Id::MAX), Order::Ascending, |(_, id), _| {
        page.push(id);
        if page.len() == DELETED_PER_COMMIT { STOP } else { NEXT }
    })?;
    let (mut deleted, mut rows, mut outcomes_left) = (0, 0, OUTCOMES_PER_COMMIT);
    for id in page {
        outcomes_left -= delete_broadcast_outcomes(tx, id, outcomes_left)?;
        if outcomes_left == 0 {
            return Ok(deleted + 1);
        }
        delete_content(tx, id)?;
        tx.delete(&BROADCAST_COUNTS, &(id,))?;
        tx.delete(&BROADCAST_FAN_OUTS, &(id,))?;
        tx.delete(&ACTIVE_BROADCASTS, &(team, id))?;
        tx.delete(&BROADCASTS, &(team, id))?;
        rows += delete_links(tx, id)? + delete_domains(tx, id)?;
        deleted += 1;
        if rows >= clicked_links::LINKS_MAX {
            break;
        }
    }
    Ok(deleted)
}
