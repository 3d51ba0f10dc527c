//! Import: contacts from a CSV file, as one job on the code path of the batch.
//!
//! Life cycle: an [`Import`] is fed with the bytes of a file as they come. From the first row it
//! decides what the columns say; every row after it becomes an [`ImportItem`] or a [`RowError`].
//! Items wait in [`ImportBatch`]es of at most a thousand, which whoever drives the import has written
//! ([`write_batch`]) and settles with what came of each. It reads and writes nothing itself: the
//! command line and the dashboard drive the same one.
//!
//! Reading order: `mapping.rs` (what a person says of columns), `columns.rs` (which column says what),
//! `file_header.rs` (encoding, delimiter and the first row), `row.rs` (a row to a contact), `progress.rs`
//! (what is counted and reported), `write.rs` (a batch to the store).
//!
//! Invariants: what waits is bounded by one feed, a batch and [`ERRORS_WAITING_MAX`] errors, whatever
//! the length of the file and whichever of its rows are wrong; a check keeps some bytes more of every
//! contact that it counts as created. A row is answered once, as created, updated, skipped or failed;
//! an import says what a file says and no more: an empty cell leaves a contact as it is, and nothing
//! here can subscribe anyone again. Nothing is kept of an import that was cut off: running it again
//! restates what is stored, and that changes nothing.

mod columns;
mod file_header;
mod mapping;
mod progress;
mod row;
mod write;

#[cfg(test)]
mod tests;

pub use columns::{Column, HeaderError};
pub use file_header::FileError;
pub(super) use mapping::PROPERTY_PREFIX;
pub use mapping::{ColumnTarget, MapError, Mapping};
pub use progress::{ImportProgress, RowError};
pub use row::ImportItem;
pub use write::{ImportDefaults, ImportError, WriteOptions, begin, write_batch};

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde::{Deserialize, Serialize};

use super::BATCH_MAX;
use super::csv::{Reader, Record};
use crate::contact_properties::{Definition, Definitions, PropertyKind};

/// The weight of a batch: about its bytes as JSON. Half of what the command line's socket takes in a
/// line; the heaviest row fits.
const BATCH_WEIGHT_MAX: usize = 512 << 10;
/// Errors that wait behind a batch that is not full: they are reported in the order of the file, and
/// so after its rows.
const ERRORS_WAITING_MAX: usize = 1_000;

/// What happens to a contact that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExistingContacts {
    /// What the file says is merged into it.
    Upsert,
    /// It stays untouched.
    Skip,
}

/// Whether an import writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunMode {
    /// It does.
    Write,
    /// It checks everything, counts the same, and writes nothing.
    Check,
}

/// A contact property of the team.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Property {
    /// Its key.
    pub key: String,
    /// What its values are.
    pub kind: PropertyKind,
}

/// What an import is to do.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// What columns say where their names do not tell.
    pub mapping: Mapping,
    /// The contact properties of the team.
    pub properties: Vec<Property>,
    /// What happens to contacts that are there already.
    pub existing: ExistingContacts,
    /// Whether it writes.
    pub run: RunMode,
}

/// Items for one batch, each with the line of the file it stands at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportBatch {
    lines: Vec<u64>,
    /// The items, in the order of the file.
    pub items: Vec<ImportItem>,
}

/// What came of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportOutcome {
    /// A contact was added.
    Created,
    /// A contact that was there has, or had already, what the item says.
    Updated,
    /// A contact that was there was left alone.
    Skipped,
    /// Nothing was done, for the reason in the sentence.
    Failed(String),
}

/// An import under way.
#[derive(Debug)]
pub struct Import {
    options: ImportOptions,
    definitions: Definitions,
    state: State,
    pending: Pending,
    ready: VecDeque<ImportBatch>,
    /// Batches that were handed out and not settled, by the line of their first item.
    out: Vec<u64>,
    /// Errors that were not returned, in the order of the file.
    errors: Vec<RowError>,
    /// In a check: what was counted as created, by a hash of the address. The one thing that grows
    /// with the file.
    seen: HashSet<u64>,
    progress: ImportProgress,
}

#[derive(Debug)]
enum State {
    /// The first row is not complete.
    Head(Vec<u8>),
    /// The first row told what the columns say.
    Rows { reader: Reader, columns: Vec<Column> },
}

#[derive(Debug, Default)]
struct Pending {
    lines: Vec<u64>,
    items: Vec<ImportItem>,
    weight: usize,
    /// Errors of rows behind its first one.
    errors: usize,
}

impl Import {
    /// Begins an import.
    pub fn new(options: ImportOptions) -> Self {
        let definition = |property: &Property| {
            let definition = Definition { kind: property.kind, fallback: None };
            (property.key.clone(), definition)
        };
        let definitions = options.properties.iter().map(definition).collect();
        Self {
            options,
            definitions,
            state: State::Head(Vec::new()),
            pending: Pending::default(),
            ready: VecDeque::new(),
            out: Vec::new(),
            errors: Vec::new(),
            seen: HashSet::new(),
            progress: ImportProgress::default(),
        }
    }

