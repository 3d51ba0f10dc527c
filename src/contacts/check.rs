//! What a write is held against before it is written: the team's segments and topics, the types of
//! its properties, and how many of them, and how long, a contact may have.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use super::model::{CONTACT_PROPERTIES_MAX, ContactChanges, PROPERTIES_BYTES_MAX, PropertyChange};
use super::store::ContactRow;
use crate::base::id::{SegmentId, TeamId, TopicId};
use crate::contact_properties::Definitions;
use crate::segments;
use crate::store::{Reads, StoreError};
use crate::topics;

/// Characters of a key that an error repeats.
const KEY_CHARS_SHOWN: usize = 60;

/// Returns a key as an error repeats it.
pub(super) fn shown_key(key: &str) -> String {
    key.chars().filter(|c| !c.is_control()).take(KEY_CHARS_SHOWN).collect()
}

/// Why an item fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemError {
    /// The team has a contact with the address.
    Exists,
    /// An earlier item, of this index, has the address.
    Repeats(usize),
    /// The team has no such segment.
    SegmentNotFound(SegmentId),
    /// The team has no such topic.
    TopicNotFound(TopicId),
    /// The property is a number and the value is none.
    NotANumber(String),
    /// The contact would have more than [`CONTACT_PROPERTIES_MAX`] properties.
    TooManyProperties,
    /// Its properties would have more than [`PROPERTIES_BYTES_MAX`] together.
    PropertiesTooLong,
}

impl fmt::Display for ItemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists => f.write_str("A contact with this email exists already."),
            Self::Repeats(index) => write!(f, "The email repeats that of item {index} of the batch."),
            Self::SegmentNotFound(_) => f.write_str("Segment not found"),
            Self::TopicNotFound(_) => f.write_str("Topic not found"),
            Self::NotANumber(key) => {
                let key = shown_key(key);
                write!(f, "Invalid `properties.{key}` field: the property is a number; give a number or null.")
            }
            Self::TooManyProperties => write!(
                f,
                "Invalid `properties` field: with these the contact would have more than {CONTACT_PROPERTIES_MAX}. Null \
                 removes one."
            ),
            Self::PropertiesTooLong => write!(
                f,
                "Invalid `properties` field: with these the contact's properties would have more than {} KiB, keys and \
                 values together. Shorten some, or remove one with null.",
                PROPERTIES_BYTES_MAX >> 10
            ),
        }
    }
}

/// Looks up the segments and topics that writes name, each once.
pub(super) struct ReferenceCache {
    team: TeamId,
    segments: HashMap<SegmentId, bool>,
    topics: HashMap<TopicId, bool>,
}

impl ReferenceCache {
    pub(super) fn new(team: TeamId) -> Self {
        Self { team, segments: HashMap::new(), topics: HashMap::new() }
    }

    /// Returns why the store refuses what a write says.
    pub(super) fn check(
        &mut self,
        tx: &impl Reads,
        definitions: &Definitions,
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
            if let PropertyChange::Set(text) = change
                && !definitions.allows(key, text)
            {
                return Ok(Some(ItemError::NotANumber(key.clone())));
            }
        }
        Ok(None)
    }

    fn has_segment(&mut self, tx: &impl Reads, id: SegmentId) -> Result<bool, StoreError> {
        if let Some(known) = self.segments.get(&id) {
            return Ok(*known);
        }
        let exists = segments::exists(tx, self.team, id)?;
        self.segments.insert(id, exists);
        Ok(exists)
    }

    fn has_topic(&mut self, tx: &impl Reads, id: TopicId) -> Result<bool, StoreError> {
        if let Some(known) = self.topics.get(&id) {
            return Ok(*known);
        }
        let exists = topics::find(tx, self.team, id)?.is_some();
        self.topics.insert(id, exists);
        Ok(exists)
    }
}

