//! The rows of contact properties.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::definitions::{PropertyDefinition, PropertyDefinitions};
use super::model::{ContactProperty, PropertyKind};
use crate::base::clock::TimestampMs;
use crate::base::id::{ContactPropertyId, TeamId};
use crate::store::{KeyOf, Order, Reads, Row, StoreError, WriteTx};
use crate::tables::{CONTACT_PROPERTIES, CONTACT_PROPERTY_KEYS, ContactPropertyIdRow};

/// A contact property on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContactPropertyRow {
    /// Key in the given letter case.
    pub key: String,
    /// Type of the values.
    pub kind: PropertyKind,
    /// Value of a contact without one, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// Time of creation.
    pub created_ms: TimestampMs,
}
impl Row for ContactPropertyRow {}

impl ContactPropertyRow {
    /// Converts the row to a property.
    pub(super) fn property(self, id: ContactPropertyId) -> ContactProperty {
        let Self { key, kind, fallback, created_ms } = self;
        ContactProperty { id, key, kind, fallback, created_ms }
    }
}

/// Returns the hash of a key in lower case, which is the key of the index.
fn key_hash(key: &str) -> [u8; 32] {
    Sha256::digest(key.to_ascii_lowercase().as_bytes()).into()
}

/// Returns the definitions of the team. Reads at most [`super::PROPERTIES_MAX`] small rows.
pub fn definitions(tx: &impl Reads, team: TeamId) -> Result<PropertyDefinitions, StoreError> {
    let definitions = tx.collect(&CONTACT_PROPERTIES, KeyOf::bounds(team), Order::Ascending, |_, row| {
        let ContactPropertyRow { key, kind, fallback, created_ms: _ } = row.decode()?;
        Ok(Some((key, PropertyDefinition { kind, fallback })))
    })?;
    Ok(definitions.into_iter().collect())
}

/// Returns whether the team has a property of that key, in any letter case.
pub(super) fn is_taken(tx: &impl Reads, team: TeamId, key: &str) -> Result<bool, StoreError> {
    tx.contains(&CONTACT_PROPERTY_KEYS, &(team, key_hash(key)))
}

/// Writes a property and its index row.
pub(super) fn put(
    tx: &WriteTx<'_>,
    team: TeamId,
    id: ContactPropertyId,
    row: &ContactPropertyRow,
) -> Result<(), StoreError> {
    tx.put(&CONTACT_PROPERTIES, &(team, id), row)?;
    tx.put(&CONTACT_PROPERTY_KEYS, &(team, key_hash(&row.key)), &ContactPropertyIdRow { id })
}

/// Deletes a property and its index row.
pub(super) fn remove(
    tx: &WriteTx<'_>,
    team: TeamId,
    id: ContactPropertyId,
    row: &ContactPropertyRow,
    now_ms: TimestampMs,
) -> Result<(), StoreError> {
    tx.delete(&CONTACT_PROPERTY_KEYS, &(team, key_hash(&row.key)))?;
    tx.delete_listed(&CONTACT_PROPERTIES, &(team, id), now_ms)?;
    Ok(())
}
