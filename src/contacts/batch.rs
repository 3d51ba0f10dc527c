//! Batches: many contacts in one transaction. The outcome of each item is decided before any write.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use super::check::{ItemError, PropertySizes, ReferenceCache, normalize_keys};
use super::model::{ContactChanges, NewContact, OptIns, Resubscribe};
use super::store::{self, ContactRow};
use super::write::ContactWriter;
use crate::base::id::{ContactId, TeamId};
use crate::contact_properties::{self, PropertyDefinitions};
use crate::context::Context;
use crate::events::ChangeSource;
use crate::store::{Reads, StoreError, WriteTx, from_store_error};
use crate::tables::AddressHash;

/// Maximum number of contacts in one batch.
pub const BATCH_MAX: usize = 1_000;
/// Maximum number of topic choices in one batch, over all its contacts. Bounds the time that the batch
/// occupies the writer: each choice writes a row and up to one event.
pub const BATCH_CHOICES_MAX: usize = 10_000;
// Estimated stored bytes of a contact, of a topic choice with its event, and of a membership.
const CONTACT_BYTES: usize = 512;
const CHOICE_BYTES: usize = 512;
const MEMBERSHIP_BYTES: usize = 128;

/// Handling of an item whose address has a contact or occurs in an earlier item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConflict {
    /// The item fails.
    Error,
    /// The contact stays unchanged. Of the items with one address, only the first is written.
    Skip,
    /// The item is merged into the contact. The items with one address are merged into one write.
    Upsert,
}

/// Effect of a failed item on the other items of its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validation {
    /// Nothing is written.
    Strict,
    /// The other items are written.
    Permissive,
}

/// Options of a batch.
#[derive(Clone, Copy, Debug)]
pub struct BatchOptions {
    pub on_conflict: OnConflict,
    pub validation: Validation,
    pub opt_ins: OptIns,
    pub source: ChangeSource,
}

/// Outcome of an item that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemStatus {
    /// A contact was created.
    Created,
    /// The item was merged into a contact.
    Updated,
    /// The contact stayed unchanged.
    Skipped,
}

/// An item that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchItem {
    /// Index in the request, from 0.
    pub index: usize,
    /// Contact of the item; `None` if it would be created and the batch is a dry run.
    pub id: Option<ContactId>,
    pub status: ItemStatus,
}

/// Outcome of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchOutcome {
    /// Items that did not fail, ordered by index.
    pub items: Vec<BatchItem>,
    /// Indexes of the failed items, with the errors.
    pub failed: Vec<(usize, ItemError)>,
}

/// Reason why nothing of a batch was written.
#[derive(Debug)]
pub enum ContactBatchError {
    /// An item failed, and the validation is strict.
    Item {
        /// Index in the request, from 0.
        index: usize,
        error: ItemError,
    },
    Store(StoreError),
}

from_store_error!(ContactBatchError);

/// A batch with hashed addresses, ready for its transaction.
#[derive(Clone, Debug)]
pub struct ContactBatch {
    /// The items with their indexes in the request. Items that the request parser rejected are missing,
    /// so the index of an item can differ from its position in this list.
    items: Vec<(usize, NewContact, AddressHash)>,
    options: BatchOptions,
}

/// Planned write for one address of a batch. Items are given by their positions in [`ContactBatch::items`].
struct PlanEntry {
    hash: AddressHash,
    /// The first item with the address.
    first: usize,
    /// Later items that are merged into the first, in order.
    merged: Vec<usize>,
    /// Later items that are not written.
    skipped: Vec<usize>,
    /// The contact with the address. A write reads its row again, so that a thousand rows are not in
    /// memory at once.
    existing: Option<ContactId>,
    /// Sizes of the properties after the write; `None` while the address has one item.
    properties: Option<PropertySizes>,
}

/// Planned outcome of a batch.
struct BatchPlan {
    definitions: PropertyDefinitions,
    entries: Vec<PlanEntry>,
    failed: Vec<(usize, ItemError)>,
}

