//! The rows of contacts, topic choices and audiences.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::base::address::EmailAddress;
use crate::base::clock::TimestampMs;
use crate::base::id::{ContactId, Id, TeamId, TopicId};
use crate::store::{KeyOf, Order, Reads, Row, StoreError, WriteTx};
use crate::tables::{AUDIENCES, AddressHash, CONTACT_ADDRESSES, CONTACTS, ContactIdRow, TOPIC_CHOICES};
use crate::topics::Subscription;

/// A contact on disk. Its id contains its creation time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContactRow {
    /// Address in its original case. Unique in the team, ignoring case.
    #[serde(deserialize_with = "stored_address")]
    pub email: EmailAddress,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    /// Time of the first opt-out of all marketing email; `None` if the contact has not opted out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsubscribed_ms: Option<TimestampMs>,
    /// Property values as text, by key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, String>,
    /// Keys of `properties` whose last value was a JSON number. Used only while the key has no definition.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub numbers: BTreeSet<String>,
    /// Time of the last change; `None` if the contact has not changed since its creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_ms: Option<TimestampMs>,
}
impl Row for ContactRow {}

fn stored_address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<EmailAddress, D::Error> {
    let text = String::deserialize(deserializer)?;
    EmailAddress::from_stored(&text).ok_or_else(|| de::Error::custom("not an address"))
}

impl ContactRow {
    /// Returns a contact with an address and no other fields.
    pub fn new(email: EmailAddress) -> Self {
        Self {
            email,
            first_name: None,
            last_name: None,
            unsubscribed_ms: None,
            properties: BTreeMap::new(),
            numbers: BTreeSet::new(),
            updated_ms: None,
        }
    }

    /// Returns whether the contact opted out of all marketing email.
    pub fn unsubscribed(&self) -> bool {
        self.unsubscribed_ms.is_some()
    }
}

/// A topic choice on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TopicChoiceRow {
    pub subscription: Subscription,
}
impl Row for TopicChoiceRow {}

/// Counters over all contacts of a team.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AudienceRow {
    /// Number of contacts.
    pub contacts: u64,
    /// Audience revision. Each transaction that changes a contact or a membership increments it. Cached
    /// counts of segments are valid for one revision.
    pub revision: u64,
}
impl Row for AudienceRow {}

/// Returns the contact with this id.
pub fn find(tx: &impl Reads, team: TeamId, id: ContactId) -> Result<Option<ContactRow>, StoreError> {
    tx.get(&CONTACTS, &(team, id))
}

/// Does the same as [`find`]. A corrupt contact is logged, and returned as `None`.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub fn find_valid(tx: &impl Reads, team: TeamId, id: ContactId) -> Result<Option<ContactRow>, StoreError> {
    tx.get_valid(&CONTACTS, &(team, id))
}

/// Returns the id of the newest contact of the team.
pub fn newest(tx: &impl Reads, team: TeamId) -> Result<Option<ContactId>, StoreError> {
    Ok(tx.first_key(&CONTACTS, KeyOf::bounds(team), Order::Descending)?.map(|(_, id)| id))
}

/// Returns whether the team deleted the contact in the last 24 hours.
pub fn was_listed(tx: &impl Reads, team: TeamId, id: ContactId) -> Result<bool, StoreError> {
    crate::store::was_listed(tx, &CONTACTS, &(team, id))
}

/// Returns the contact with this address.
pub fn find_by_address(
    tx: &impl Reads,
    team: TeamId,
    address: &AddressHash,
) -> Result<Option<(ContactId, ContactRow)>, StoreError> {
    let Some(index) = tx.get(&CONTACT_ADDRESSES, &(team, *address))? else { return Ok(None) };
    Ok(find(tx, team, index.id)?.map(|row| (index.id, row)))
}

/// Returns the topic choices of a contact, oldest topic first. Includes choices for deleted topics, so
/// the number is bounded only by the topics that the team ever had.
pub fn choices_of(
    tx: &impl Reads,
    team: TeamId,
    contact: ContactId,
) -> Result<Vec<(TopicId, Subscription)>, StoreError> {
    let of_contact = ((team, contact, Id::MIN), (team, contact, Id::MAX));
    tx.collect(&TOPIC_CHOICES, of_contact, Order::Ascending, |(_, _, topic), row| {
        Ok(Some((topic, row.decode()?.subscription)))
    })
}

/// Returns the number of contacts of the team and its audience revision.
pub fn audience(tx: &impl Reads, team: TeamId) -> Result<AudienceRow, StoreError> {
    Ok(tx.get(&AUDIENCES, &(team,))?.unwrap_or_default())
}

/// Inserts a new contact and its address index row.
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

/// Deletes a contact, its address index row and its topic choices.
pub(super) fn remove(
    tx: &WriteTx<'_>,
    team: TeamId,
    id: ContactId,
    address: &AddressHash,
    now_ms: TimestampMs,
) -> Result<(), StoreError> {
    tx.delete_listed(&CONTACTS, &(team, id), now_ms)?;
    tx.delete(&CONTACT_ADDRESSES, &(team, *address))?;
    let (from, to) = ((team, id, Id::MIN), (team, id, Id::MAX));
    tx.delete_range(&TOPIC_CHOICES, &from, &to, usize::MAX)?;
    Ok(())
}
