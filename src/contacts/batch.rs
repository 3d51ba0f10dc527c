//! Many contacts in one write: what becomes of each, decided before anything is written.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use super::check::{ItemError, PropertySizes, ReferenceCache, spelled};
use super::model::{ContactChanges, NewContact, OptIns, Resubscribe};
use super::store::{self, ContactRow};
use super::write::ContactWriter;
use crate::base::id::{ContactId, TeamId};
use crate::contact_properties::{self, Definitions};
use crate::context::Context;
use crate::events::ChangeSource;
use crate::store::{Reads, StoreError, WriteTx};
use crate::tables::AddressHash;

/// Contacts in one batch at most.
pub const BATCH_MAX: usize = 1_000;
/// Choices about topics that the contacts of one batch name together: each is a row and may be an
/// event, and the writer does nothing else until all of them are written.
pub const BATCH_CHOICES_MAX: usize = 10_000;
/// What a contact, a choice with its event, and a membership store, about.
const CONTACT_BYTES: usize = 512;
const CHOICE_BYTES: usize = 512;
const MEMBERSHIP_BYTES: usize = 128;

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
    pub source: ChangeSource,
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
pub enum ContactBatchError {
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

impl From<StoreError> for ContactBatchError {
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
struct PlanEntry {
    hash: AddressHash,
    /// The first item with the address, by its place in the batch.
    first: usize,
    /// Other items that count, in order: merged into the first.
    merged: Vec<usize>,
    /// Other items that do not count.
    skipped: Vec<usize>,
    /// The contact that has the address. Its row is read again where it is needed: a thousand of them
    /// are not held at once.
    existing: Option<ContactId>,
    /// The properties it comes to have; counted once the address repeats.
    properties: Option<PropertySizes>,
}

/// What a batch comes to, before anything is written.
struct BatchPlan {
    definitions: Definitions,
    entries: Vec<PlanEntry>,
    failed: Vec<(usize, ItemError)>,
}

impl Batch {
    /// Prepares `items`, each with its index in the request.
    pub fn new(items: Vec<(usize, NewContact)>, options: BatchOptions) -> Self {
        let hashed = items.into_iter().map(|(index, item)| {
            let hash = item.email.identity_hash();
            (index, item, hash)
        });
        Self { items: hashed.collect(), options }
    }

    /// Returns about how many bytes the batch stores.
    pub fn bytes(&self) -> usize {
        let of_item = |(_, item, _): &(usize, NewContact, AddressHash)| {
            let ContactChanges { topics, segments, .. } = &item.changes;
            CONTACT_BYTES + topics.len() * CHOICE_BYTES + segments.len() * MEMBERSHIP_BYTES
        };
        self.items.iter().map(of_item).sum()
    }

    /// Returns what writing the batch would come to, and writes nothing.
    ///
    /// # Errors
    /// [`ContactBatchError`].
    pub fn dry_run(&self, tx: &impl Reads, team: TeamId) -> Result<BatchOutcome, ContactBatchError> {
        let plan = self.plan(tx, team)?;
        let mut outcome = BatchOutcome { items: Vec::with_capacity(self.items.len()), failed: plan.failed };
        for entry in &plan.entries {
            self.report(entry, entry.existing, &mut outcome);
        }
        Ok(outcome.in_order())
    }

    /// Writes the batch, or nothing.
    ///
    /// # Errors
    /// [`ContactBatchError`]; nothing was written.
    pub fn apply(&self, tx: &WriteTx<'_>, context: &Context, team: TeamId) -> Result<BatchOutcome, ContactBatchError> {
        let plan = self.plan(tx, team)?;
        let mut outcome = BatchOutcome { items: Vec::with_capacity(self.items.len()), failed: plan.failed };
        let mut writer = ContactWriter::new(tx, context, team, self.options.source);
        for entry in &plan.entries {
            let id = self.write(tx, team, &plan.definitions, &mut writer, entry)?;
            self.report(entry, Some(id), &mut outcome);
        }
        writer.finish()?;
        Ok(outcome.in_order())
    }

