//! The rows of topics, and the reads that sends and contacts make.

use serde::{Deserialize, Serialize};

use super::model::{SendTopic, Subscription, Topic, Visibility};
use crate::clock::TimestampMs;
use crate::id::{Id, TeamId, TopicId};
use crate::store::tables::TOPICS;
use crate::store::{NEXT, Order, Reads, Row, StoreError};

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
