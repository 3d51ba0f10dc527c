//! The rows of topics, and the reads that sends and contacts make.

use serde::{Deserialize, Serialize};

use super::model::{SendTopic, Subscription, Topic, Visibility};
use crate::base::clock::{DAY_MS, TimestampMs};
use crate::base::id::{Id, TeamId, TopicId};
use crate::store::{NEXT, Order, Reads, Row, STOP, StoreError, WriteTx};
use crate::tables::{DELETED_TOPICS, TOPICS};

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

/// How long choices outlive their topic: mail that was accepted before may wait for 30 days and is
/// then tried for two.
const CHOICES_KEPT_MS: TimestampMs = 40 * DAY_MS;

/// Notes that a topic was deleted, or that a choice is made about a deleted one, so that choices are
/// forgotten in time. The first note counts until they are: after that the sweep may have passed the
/// place of this one.
///
/// # Errors
/// [`StoreError`].
pub fn note_deleted(tx: &WriteTx<'_>, team: TeamId, id: TopicId, now_ms: TimestampMs) -> Result<(), StoreError> {
    let noted = tx.get(&DELETED_TOPICS, &(team, id))?;
    if noted.is_some_and(|noted| noted.deleted_ms >= now_ms - CHOICES_KEPT_MS) {
        return Ok(());
    }
    tx.put(&DELETED_TOPICS, &(team, id), &DeletedTopicRow { deleted_ms: now_ms })
}

/// A topic about which choices are kept no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForgottenTopic {
    /// Its id.
    pub id: TopicId,
    /// What its note says.
    noted: DeletedTopicRow,
}

/// Returns the topics of one team, up to `max`, that are noted as deleted and whose choices are kept no
/// longer at `now_ms`; none when there are none of any team.
///
/// # Errors
/// [`StoreError`].
pub fn forgotten(
    tx: &impl Reads,
    now_ms: TimestampMs,
    max: usize,
) -> Result<Option<(TeamId, Vec<ForgottenTopic>)>, StoreError> {
    let mut forgotten: Option<(TeamId, Vec<ForgottenTopic>)> = None;
    let (from, to) = ((Id::MIN, Id::MIN), (Id::MAX, Id::MAX));
    tx.scan(&DELETED_TOPICS, &from, &to, Order::Ascending, |(team, id), row| {
        let noted: DeletedTopicRow = row.decode()?;
        if noted.deleted_ms >= now_ms - CHOICES_KEPT_MS {
            return NEXT;
        }
        let (of, topics) = forgotten.get_or_insert_with(|| (team, Vec::new()));
        if *of != team || topics.len() == max {
            return STOP;
        }
        topics.push(ForgottenTopic { id, noted });
        NEXT
    })?;
    Ok(forgotten)
}

/// Removes the notes of topics about which nothing is left. One that has been renewed since it was read
/// stays: there is a later choice.
///
/// # Errors
/// [`StoreError`].
pub fn forget_deleted(tx: &WriteTx<'_>, team: TeamId, topics: &[ForgottenTopic]) -> Result<(), StoreError> {
    for ForgottenTopic { id, noted } in topics {
        let key = (team, *id);
        if tx.get(&DELETED_TOPICS, &key)?.as_ref() == Some(noted) {
            tx.delete(&DELETED_TOPICS, &key)?;
        }
    }
    Ok(())
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