/// Returns what a write says with the keys of properties as their definitions spell them, and without
/// what the contact holds of the same properties under other spellings; `None` where that is what it
/// says. Otherwise a contact would hold a property twice.
pub(super) fn spelled<V>(
    definitions: &Definitions,
    held: &BTreeMap<String, V>,
    changes: &ContactChanges,
) -> Option<ContactChanges> {
    let is_spelled = |(key, _): &(String, PropertyChange)| {
        definitions
            .spelling(key)
            .is_none_or(|spelling| spelling == key && other_spellings(held, spelling).next().is_none())
    };
    if changes.properties.iter().all(is_spelled) {
        return None;
    }
    let mut properties = Vec::with_capacity(changes.properties.len());
    for (key, change) in &changes.properties {
        let key = definitions.spelling(key).unwrap_or(key);
        if definitions.spelling(key).is_some() {
            properties.extend(other_spellings(held, key).map(|other| (other.clone(), PropertyChange::Remove)));
        }
        properties.push((key.to_owned(), change.clone()));
    }
    Some(ContactChanges { properties, ..changes.clone() })
}

fn other_spellings<'h, V>(held: &'h BTreeMap<String, V>, spelling: &str) -> impl Iterator<Item = &'h String> {
    held.keys().filter(move |key| *key != spelling && key.eq_ignore_ascii_case(spelling))
}

/// The properties that a contact comes to have, as the bytes of each: at most
/// [`CONTACT_PROPERTIES_MAX`] with [`PROPERTIES_BYTES_MAX`] together.
pub(super) struct PropertySizes(BTreeMap<String, usize>);

impl PropertySizes {
    /// Fails when a write leaves a contact with too many, or with too much.
    pub(super) fn check(
        definitions: &Definitions,
        row: Option<&ContactRow>,
        changes: &ContactChanges,
    ) -> Result<(), ItemError> {
        let held = row.map(|row| &row.properties);
        let count = held.map_or(0, BTreeMap::len) + changes.properties.len();
        let held_bytes = held.into_iter().flatten().map(|(key, text)| key.len() + text.len()).sum::<usize>();
        let said_bytes = changes.properties.iter().map(|(key, change)| size(key, change)).sum::<usize>();
        // Most writes cannot, and are not looked at one by one.
        if count <= CONTACT_PROPERTIES_MAX && held_bytes + said_bytes <= PROPERTIES_BYTES_MAX {
            return Ok(());
        }
        Self::of(row).change(definitions, changes)
    }

    /// Begins with those of the contact that is there.
    pub(super) fn of(row: Option<&ContactRow>) -> Self {
        let held = row.into_iter().flat_map(|row| &row.properties);
        Self(held.map(|(key, text)| (key.clone(), key.len() + text.len())).collect())
    }

    /// Adds and removes what a write does; one that is refused changes nothing.
    pub(super) fn change(&mut self, definitions: &Definitions, changes: &ContactChanges) -> Result<(), ItemError> {
        let before = Self(self.0.clone());
        self.apply(definitions, changes);
        // What is there stays: a contact is never made to lose properties by a bound.
        let refused = if self.0.len() > CONTACT_PROPERTIES_MAX.max(before.0.len()) {
            ItemError::TooManyProperties
        } else if self.bytes() > PROPERTIES_BYTES_MAX.max(before.bytes()) {
            ItemError::PropertiesTooLong
        } else {
            return Ok(());
        };
        *self = before;
        Err(refused)
    }

    /// Adds and removes what a write does.
    pub(super) fn apply(&mut self, definitions: &Definitions, changes: &ContactChanges) {
        let spelled = spelled(definitions, &self.0, changes);
        let changes = spelled.as_ref().unwrap_or(changes);
        for (key, change) in &changes.properties {
            match change {
                PropertyChange::Remove => self.0.remove(key),
                PropertyChange::Set(_) => self.0.insert(key.clone(), size(key, change)),
            };
        }
    }

    fn bytes(&self) -> usize {
        self.0.values().sum()
    }
}

fn size(key: &str, change: &PropertyChange) -> usize {
    match change {
        PropertyChange::Remove => 0,
        PropertyChange::Set(text) => key.len() + text.len(),
    }
}
