//! Validation of a write against the store. Segments and topics must exist, and values must have the type of their
//! property. The properties of a contact are bounded in number and bytes.

use std::collections::{BTreeMap, HashMap};

use super::model::{CONTACT_PROPERTIES_MAX, ContactChanges, PROPERTIES_BYTES_MAX, PropertyChange};
use super::store::ContactRow;
use crate::base::id::{SegmentId, TeamId, TopicId};
use crate::contact_properties::PropertyDefinitions;
use crate::segments;
use crate::store::{Reads, StoreError};
use crate::topics;

/// Maximum number of characters of a property key in an error message.
const KEY_EXCERPT_CHARS: usize = 60;

/// Returns the start of a property key, without control characters, for an error message.
pub(super) fn key_excerpt(key: &str) -> String {
    key.chars().filter(|c| !c.is_control()).take(KEY_EXCERPT_CHARS).collect()
}

/// Reason why the store rejects a contact or its changes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ItemError {
    #[error("A contact with this email exists already.")]
    Exists,
    /// The item with this index, which is earlier in the batch, has the same address.
    #[error("The email repeats that of item {0} of the batch.")]
    Repeats(usize),
    #[error("Segment not found")]
    SegmentNotFound(SegmentId),
    #[error("Topic not found")]
    TopicNotFound(TopicId),
    #[error("Invalid `properties.{}` field: the property is a number; give a number or null.", key_excerpt(.0))]
    NotANumber(String),
    #[error(
        "Invalid `properties` field: with these the contact would have more than {CONTACT_PROPERTIES_MAX}. Null \
         removes one."
    )]
    TooManyProperties,
    #[error(
        "Invalid `properties` field: with these the contact's properties would have more than {} KiB, keys and \
         values together. Shorten some, or remove one with null.",
        PROPERTIES_BYTES_MAX >> 10
    )]
    PropertiesTooLong,
}

/// Checks the segments and topics that writes refer to. Reads each one from the store once.
pub(super) struct ReferenceCache {
    team: TeamId,
    segments: HashMap<SegmentId, bool>,
    topics: HashMap<TopicId, bool>,
}

impl ReferenceCache {
    pub(super) fn new(team: TeamId) -> Self {
        Self { team, segments: HashMap::new(), topics: HashMap::new() }
    }

    /// Returns the first reason why the store rejects the changes; `None` if it accepts them. Does not
    /// check the size of the properties.
    pub(super) fn check(
        &mut self,
        tx: &impl Reads,
        definitions: &PropertyDefinitions,
        changes: &ContactChanges,
    ) -> Result<Option<ItemError>, StoreError> {
        for segment in &changes.segments {
            if !self.has_segment(tx, *segment)? {
                return Ok(Some(ItemError::SegmentNotFound(*segment)));
            }
        }
        for (topic, _) in &changes.topics {
            if !self.has_topic(tx, *topic)? {
                return Ok(Some(ItemError::TopicNotFound(*topic)));
            }
        }
        for (key, change) in &changes.properties {
            if let Some(text) = change.text()
                && !definitions.allows(key, text)
            {
                return Ok(Some(ItemError::NotANumber(key.clone())));
            }
        }
        Ok(None)
    }

    fn has_segment(&mut self, tx: &impl Reads, id: SegmentId) -> Result<bool, StoreError> {
        if let Some(exists) = self.segments.get(&id) {
            return Ok(*exists);
        }
        let exists = segments::exists(tx, self.team, id)?;
        self.segments.insert(id, exists);
        Ok(exists)
    }

    fn has_topic(&mut self, tx: &impl Reads, id: TopicId) -> Result<bool, StoreError> {
        if let Some(exists) = self.topics.get(&id) {
            return Ok(*exists);
        }
        let exists = topics::find(tx, self.team, id)?.is_some();
        self.topics.insert(id, exists);
        Ok(exists)
    }
}