impl ContactBatch {
    /// Hashes the addresses of `items`. Each item has its index in the request.
    pub fn new(items: Vec<(usize, NewContact)>, options: BatchOptions) -> Self {
        let hashed = items.into_iter().map(|(index, item)| {
            let hash = item.email.identity_hash();
            (index, item, hash)
        });
        Self { items: hashed.collect(), options }
    }

    /// Returns an estimate of the stored bytes.
    pub fn bytes(&self) -> usize {
        let of_item = |(_, item, _): &(usize, NewContact, AddressHash)| {
            let ContactChanges { topics, segments, .. } = &item.changes;
            CONTACT_BYTES + topics.len() * CHOICE_BYTES + segments.len() * MEMBERSHIP_BYTES
        };
        self.items.iter().map(of_item).sum()
    }

    /// Returns the outcome that [`apply`](Self::apply) would have, and writes nothing.
    pub fn dry_run(&self, tx: &impl Reads, team: TeamId) -> Result<BatchOutcome, ContactBatchError> {
        let plan = self.plan(tx, team)?;
        let mut outcome = BatchOutcome { items: Vec::with_capacity(self.items.len()), failed: plan.failed };
        for entry in &plan.entries {
            self.add_outcome(entry, entry.existing, &mut outcome);
        }
        Ok(outcome.sorted())
    }

    /// Writes the items that do not fail.
    ///
    /// # Errors
    /// [`ContactBatchError`]; nothing is stored.
    pub fn apply(&self, tx: &WriteTx<'_>, context: &Context, team: TeamId) -> Result<BatchOutcome, ContactBatchError> {
        let plan = self.plan(tx, team)?;
        let mut outcome = BatchOutcome { items: Vec::with_capacity(self.items.len()), failed: plan.failed };
        let mut writer = ContactWriter::new(tx, context, team, self.options.source);
        for entry in &plan.entries {
            let id = self.write(tx, team, &plan.definitions, &mut writer, entry)?;
            self.add_outcome(entry, Some(id), &mut outcome);
        }
        writer.finish()?;
        Ok(outcome.sorted())
    }

    /// Decides the outcome of each item. Only reads, so that a rejected batch costs no writes.
    fn plan(&self, tx: &impl Reads, team: TeamId) -> Result<BatchPlan, ContactBatchError> {
        let definitions = contact_properties::definitions(tx, team)?;
        let mut plan = BatchPlan { definitions, entries: Vec::with_capacity(self.items.len()), failed: Vec::new() };
        let mut entry_indexes: HashMap<AddressHash, usize> = HashMap::with_capacity(self.items.len());
        let mut references = ReferenceCache::new(team);
        for (position, (index, item, hash)) in self.items.iter().enumerate() {
            let failure = match (references.check(tx, &plan.definitions, &item.changes)?, entry_indexes.get(hash)) {
                (Some(failure), _) => Some(failure),
                (None, Some(entry)) => {
                    let entry = &mut plan.entries[*entry];
                    self.measure_properties(tx, team, &plan.definitions, entry)?;
                    self.add_repeat(&plan.definitions, entry, position).err()
                }
                (None, None) => {
                    let existing = store::find_by_address(tx, team, hash)?;
                    match self.first_entry(&plan.definitions, *hash, position, existing.as_ref()) {
                        Ok(entry) => {
                            entry_indexes.insert(*hash, plan.entries.len());
                            plan.entries.push(entry);
                            None
                        }
                        Err(failure) => Some(failure),
                    }
                }
            };
            let Some(error) = failure else { continue };
            if self.options.validation == Validation::Strict {
                return Err(ContactBatchError::Item { index: *index, error });
            }
            plan.failed.push((*index, error));
        }
        Ok(plan)
    }

    /// Returns the entry for the first item with an address, or the error of the item.
    fn first_entry(
        &self,
        definitions: &PropertyDefinitions,
        hash: AddressHash,
        position: usize,
        existing: Option<&(ContactId, ContactRow)>,
    ) -> Result<PlanEntry, ItemError> {
        match (existing, self.options.on_conflict) {
            (Some(_), OnConflict::Error) => return Err(ItemError::Exists),
            (Some(_), OnConflict::Skip) => {}
            (Some(_), OnConflict::Upsert) | (None, _) => {
                let row = existing.map(|(_, row)| row);
                PropertySizes::check(definitions, row, &self.items[position].1.changes)?;
            }
        }
        let existing = existing.map(|(id, _)| *id);
        Ok(PlanEntry { hash, first: position, merged: Vec::new(), skipped: Vec::new(), existing, properties: None })
    }

