//! The rows of topics, and the reads that sends and contacts make.

use serde::{Deserialize, Serialize};

use super::model::{SendTopic, Subscription, Topic, Visibility};
use crate::clock::TimestampMs;
use crate::id::{Id, TeamId, TopicId};
use crate::store::tables::{DELETED_TOPICS, TOPICS};
use crate::store::{NEXT, Order, Reads, Row, STOP, StoreError, WriteTx};

/// A topic on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicRow {
    /// Its name.
    pub name: String,
    /// What the preference page says of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What holds for everyone who never chose.
    pub default_subscription: Subscription,
    /// Whether the preference page lists it.
    pub visibility: Visibility,
    /// When it was made.
    pub created_ms: TimestampMs,
}
impl Row for TopicRow {}

impl TopicRow {
    /// Returns the topic as the use cases see it.
    pub(super) fn topic(self, id: TopicId) -> Topic {
        let Self { name, description, default_subscription, visibility, created_ms } = self;
        Topic { id, name, description, default_subscription, visibility, created_ms }
    }
}

/// A topic that was deleted, on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletedTopicRow {
    /// When.
    pub deleted_ms: TimestampMs,
}
impl Row for DeletedTopicRow {}

/// Notes that a choice is made about a deleted topic, so that it is forgotten in time. The first note
/// counts.
///
/// # Errors
/// [`StoreError`].
pub fn note_deleted(tx: &WriteTx<'_>, team: TeamId, id: TopicId, now_ms: TimestampMs) -> Result<(), StoreError> {
    if tx.contains(&DELETED_TOPICS, &(team, id))? {
        return Ok(());
    }
    tx.put(&DELETED_TOPICS, &(team, id), &DeletedTopicRow { deleted_ms: now_ms })
}

/// Returns the topics of one team, up to `max`, that were deleted before `before_ms` and are still
/// noted; none when there are none of any team.
///
/// # Errors
/// [`StoreError`].
pub fn deleted_before(
    tx: &impl Reads,
    before_ms: TimestampMs,
    max: usize,
) -> Result<Option<(TeamId, Vec<TopicId>)>, StoreError> {
    let mut deleted: Option<(TeamId, Vec<TopicId>)> = None;
    let (from, to) = ((Id::MIN, Id::MIN), (Id::MAX, Id::MAX));
    tx.scan(&DELETED_TOPICS, &from, &to, Order::Ascending, |(team, id), row| {
        if row.decode()?.deleted_ms >= before_ms {
            return NEXT;
        }
        let (of, topics) = deleted.get_or_insert_with(|| (team, Vec::new()));
        if *of != team || topics.len() == max {
            return STOP;
        }
        topics.push(id);
        NEXT
    })?;
    Ok(deleted)
}

/// Forgets that topics were deleted: nothing is left that is about them.
///
/// # Errors
/// [`StoreError`].
pub fn forget_deleted(tx: &WriteTx<'_>, team: TeamId, topics: &[TopicId]) -> Result<(), StoreError> {
    topics.iter().try_for_each(|id| tx.delete(&DELETED_TOPICS, &(team, *id)).map(|_| ()))
}

/// Returns the team's topic of that id.
///
/// # Errors
/// [`StoreError`].
pub fn find(tx: &impl Reads, team: TeamId, id: TopicId) -> Result<Option<Topic>, StoreError> {
    Ok(tx.get(&TOPICS, &(team, id))?.map(|row| row.topic(id)))
}

/// Returns what a send needs of the team's topic.
///
/// # Errors
/// [`StoreError`].
pub fn find_for_send(tx: &impl Reads, team: TeamId, id: TopicId) -> Result<Option<SendTopic>, StoreError> {
    Ok(find(tx, team, id)?.map(|topic| topic.for_send()))
}

/// Returns every topic of the team, newest first, as lists show them; at most [`super::TOPICS_MAX`].
///
/// # Errors
/// [`StoreError`].
pub fn all(tx: &impl Reads, team: TeamId) -> Result<Vec<Topic>, StoreError> {
    let mut topics = Vec::new();
    tx.scan(&TOPICS, &(team, Id::MIN), &(team, Id::MAX), Order::Descending, |(_, id), row| {
        topics.push(row.decode()?.topic(id));
        NEXT
    })?;
    Ok(topics)
}
