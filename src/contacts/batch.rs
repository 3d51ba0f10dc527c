//! Many contacts in one write: what becomes of each, decided before anything is written.

use std::collections::HashMap;
use std::fmt;

use super::model::{ContactChanges, NewContact, OptIns, PropertyChange, Resubscribe};
use super::store::{self, ContactRow};
use super::write::ContactWriter;
use crate::contact_properties::{self, Definitions};
use crate::context::Context;
use crate::events::Source;
use crate::id::{ContactId, SegmentId, TeamId, TopicId};
use crate::segments;
use crate::store::tables::AddressHash;
use crate::store::{Reads, StoreError, WriteTx};
use crate::suppressions;
use crate::topics;

/// Contacts in one batch at most.
pub const BATCH_MAX: usize = 1_000;

/// Characters of a key that an error repeats.
const KEY_CHARS_SHOWN: usize = 60;

/// What becomes of an item whose address is known: to the team, or from an earlier item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConflict {
    /// The item fails.
    Error,
    /// The contact stays as it is; of items, the first counts.
    Skip,
    /// The item is merged into the contact; items are merged into one.
    Upsert,
}

/// What one failed item means for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validation {
    /// Nothing is written.
    Strict,
    /// The others are.
    Permissive,
}

/// How a batch is written.
#[derive(Clone, Copy, Debug)]
pub struct BatchOptions {
    /// What becomes of known addresses.
    pub on_conflict: OnConflict,
    /// What a failed item means.
    pub validation: Validation,
    /// Whether explicit topic opt-outs may turn.
    pub opt_ins: OptIns,
    /// Who writes.
    pub source: Source,
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
}

impl fmt::Display for ItemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists => f.write_str("A contact with this email exists already."),
            Self::Repeats(index) => write!(f, "The email repeats that of item {index} of the batch."),
            Self::SegmentNotFound(_) => f.write_str("Segment not found"),
            Self::TopicNotFound(_) => f.write_str("Topic not found"),
            Self::NotANumber(key) => {
                let key: String = key.chars().filter(|c| !c.is_control()).take(KEY_CHARS_SHOWN).collect();
                write!(f, "Invalid `properties.{key}` field: the property is a number; give a number or null.")
            }
        }
    }
}

/// What became of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemStatus {
    /// A contact was added.
    Created,
    /// It was merged into a contact.
    Updated,
    /// The contact was left as it is.
    Skipped,
}

/// An item that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchItem {
    /// Where it stands in the batch, from 0.
    pub index: usize,
    /// Its contact; none of a contact that a dry run would have added.
    pub id: Option<ContactId>,
    /// What became of it.
    pub status: ItemStatus,
}

/// What became of a batch, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchOutcome {
    /// The items that did not fail.
    pub items: Vec<BatchItem>,
    /// Those that did, with their index.
    pub failed: Vec<(usize, ItemError)>,
}

/// Why nothing of a batch was written.
#[derive(Debug)]
pub enum BatchError {
    /// An item failed and the validation is strict.
    Item {
        /// Where it stands in the batch.
        index: usize,
        /// Why it failed.
        error: ItemError,
    },
    /// The store failed.
    Store(StoreError),
}

impl From<StoreError> for BatchError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A batch whose addresses have been hashed, ready for its transaction.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Each with its index in the request, which may lack items that were refused before.
    items: Vec<(usize, NewContact, AddressHash)>,
    options: BatchOptions,
}

/// What one address of a batch comes to.
struct Entry {
    hash: AddressHash,
    /// The first item with the address, by its place in the batch.
    first: usize,
    /// Other items that count, in order: merged into the first.
    merged: Vec<usize>,
    /// Other items that do not count.
    skipped: Vec<usize>,
    existing: Option<(ContactId, ContactRow)>,
}

/// What a batch comes to, before anything is written.
struct Plan {
    entries: Vec<Entry>,
    failed: Vec<(usize, ItemError)>,
}

impl Batch {
    /// Prepares `items`, each with its index in the request.
    pub fn new(items: Vec<(usize, NewContact)>, options: BatchOptions) -> Self {
        let hashed = items.into_iter().map(|(index, item)| {
            let hash = suppressions::hash(&item.email);
            (index, item, hash)
        });
        Self { items: hashed.collect(), options }
    }

    /// Returns about how many bytes the batch stores.
    pub fn bytes(&self) -> usize {
        self.items.len() * 512
    }

    /// Returns what writing the batch would come to, and writes nothing.
    ///
    /// # Errors
    /// [`BatchError`].
    pub fn rehearse(&self, tx: &impl Reads, team: TeamId) -> Result<BatchOutcome, BatchError> {
        let plan = self.plan(tx, team)?;
        let mut outcome = BatchOutcome { items: Vec::with_capacity(self.items.len()), failed: plan.failed };
        for entry in &plan.entries {
            let id = entry.existing.as_ref().map(|(id, _)| *id);
            self.report(entry, id, &mut outcome);
        }
        Ok(outcome.in_order())
    }

