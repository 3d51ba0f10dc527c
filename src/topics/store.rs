//! The rows of topics, and the records of deleted topics.

use serde::{Deserialize, Serialize};

use super::model::{SendTopic, Subscription, Topic, TopicVisibility};
use crate::base::clock::{DAY_MS, TimestampMs};
use crate::base::id::{Id, TeamId, TopicId};
use crate::store::{KeyOf, NEXT, Order, Reads, Row, STOP, StoreError, WriteTx, match_keys};
use crate::tables::{DELETED_TOPICS, TOPICS};

/// A topic on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicRow {
    pub name: String,
    /// Text on the preference page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Subscription of a contact without a choice.
    pub default_subscription: Subscription,
    /// Whether the preference page lists it.
    pub visibility: TopicVisibility,
    /// Time of creation.
    pub created_ms: TimestampMs,
}
impl Row for TopicRow {}

impl TopicRow {
    /// Converts the row to a topic.
    pub(super) fn topic(self, id: TopicId) -> Topic {
        let Self { name, description, default_subscription, visibility, created_ms } = self;
        Topic { id, name, description, default_subscription, visibility, created_ms }
    }
}

/// The record of a deleted topic on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletedTopicRow {
    /// Time of the deletion, or of a choice made after the earlier time expired.
    pub deleted_ms: TimestampMs,
}
impl Row for DeletedTopicRow {}

/// Retention of topic choices after the deletion of the topic. An email accepted before the deletion can
/// be scheduled for 30 days later, and delivery is then tried for two days.
const CHOICE_RETENTION_MS: TimestampMs = 40 * DAY_MS;

/// Records that a topic was deleted, or that a contact made a choice about a deleted topic. Retention
/// deletes the choices `CHOICE_RETENTION_MS` after the recorded time.
///
/// An earlier record stays until it expires. An expired record gets the new time, because retention may
/// already have passed the key of the new choice.
pub fn record_deleted(tx: &WriteTx<'_>, team: TeamId, id: TopicId, now_ms: TimestampMs) -> Result<(), StoreError> {
    let recorded = tx.get(&DELETED_TOPICS, &(team, id))?;
    if recorded.is_some_and(|recorded| recorded.deleted_ms >= now_ms - CHOICE_RETENTION_MS) {
        return Ok(());
    }
    tx.put(&DELETED_TOPICS, &(team, id), &DeletedTopicRow { deleted_ms: now_ms })
}

/// A deleted topic whose choices have expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpiredTopic {
    pub id: TopicId,
    /// The record that expired.
    record: DeletedTopicRow,
}

/// Returns one team and up to `max` of its deleted topics whose choices expired before `now_ms`; `None`
/// if no team has any. Reads the records of all deleted topics before them.
pub fn expired(
    tx: &impl Reads,
    now_ms: TimestampMs,
    max: usize,
) -> Result<Option<(TeamId, Vec<ExpiredTopic>)>, StoreError> {
    let mut expired: Option<(TeamId, Vec<ExpiredTopic>)> = None;
    let (from, to) = ((Id::MIN, Id::MIN), (Id::MAX, Id::MAX));
    tx.scan_valid(&DELETED_TOPICS, &from, &to, Order::Ascending, |(team, id), record| {
        if record.deleted_ms >= now_ms - CHOICE_RETENTION_MS {
            return NEXT;
        }
        let (first_team, topics) = expired.get_or_insert_with(|| (team, Vec::new()));
        if *first_team != team || topics.len() == max {
            return STOP;
        }
        topics.push(ExpiredTopic { id, record });
        NEXT
    })?;
    Ok(expired)
}

/// Deletes the records of topics without choices. A record with a new time stays, because a contact made
/// a later choice.
pub fn delete_expired(tx: &WriteTx<'_>, team: TeamId, topics: &[ExpiredTopic]) -> Result<(), StoreError> {
    for ExpiredTopic { id, record } in topics {
        let key = (team, *id);
        if tx.get(&DELETED_TOPICS, &key)?.as_ref() == Some(record) {
            tx.delete(&DELETED_TOPICS, &key)?;
        }
    }
    Ok(())
}

/// Returns the team's topic of that id.
pub fn find(tx: &impl Reads, team: TeamId, id: TopicId) -> Result<Option<Topic>, StoreError> {
    Ok(tx.get(&TOPICS, &(team, id))?.map(|row| row.topic(id)))
}

/// Does the same as [`find`]. A corrupt topic is logged, and returned as `None`.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub fn find_valid(tx: &impl Reads, team: TeamId, id: TopicId) -> Result<Option<Topic>, StoreError> {
    Ok(tx.get_valid(&TOPICS, &(team, id))?.map(|row| row.topic(id)))
}

/// Returns whether the team deleted the topic in the last 24 hours.
pub fn was_listed(tx: &impl Reads, team: TeamId, id: TopicId) -> Result<bool, StoreError> {
    crate::store::was_listed(tx, &TOPICS, &(team, id))
}

/// Returns the part of a topic that a send needs.
pub fn find_for_send(tx: &impl Reads, team: TeamId, id: TopicId) -> Result<Option<SendTopic>, StoreError> {
    Ok(find(tx, team, id)?.map(|topic| topic.for_send()))
}

/// Returns the ids of the topics of the team, also of those whose row is corrupt; at most [`super::TOPICS_MAX`].
pub fn ids(tx: &impl Reads, team: TeamId) -> Result<Vec<TopicId>, StoreError> {
    let topics = match_keys(tx, &TOPICS, (team, Id::MIN), (team, Id::MAX), super::TOPICS_MAX, |_| true)?;
    Ok(topics.hits.into_iter().map(|(_, id)| id).collect())
}

/// Returns the topics of the team, newest first; at most [`super::TOPICS_MAX`].
pub fn all(tx: &impl Reads, team: TeamId) -> Result<Vec<Topic>, StoreError> {
    tx.collect(&TOPICS, KeyOf::bounds(team), Order::Descending, |(_, id), row| Ok(row.valid().map(|row| row.topic(id))))
}
