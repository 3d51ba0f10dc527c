//! Event messages: the body of each webhook request for an event.

use serde::{Deserialize, Serialize};

use super::types::EventType;
use crate::base::clock::TimestampMs;
use crate::base::id::{EventId, TeamId};
use crate::store::{Reads, Row, StoreError, WriteTx};
use crate::tables::EVENT_MESSAGES;

/// Event message on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageRow {
    pub event_type: EventType,
    /// Time of the event.
    pub at_ms: TimestampMs,
    /// Body of each webhook request for the event.
    pub body: String,
    /// Whether the event was retracted after its fan-out. A delivery without an attempt is then deleted instead of sent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_retracted: bool,
}
impl Row for MessageRow {}

impl MessageRow {
    /// Returns the message of an event that is not retracted.
    pub fn new(event_type: EventType, at_ms: TimestampMs, body: String) -> Self {
        Self { event_type, at_ms, body, is_retracted: false }
    }
}

/// Returns the event message; `None` if retention has deleted it.
pub fn message(tx: &impl Reads, team: TeamId, event: EventId) -> Result<Option<MessageRow>, StoreError> {
    tx.get(&EVENT_MESSAGES, &(team, event))
}

/// Does the same as [`message`]. A corrupt message is logged, and returned as `None`.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub fn valid_message(tx: &impl Reads, team: TeamId, event: EventId) -> Result<Option<MessageRow>, StoreError> {
    tx.get_valid(&EVENT_MESSAGES, &(team, event))
}

/// Stores an event message. The caller queues its deliveries in the same transaction.
pub fn put_message(tx: &WriteTx<'_>, team: TeamId, event: EventId, message: &MessageRow) -> Result<(), StoreError> {
    tx.put(&EVENT_MESSAGES, &(team, event), message)
}
