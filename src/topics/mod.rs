//! Topics: what a recipient can opt out of, one by one.
//!
//! A topic's default decides for everyone who never chose. This module holds the rows and the
//! reads that a send needs.

use serde::{Deserialize, Serialize};

use crate::clock::TimestampMs;
use crate::id::TopicId;
use crate::store::Row;

/// Whether a recipient receives what is sent under a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subscription {
    /// Receives it.
    OptIn,
    /// Does not.
    OptOut,
}

/// Whether the preference page lists a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Listed.
    Public,
    /// Not listed.
    Private,
}

/// A topic on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
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

/// A topic as a send needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendTopic {
    /// Its id.
    pub id: TopicId,
    /// What holds for everyone who never chose.
    pub default_subscription: Subscription,
}

/// Returns what a send needs of the team's topic.
///
/// # Errors
/// [`crate::store::StoreError`].
pub fn find_for_send(
    tx: &impl crate::store::Reads,
    team: crate::id::TeamId,
    id: TopicId,
) -> Result<Option<SendTopic>, crate::store::StoreError> {
    let row = tx.get(&crate::store::tables::TOPICS, &(team, id))?;
    Ok(row.map(|row| SendTopic { id, default_subscription: row.default_subscription }))
}

/// Returns the team's topic of that id.
///
/// # Errors
/// [`crate::store::StoreError`].
pub fn find(
    tx: &impl crate::store::Reads,
    team: crate::id::TeamId,
    id: TopicId,
) -> Result<Option<TopicRow>, crate::store::StoreError> {
    tx.get(&crate::store::tables::TOPICS, &(team, id))
}
