//! The rows of contacts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::base::clock::TimestampMs;
use crate::base::id::{ContactId, Id, TeamId, TopicId};
use crate::store::{NEXT, Order, Reads, Row, StoreError, WriteTx};
use crate::tables::{AUDIENCES, AddressHash, CONTACT_ADDRESSES, CONTACTS, ContactIdRow, TOPIC_CHOICES};
use crate::topics::Subscription;

/// A contact on disk. When it was added is told by its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContactRow {
    /// The address as it was given; unique in the team without regard to case.
    pub email: String,
    /// The first name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    /// The last name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    /// When the contact first opted out of all marketing email; none while it has not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsubscribed_ms: Option<TimestampMs>,
    /// What the team knows of it, as text by key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, String>,
    /// When it last changed; none while it is as it was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_ms: Option<TimestampMs>,
}
impl Row for ContactRow {}

impl ContactRow {
    /// Returns a contact of whom nothing but the address is known.
    pub fn named(email: String) -> Self {
        Self {
            email,
            first_name: None,
            last_name: None,
            unsubscribed_ms: None,
            properties: BTreeMap::new(),
            updated_ms: None,
        }
    }

    /// Returns whether the contact opted out of all marketing email.
    pub fn unsubscribed(&self) -> bool {
        self.unsubscribed_ms.is_some()
    }
}

/// An explicit choice on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TopicChoiceRow {
    /// What was chosen.
    pub subscription: Subscription,
}
impl Row for TopicChoiceRow {}

/// The contacts of a team as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AudienceRow {
    /// How many there are.
    pub contacts: u64,
    /// Raised by every transaction that changes a contact or whom a segment holds by hand: what was
    /// counted at a revision holds for as long as the revision stands.
    pub revision: u64,
}
impl Row for AudienceRow {}

/// Returns the contact of that id.
///
/// # Errors
/// [`StoreError`].
pub fn find(tx: &impl Reads, team: TeamId, id: ContactId) -> Result<Option<ContactRow>, StoreError> {
    tx.get(&CONTACTS, &(team, id))
}

/// Returns the contact of that address.
///
/// # Errors
/// [`StoreError`].
pub fn find_by_address(
    tx: &impl Reads,
    team: TeamId,
    address: &AddressHash,
) -> Result<Option<(ContactId, ContactRow)>, StoreError> {
    let Some(index) = tx.get(&CONTACT_ADDRESSES, &(team, *address))? else { return Ok(None) };
    Ok(find(tx, team, index.id)?.map(|row| (index.id, row)))
}

/// Returns the explicit choices of a contact, by topic, oldest topic first. Bounded by the topics that
/// the team ever had.
///
/// # Errors
/// [`StoreError`].
pub fn choices_of(
    tx: &impl Reads,
    team: TeamId,
    contact: ContactId,
) -> Result<Vec<(TopicId, Subscription)>, StoreError> {
    let mut choices = Vec::new();
    let (from, to) = ((team, contact, Id::MIN), (team, contact, Id::MAX));
    tx.scan(&TOPIC_CHOICES, &from, &to, Order::Ascending, |(_, _, topic), row| {
        choices.push((topic, row.decode()?.subscription));
        NEXT
    })?;
    Ok(choices)
}

/// Returns how many contacts the team has, and the revision of its audience.
///
/// # Errors
/// [`StoreError`].
pub fn audience(tx: &impl Reads, team: TeamId) -> Result<AudienceRow, StoreError> {
    Ok(tx.get(&AUDIENCES, &(team,))?.unwrap_or_default())
}

/// Writes a contact that was not there, and what it is found by.
///
/// # Errors
/// [`StoreError`].
pub(super) fn insert(
    tx: &WriteTx<'_>,
    team: TeamId,
    id: ContactId,
    address: &AddressHash,
    row: &ContactRow,
) -> Result<(), StoreError> {
    tx.put(&CONTACTS, &(team, id), row)?;
    tx.put(&CONTACT_ADDRESSES, &(team, *address), &ContactIdRow { id })
}

/// Removes a contact with its choices and what it is found by.
///
/// # Errors
/// [`StoreError`].
pub(super) fn remove(tx: &WriteTx<'_>, team: TeamId, id: ContactId, address: &AddressHash) -> Result<(), StoreError> {
    tx.delete(&CONTACTS, &(team, id))?;
    tx.delete(&CONTACT_ADDRESSES, &(team, *address))?;
    let (from, to) = ((team, id, Id::MIN), (team, id, Id::MAX));
    tx.delete_range(&TOPIC_CHOICES, &from, &to, usize::MAX)?;
    Ok(())
}
