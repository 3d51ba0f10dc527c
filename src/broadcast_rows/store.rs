//! The rows of broadcasts, and the index of active broadcasts.

use super::by_domain::delete_domains;
use super::clicked_links::delete_links;
use super::content::delete_content;
use super::rows::{ActiveBroadcastRow, BroadcastRow, BroadcastStatus};
use crate::base::clock::TimestampMs;
use crate::base::id::{BroadcastId, Id, SegmentId, TeamId, TopicId};
use crate::store::page::{self, Page, PageError, PageQuery, page};
use crate::store::{KeyOf, NEXT, Order, Reads, STOP, StoreError, WriteTx, match_keys};
use crate::tables::{ACTIVE_BROADCASTS, BROADCAST_COUNTS, BROADCASTS, PENDING_BROADCAST_INSIGHTS};

/// Maximum number of drafts, scheduled and queued broadcasts of a team.
pub const ACTIVE_MAX: usize = 1_000;

/// Returns the team's broadcast of that id.
pub fn find(tx: &impl Reads, team: TeamId, id: BroadcastId) -> Result<Option<BroadcastRow>, StoreError> {
    tx.get(&BROADCASTS, &(team, id))
}

/// Does the same as [`find`]. A corrupt row is logged, and returned as `None`.
pub(crate) fn find_valid(tx: &impl Reads, team: TeamId, id: BroadcastId) -> Result<Option<BroadcastRow>, StoreError> {
    tx.get_valid(&BROADCASTS, &(team, id))
}

/// Returns whether the team has a broadcast of that id, also if its row is corrupt.
pub(crate) fn exists(tx: &impl Reads, team: TeamId, id: BroadcastId) -> Result<bool, StoreError> {
    tx.contains(&BROADCASTS, &(team, id))
}

/// Returns a page of the team's broadcasts, newest first. `complete` adds the other data of each.
pub(crate) fn list<T>(
    tx: &impl Reads,
    team: TeamId,
    query: PageQuery<BroadcastId>,
    complete: impl Fn(BroadcastId, BroadcastRow) -> Result<T, StoreError>,
) -> Result<Page<T>, PageError> {
    page(tx, &BROADCASTS, team, query, |id, row| complete(id, row).map(Some))
}

/// Returns whether the team has [`ACTIVE_MAX`] drafts, scheduled and queued broadcasts.
pub(crate) fn is_full(tx: &impl Reads, team: TeamId) -> Result<bool, StoreError> {
    page::is_full(tx, &ACTIVE_BROADCASTS, team, ACTIVE_MAX)
}

/// Stores a broadcast, and its row in the index of active broadcasts. Records the start for `insights`. Every change of a
/// status uses this function, so that a segment or topic can be deleted when no broadcast needs it any more.
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
/// [`ACTIVE_MAX`] small rows.
pub fn uses_segment(tx: &impl Reads, team: TeamId, segment: SegmentId) -> Result<bool, StoreError> {
    any_active(tx, team, |row| row.segment == Some(segment))
}

/// Does the same as [`uses_segment`], for a topic.
pub fn uses_topic(tx: &impl Reads, team: TeamId, topic: TopicId) -> Result<bool, StoreError> {
    any_active(tx, team, |row| row.topic == Some(topic))
}

/// Returns whether a broadcast of the team is scheduled or queued.
pub fn has_started(tx: &impl Reads, team: TeamId) -> Result<bool, StoreError> {
    any_active(tx, team, |row| row.is_started)
}

/// Returns the broadcasts of a team that are scheduled or queued.
pub(crate) fn started(tx: &impl Reads, team: TeamId) -> Result<Vec<BroadcastId>, StoreError> {
    tx.collect(&ACTIVE_BROADCASTS, KeyOf::bounds(team), Order::Ascending, |(_, id), row| {
        Ok(row.valid().is_some_and(|row| row.is_started).then_some(id))
    })
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
pub(crate) fn has_newer(tx: &impl Reads, team: TeamId, id: BroadcastId) -> Result<bool, StoreError> {
    let newest = tx.first_key(&BROADCASTS, ((team, id), (team, Id::MAX)), Order::Descending)?;
    Ok(newest.is_some_and(|(_, newest)| newest > id))
}

/// Deletes a draft with its content.
pub(crate) fn delete_draft(
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

/// Returns the first broadcasts of a team, at most `ids_max`.
pub(crate) fn ids(tx: &impl Reads, team: TeamId, ids_max: usize) -> Result<Vec<BroadcastId>, StoreError> {
    Ok(match_keys(tx, &BROADCASTS, (team, Id::MIN), (team, Id::MAX), ids_max, |_| true)?.map(|(_, id)| id).hits)
}

/// Deletes a broadcast of a removed team with its content, counts, domains and links. Returns the number of its domains and
/// links, which is at most about 2,000.
pub(crate) fn delete(tx: &WriteTx<'_>, team: TeamId, id: BroadcastId) -> Result<usize, StoreError> {
    delete_content(tx, id)?;
    tx.delete(&BROADCAST_COUNTS, &(id,))?;
    tx.delete(&ACTIVE_BROADCASTS, &(team, id))?;
    tx.delete(&BROADCASTS, &(team, id))?;
    Ok(delete_links(tx, id)? + delete_domains(tx, id)?)
}
