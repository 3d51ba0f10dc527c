//! Contacts: the people a team writes to, and what they opted out of.
//!
//! This module holds the rows, the one read that a send needs (may this address receive mail under
//! this topic?), and the opt-out that a recipient asks for.

use serde::{Deserialize, Serialize};

use crate::clock::TimestampMs;
use crate::id::{ContactId, TeamId, TopicId};
use crate::store::tables::{AddressHash, CONTACT_ADDRESSES, CONTACTS, TOPIC_CHOICES};
use crate::store::{Reads, Row, StoreError, WriteTx};
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
    let Some((id, contact)) = find(tx, team, address)? else { return Ok(by_default) };
    if contact.unsubscribed {
        return Ok(false);
    }
    let choice = tx.get(&TOPIC_CHOICES, &(team, id, topic.id))?;
    Ok(choice.map_or(by_default, |choice| choice.subscription == Subscription::OptIn))
}

/// Returns whether a contact with the address has said that it wants nothing under a topic: of the
/// topic, or of everything. The topic's default is nobody's word.
///
/// # Errors
/// [`StoreError`].
pub fn has_opted_out(
    tx: &impl Reads,
    team: TeamId,
    address: &AddressHash,
    topic: TopicId,
) -> Result<bool, StoreError> {
    let Some((id, contact)) = find(tx, team, address)? else { return Ok(false) };
    let choice = tx.get(&TOPIC_CHOICES, &(team, id, topic))?;
    Ok(contact.unsubscribed || choice.is_some_and(|choice| choice.subscription == Subscription::OptOut))
}

/// What came of an opt-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptOut {
    /// The contact's choice is on record.
    Recorded,
    /// The team has no contact with the address; nothing is on record.
    NoContact,
}

/// Records that the owner of an address wants nothing more under a topic. Repeats change nothing.
///
/// # Errors
/// [`StoreError`].
pub fn opt_out_of_topic(
    tx: &WriteTx<'_>,
    team: TeamId,
    address: &AddressHash,
    topic: TopicId,
) -> Result<OptOut, StoreError> {
    let Some((id, _)) = find(tx, team, address)? else { return Ok(OptOut::NoContact) };
    let choice = TopicChoiceRow { subscription: Subscription::OptOut };
    tx.put(&TOPIC_CHOICES, &(team, id, topic), &choice)?;
    Ok(OptOut::Recorded)
}

fn find(
    tx: &impl Reads,
    team: TeamId,
    address: &AddressHash,
) -> Result<Option<(ContactId, ContactRow)>, StoreError> {
    let Some(index) = tx.get(&CONTACT_ADDRESSES, &(team, *address))? else { return Ok(None) };
    Ok(tx.get(&CONTACTS, &(team, index.id))?.map(|row| (index.id, row)))
}