    /// Writes the batch, or nothing.
    ///
    /// # Errors
    /// [`BatchError`]; nothing was written.
    pub fn apply(&self, tx: &WriteTx<'_>, context: &Context, team: TeamId) -> Result<BatchOutcome, BatchError> {
        let plan = self.plan(tx, team)?;
        let mut outcome = BatchOutcome { items: Vec::with_capacity(self.items.len()), failed: plan.failed };
        let mut writer = ContactWriter::new(tx, context, team, self.options.source);
        for entry in &plan.entries {
            let id = self.write(&mut writer, entry)?;
            self.report(entry, Some(id), &mut outcome);
        }
        writer.finish()?;
        Ok(outcome.in_order())
    }

    /// Decides what each item comes to. Reads only, so that a refusal costs nothing.
    fn plan(&self, tx: &impl Reads, team: TeamId) -> Result<Plan, BatchError> {
        let definitions = contact_properties::definitions(tx, team)?;
        let mut plan = Plan { entries: Vec::with_capacity(self.items.len()), failed: Vec::new() };
        let mut places: HashMap<AddressHash, usize> = HashMap::with_capacity(self.items.len());
        let mut known = Known::new(team);
        for (place, (index, item, hash)) in self.items.iter().enumerate() {
            let failure = match known.check(tx, &definitions, &item.changes)? {
                Some(failure) => Some(failure),
                None => match places.get(hash) {
                    Some(at) => self.repeat(&mut plan.entries[*at], place),
                    None => {
                        let existing = store::find_by_address(tx, team, hash)?;
                        let conflicts = existing.is_some() && self.options.on_conflict == OnConflict::Error;
                        if !conflicts {
                            places.insert(*hash, plan.entries.len());
                            let (merged, skipped) = (Vec::new(), Vec::new());
                            plan.entries.push(Entry { hash: *hash, first: place, merged, skipped, existing });
                        }
                        conflicts.then_some(ItemError::Exists)
                    }
                },
            };
            let Some(error) = failure else { continue };
            if self.options.validation == Validation::Strict {
                return Err(BatchError::Item { index: *index, error });
            }
            plan.failed.push((*index, error));
        }
        Ok(plan)
    }

    /// Notes an item whose address an earlier one has; returns why it fails.
    fn repeat(&self, entry: &mut Entry, place: usize) -> Option<ItemError> {
        match self.options.on_conflict {
            OnConflict::Error => return Some(ItemError::Repeats(self.items[entry.first].0)),
            OnConflict::Skip => entry.skipped.push(place),
            OnConflict::Upsert => entry.merged.push(place),
        }
        None
    }

    fn write(&self, writer: &mut ContactWriter<'_, '_>, entry: &Entry) -> Result<ContactId, StoreError> {
        let item = &self.items[entry.first].1;
        let mut merged;
        let item = if entry.merged.is_empty() {
            item
        } else {
            merged = item.clone();
            for place in &entry.merged {
                merged.changes.merge(&self.items[*place].1.changes);
            }
            &merged
        };
        match &entry.existing {
            None => writer.create(item, &entry.hash),
            Some((id, row)) => {
                if self.options.on_conflict == OnConflict::Upsert {
                    writer.update(*id, row, &item.changes, Resubscribe::Never, self.options.opt_ins)?;
                }
                Ok(*id)
            }
        }
    }

    fn report(&self, entry: &Entry, id: Option<ContactId>, outcome: &mut BatchOutcome) {
        let status = match (&entry.existing, self.options.on_conflict) {
            (None, _) => ItemStatus::Created,
            (Some(_), OnConflict::Upsert) => ItemStatus::Updated,
            (Some(_), OnConflict::Skip | OnConflict::Error) => ItemStatus::Skipped,
        };
        let mut report = |place: usize, status| {
            outcome.items.push(BatchItem { index: self.items[place].0, id, status });
        };
        report(entry.first, status);
        entry.merged.iter().for_each(|place| report(*place, ItemStatus::Updated));
        entry.skipped.iter().for_each(|place| report(*place, ItemStatus::Skipped));
    }
}

impl BatchOutcome {
    fn in_order(mut self) -> Self {
        self.items.sort_unstable_by_key(|item| item.index);
        self
    }
}

/// Looks up the segments and topics that writes name, each once.
pub(super) struct Known {
    team: TeamId,
    segments: HashMap<SegmentId, bool>,
    topics: HashMap<TopicId, bool>,
}

impl Known {
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