/// Returns the changes with each property key in the letter case of its definition; `None` if they need
/// no normalization. The returned changes also remove `stored` values of the same property under another
/// letter case. Without this, a contact could have two values of one property.
pub(super) fn normalize_keys<V>(
    definitions: &PropertyDefinitions,
    stored: &BTreeMap<String, V>,
    changes: &ContactChanges,
) -> Option<ContactChanges> {
    let is_normal = |(key, _): &(String, PropertyChange)| {
        definitions
            .spelling(key)
            .is_none_or(|spelling| spelling == key && other_spellings(stored, spelling).next().is_none())
    };
    if changes.properties.iter().all(is_normal) {
        return None;
    }
    let mut properties = Vec::with_capacity(changes.properties.len());
    for (key, change) in &changes.properties {
        let key = definitions.spelling(key).unwrap_or(key);
        if definitions.spelling(key).is_some() {
            properties.extend(other_spellings(stored, key).map(|other| (other.clone(), PropertyChange::Remove)));
        }
        properties.push((key.to_owned(), change.clone()));
    }
    Some(ContactChanges { properties, ..changes.clone() })
}

fn other_spellings<'s, V>(stored: &'s BTreeMap<String, V>, spelling: &str) -> impl Iterator<Item = &'s String> {
    stored.keys().filter(move |key| *key != spelling && key.eq_ignore_ascii_case(spelling))
}

/// The size in bytes of each property that a contact has after a write. A contact has at most
/// [`CONTACT_PROPERTIES_MAX`] properties with [`PROPERTIES_BYTES_MAX`] together.
pub(super) struct PropertySizes(BTreeMap<String, usize>);

impl PropertySizes {
    /// Checks that a contact has neither too many nor too large properties after a write. `row` is the
    /// stored contact, if there is one.
    ///
    /// # Errors
    /// [`ItemError::TooManyProperties`] or [`ItemError::PropertiesTooLong`].
    pub(super) fn check(
        definitions: &PropertyDefinitions,
        row: Option<&ContactRow>,
        changes: &ContactChanges,
    ) -> Result<(), ItemError> {
        let stored = row.map(|row| &row.properties);
        let count = stored.map_or(0, BTreeMap::len) + changes.properties.len();
        let stored_bytes = stored.into_iter().flatten().map(|(key, text)| key.len() + text.len()).sum::<usize>();
        let changed_bytes = changes.properties.iter().map(|(key, change)| size(key, change)).sum::<usize>();
        // Most writes stay below the limits even if no key is replaced. They need no exact sizes.
        if count <= CONTACT_PROPERTIES_MAX && stored_bytes + changed_bytes <= PROPERTIES_BYTES_MAX {
            return Ok(());
        }
        Self::of(row).change(definitions, changes)
    }

    /// Returns the sizes of the stored properties; no sizes if there is no contact.
    pub(super) fn of(row: Option<&ContactRow>) -> Self {
        let stored = row.into_iter().flat_map(|row| &row.properties);
        Self(stored.map(|(key, text)| (key.clone(), key.len() + text.len())).collect())
    }

    /// Applies the property changes of a write. Changes nothing if it fails.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub(super) fn change(
        &mut self,
        definitions: &PropertyDefinitions,
        changes: &ContactChanges,
    ) -> Result<(), ItemError> {
        let before = Self(self.0.clone());
        self.apply(definitions, changes);
        // A contact above a limit keeps its properties. Only growth beyond the limit is an error.
        let error = if self.0.len() > CONTACT_PROPERTIES_MAX.max(before.0.len()) {
            ItemError::TooManyProperties
        } else if self.bytes() > PROPERTIES_BYTES_MAX.max(before.bytes()) {
            ItemError::PropertiesTooLong
        } else {
            return Ok(());
        };
        *self = before;
        Err(error)
    }

    /// Applies the property changes of a write without a check of the limits.
    pub(super) fn apply(&mut self, definitions: &PropertyDefinitions, changes: &ContactChanges) {
        let normalized = normalize_keys(definitions, &self.0, changes);
        let changes = normalized.as_ref().unwrap_or(changes);
        for (key, change) in &changes.properties {
            match change.text() {
                None => self.0.remove(key),
                Some(text) => self.0.insert(key.clone(), key.len() + text.len()),
            };
        }
    }

    fn bytes(&self) -> usize {
        self.0.values().sum()
    }
}

fn size(key: &str, change: &PropertyChange) -> usize {
    change.text().map_or(0, |text| key.len() + text.len())
}