    /// Takes the next bytes of the file. The batches and errors they make are to be taken before the
    /// next: what waits is as large as what was fed.
    ///
    /// # Errors
    /// [`FileError`]: the import is over, and nothing of it was handed out.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        self.progress.bytes += bytes.len() as u64;
        match &mut self.state {
            State::Head(held) => {
                held.extend_from_slice(bytes);
                if held.len() < file_header::BYTES_MAX {
                    return Ok(());
                }
                let held = std::mem::take(held);
                self.open(&held, file_header::FileExtent::Part)
            }
            State::Rows { .. } => {
                self.take_rows(bytes);
                Ok(())
            }
        }
    }

    /// Says that the file has ended. The last batch is ready then.
    ///
    /// # Errors
    /// As [`feed`](Self::feed).
    pub fn finish(&mut self) -> Result<(), FileError> {
        if let State::Head(held) = &mut self.state {
            let held = std::mem::take(held);
            self.open(&held, file_header::FileExtent::Whole)?;
        }
        if let State::Rows { reader, .. } = &mut self.state
            && let Some(record) = reader.end()
        {
            self.take_record(&record);
        }
        self.close_batch();
        Ok(())
    }

    fn open(&mut self, held: &[u8], extent: file_header::FileExtent) -> Result<(), FileError> {
        let file_header::FileHeader { reader, columns, rest } =
            file_header::read(held, extent, &self.options.mapping, &self.options.properties)?;
        self.state = State::Rows { reader, columns };
        self.take_rows(rest);
        Ok(())
    }

    fn take_rows(&mut self, mut bytes: &[u8]) {
        while let State::Rows { reader, .. } = &mut self.state {
            let Some(record) = reader.next(&mut bytes) else { return };
            self.take_record(&record);
        }
    }

    fn take_record(&mut self, record: &Record) {
        let State::Rows { columns, .. } = &self.state else { return };
        match row::read(record, columns, &self.definitions) {
            Ok(None) => {}
            Ok(Some(item)) => {
                self.progress.rows += 1;
                let weight = item.weight();
                if self.pending.weight + weight > BATCH_WEIGHT_MAX || self.pending.items.len() == BATCH_MAX {
                    self.close_batch();
                }
                self.pending.weight += weight;
                self.pending.lines.push(record.line);
                self.pending.items.push(item);
            }
            Err(error) => {
                self.progress.rows += 1;
                self.progress.failed += 1;
                self.errors.push(error);
                self.pending.errors += usize::from(!self.pending.items.is_empty());
                if self.pending.errors == ERRORS_WAITING_MAX {
                    self.close_batch();
                }
            }
        }
    }

    fn close_batch(&mut self) {
        let Pending { lines, items, weight: _, errors: _ } = std::mem::take(&mut self.pending);
        if !items.is_empty() {
            self.ready.push_back(ImportBatch { lines, items });
        }
    }

    /// Returns the next batch that is ready, to be settled with what came of it.
    pub fn next_batch(&mut self) -> Option<ImportBatch> {
        let batch = self.ready.pop_front()?;
        self.out.extend(batch.lines.first());
        Some(batch)
    }

    /// Counts what came of a batch, item by item. An item without an outcome has failed.
    pub fn settle(&mut self, batch: ImportBatch, outcomes: Vec<ImportOutcome>) {
        let ImportBatch { lines, items } = batch;
        self.out.retain(|first| Some(first) != lines.first());
        let unanswered = || ImportOutcome::Failed("there was no answer about this row".to_owned());
        let outcomes = outcomes.into_iter().chain(std::iter::repeat_with(unanswered));
        let errors_before = self.errors.len();
        for ((line, item), outcome) in lines.into_iter().zip(items).zip(outcomes) {
            match self.counted(&item, outcome) {
                ImportOutcome::Created => self.progress.created += 1,
                ImportOutcome::Updated => self.progress.updated += 1,
                ImportOutcome::Skipped => self.progress.skipped += 1,
                ImportOutcome::Failed(message) => {
                    self.progress.failed += 1;
                    self.errors.push(RowError { line, column: None, email: item.email.to_string(), message });
                }
            }
        }
        // Rows that were wrong by themselves stand between those of the batch and behind them.
        if self.errors.len() > errors_before {
            self.errors.sort_by_key(|error| error.line);
        }
    }

    /// Returns the outcome as a run that writes would have it: an address that stands twice in the
    /// file is created once.
    fn counted(&mut self, item: &ImportItem, outcome: ImportOutcome) -> ImportOutcome {
        if self.options.run == RunMode::Write || outcome != ImportOutcome::Created {
            return outcome;
        }
        // A hash holds a file of any length in few bytes a row. Two addresses with the same one would
        // put a count off by one.
        let mut hasher = DefaultHasher::new();
        item.email.identity().hash(&mut hasher);
        match self.options.existing {
            _ if self.seen.insert(hasher.finish()) => ImportOutcome::Created,
            ExistingContacts::Upsert => ImportOutcome::Updated,
            ExistingContacts::Skip => ImportOutcome::Skipped,
        }
    }

    /// Returns the errors that are known and were not returned before, in the order of the file.
    /// Those behind a row that has no answer wait for it.
    pub fn take_errors(&mut self) -> Vec<RowError> {
        let ready = self.ready.front().and_then(|batch| batch.lines.first());
        let open = self.pending.lines.first().into_iter().chain(ready).chain(&self.out).min();
        let known = open.map_or(self.errors.len(), |open| self.errors.partition_point(|error| error.line < *open));
        self.errors.drain(..known).collect()
    }

    /// Returns what was counted so far.
    pub fn progress(&self) -> ImportProgress {
        self.progress
    }

    /// Returns the columns of the file; none before the first row is known.
    pub fn columns(&self) -> &[Column] {
        match &self.state {
            State::Head(_) => &[],
            State::Rows { columns, .. } => columns,
        }
    }

    /// Returns what the import is to do.
    pub fn options(&self) -> &ImportOptions {
        &self.options
    }
}
