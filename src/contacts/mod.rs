//! Contacts: the people a team writes to, and what they opted out of.
//!
//! This module holds the rows and the one read that a send needs: may this address receive mail
//! under this topic?

use serde::{Deserialize, Serialize};

use crate::clock::TimestampMs;
use crate::id::TeamId;
use crate::store::tables::{AddressHash, CONTACT_ADDRESSES, CONTACTS, TOPIC_CHOICES};
use crate::store::{Reads, Row, StoreError};
use crate::topics::{SendTopic, Subscription};

/// A contact on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ContactRow {
    /// The address as it was given; unique in the team without regard to case.
    pub email: String,
    /// Whether the contact opted out of everything that is not transactional.
    pub unsubscribed: bool,
    /// When it was added.
    pub created_ms: TimestampMs,
}
impl Row for ContactRow {}

/// An explicit choice on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TopicChoiceRow {
    /// What was chosen.
    pub subscription: Subscription,
}
impl Row for TopicChoiceRow {}

/// Returns whether the owner of an address receives mail under a topic: not when they opted out
/// of everything; else as they chose; else as the topic's default says, contact or not.
///
/// # Errors
/// [`StoreError`].
pub fn receives_topic(
    tx: &impl Reads,
    team: TeamId,
    address: &AddressHash,
    topic: SendTopic,
) -> Result<bool, StoreError> {
    let by_default = topic.default_subscription == Subscription::OptIn;
    let Some(index) = tx.get(&CONTACT_ADDRESSES, &(team, *address))? else { return Ok(by_default) };
    let Some(contact) = tx.get(&CONTACTS, &(team, index.id))? else { return Ok(by_default) };
    if contact.unsubscribed {
        return Ok(false);
    }
    let choice = tx.get(&TOPIC_CHOICES, &(team, index.id, topic.id))?;
    Ok(choice.map_or(by_default, |choice| choice.subscription == Subscription::OptIn))
}