    /// Decides what each item comes to. Reads only, so that a refusal costs nothing.
    fn plan(&self, tx: &impl Reads, team: TeamId) -> Result<BatchPlan, ContactBatchError> {
        let definitions = contact_properties::definitions(tx, team)?;
        let mut plan = BatchPlan { definitions, entries: Vec::with_capacity(self.items.len()), failed: Vec::new() };
        let mut places: HashMap<AddressHash, usize> = HashMap::with_capacity(self.items.len());
        let mut known = ReferenceCache::new(team);
        for (place, (index, item, hash)) in self.items.iter().enumerate() {
            let failure = match (known.check(tx, &plan.definitions, &item.changes)?, places.get(hash)) {
                (Some(failure), _) => Some(failure),
                (None, Some(at)) => {
                    let entry = &mut plan.entries[*at];
                    self.count_properties(tx, team, &plan.definitions, entry)?;
                    self.repeat(&plan.definitions, entry, place).err()
                }
                (None, None) => {
                    let existing = store::find_by_address(tx, team, hash)?;
                    match self.open(&plan.definitions, *hash, place, existing.as_ref()) {
                        Ok(entry) => {
                            places.insert(*hash, plan.entries.len());
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

    /// Begins what the first item of an address comes to; fails as the item does.
    fn open(
        &self,
        definitions: &Definitions,
        hash: AddressHash,
        place: usize,
        existing: Option<&(ContactId, ContactRow)>,
    ) -> Result<PlanEntry, ItemError> {
        match (existing, self.options.on_conflict) {
            (Some(_), OnConflict::Error) => return Err(ItemError::Exists),
            (Some(_), OnConflict::Skip) => {}
            (Some(_), OnConflict::Upsert) | (None, _) => {
                let row = existing.map(|(_, row)| row);
                PropertySizes::check(definitions, row, &self.items[place].1.changes)?;
            }
        }
        let existing = existing.map(|(id, _)| *id);
        Ok(PlanEntry { hash, first: place, merged: Vec::new(), skipped: Vec::new(), existing, properties: None })
    }

    /// Counts the properties that an address comes to have, before an item is merged into its first.
    fn count_properties(
        &self,
        tx: &impl Reads,
        team: TeamId,
        definitions: &Definitions,
        entry: &mut PlanEntry,
    ) -> Result<(), StoreError> {
        if self.options.on_conflict == OnConflict::Upsert && entry.properties.is_none() {
            let mut properties = PropertySizes::of(row_of(tx, team, entry)?.as_ref());
            properties.apply(definitions, &self.items[entry.first].1.changes);
            entry.properties = Some(properties);
        }
        Ok(())
    }

    /// Notes an item whose address an earlier one has; fails as the item does.
    fn repeat(&self, definitions: &Definitions, entry: &mut PlanEntry, place: usize) -> Result<(), ItemError> {
        match self.options.on_conflict {
            OnConflict::Error => return Err(ItemError::Repeats(self.items[entry.first].0)),
            OnConflict::Skip => entry.skipped.push(place),
            OnConflict::Upsert => {
                if let Some(properties) = &mut entry.properties {
                    properties.change(definitions, &self.items[place].1.changes)?;
                }
                entry.merged.push(place);
            }
        }
        Ok(())
    }

    fn write(
        &self,
        tx: &WriteTx<'_>,
        team: TeamId,
        definitions: &Definitions,
        writer: &mut ContactWriter<'_, '_>,
        entry: &PlanEntry,
    ) -> Result<ContactId, StoreError> {
        let mut item = Cow::Borrowed(&self.items[entry.first].1);
        for place in &entry.merged {
            item.to_mut().changes.merge(&self.items[*place].1.changes, self.options.opt_ins);
        }
        let Some(id) = entry.existing else {
            if let Some(changes) = spelled(definitions, &BTreeMap::<String, String>::new(), &item.changes) {
                item.to_mut().changes = changes;
            }
            return writer.create(&item, &entry.hash);
        };
        if self.options.on_conflict == OnConflict::Upsert
            && let Some(row) = row_of(tx, team, entry)?
        {
            let spelled = spelled(definitions, &row.properties, &item.changes);
            let changes = spelled.as_ref().unwrap_or(&item.changes);
            writer.update(id, &row, changes, Resubscribe::Never, self.options.opt_ins)?;
        }
        Ok(id)
    }

    fn report(&self, entry: &PlanEntry, id: Option<ContactId>, outcome: &mut BatchOutcome) {
        let status = match (entry.existing, self.options.on_conflict) {
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

/// Returns the row of an entry's contact, where it has one.
fn row_of(tx: &impl Reads, team: TeamId, entry: &PlanEntry) -> Result<Option<ContactRow>, StoreError> {
    entry.existing.map_or(Ok(None), |id| store::find(tx, team, id))
}

impl BatchOutcome {
    fn in_order(mut self) -> Self {
        self.items.sort_unstable_by_key(|item| item.index);
        self
    }
}