    /// Measures the properties that the first item of an entry results in, unless they are measured
    /// already. Needed before another item is merged into it.
    fn measure_properties(
        &self,
        tx: &impl Reads,
        team: TeamId,
        definitions: &PropertyDefinitions,
        entry: &mut PlanEntry,
    ) -> Result<(), StoreError> {
        if self.options.on_conflict == OnConflict::Upsert && entry.properties.is_none() {
            let mut properties = PropertySizes::of(row_of(tx, team, entry)?.as_ref());
            properties.apply(definitions, &self.items[entry.first].1.changes);
            entry.properties = Some(properties);
        }
        Ok(())
    }

    /// Adds a later item with the same address to an entry, or returns the error of the item.
    fn add_repeat(
        &self,
        definitions: &PropertyDefinitions,
        entry: &mut PlanEntry,
        position: usize,
    ) -> Result<(), ItemError> {
        match self.options.on_conflict {
            OnConflict::Error => return Err(ItemError::Repeats(self.items[entry.first].0)),
            OnConflict::Skip => entry.skipped.push(position),
            OnConflict::Upsert => {
                if let Some(properties) = &mut entry.properties {
                    properties.change(definitions, &self.items[position].1.changes)?;
                }
                entry.merged.push(position);
            }
        }
        Ok(())
    }

    fn write(
        &self,
        tx: &WriteTx<'_>,
        team: TeamId,
        definitions: &PropertyDefinitions,
        writer: &mut ContactWriter<'_, '_>,
        entry: &PlanEntry,
    ) -> Result<ContactId, StoreError> {
        let mut item = Cow::Borrowed(&self.items[entry.first].1);
        for position in &entry.merged {
            item.to_mut().changes.merge(&self.items[*position].1.changes, self.options.opt_ins);
        }
        let Some(id) = entry.existing else {
            if let Some(changes) = normalize_keys(definitions, &BTreeMap::<String, String>::new(), &item.changes) {
                item.to_mut().changes = changes;
            }
            return writer.create(&item, &entry.hash);
        };
        if self.options.on_conflict == OnConflict::Upsert
            && let Some(row) = row_of(tx, team, entry)?
        {
            let normalized = normalize_keys(definitions, &row.properties, &item.changes);
            let changes = normalized.as_ref().unwrap_or(&item.changes);
            writer.update(id, &row, changes, Resubscribe::Never, self.options.opt_ins)?;
        }
        Ok(id)
    }

    fn add_outcome(&self, entry: &PlanEntry, id: Option<ContactId>, outcome: &mut BatchOutcome) {
        let status = match (entry.existing, self.options.on_conflict) {
            (None, _) => ItemStatus::Created,
            (Some(_), OnConflict::Upsert) => ItemStatus::Updated,
            (Some(_), OnConflict::Skip | OnConflict::Error) => ItemStatus::Skipped,
        };
        let mut push = |position: usize, status| {
            outcome.items.push(BatchItem { index: self.items[position].0, id, status });
        };
        push(entry.first, status);
        entry.merged.iter().for_each(|position| push(*position, ItemStatus::Updated));
        entry.skipped.iter().for_each(|position| push(*position, ItemStatus::Skipped));
    }
}

/// Returns the row of an entry's contact; `None` if the entry has no contact.
fn row_of(tx: &impl Reads, team: TeamId, entry: &PlanEntry) -> Result<Option<ContactRow>, StoreError> {
    entry.existing.map_or(Ok(None), |id| store::find(tx, team, id))
}

impl BatchOutcome {
    fn sorted(mut self) -> Self {
        self.items.sort_unstable_by_key(|item| item.index);
        self
    }
}
