//! Imports contacts from a CSV file, through the same code as the batches of the API.
//!
//! Data flow: the caller passes the bytes of a file to [`ContactImport::feed`]. [`ContactImport`] matches the columns
//! of the first row, and converts every other row to an [`ImportItem`] or a [`RowError`]. The items are grouped into
//! [`ImportBatch`]es of at most [`BATCH_MAX`]. The caller takes each batch with [`ContactImport::next_batch`], writes
//! it with [`write_batch`], and passes the outcomes to [`ContactImport::settle`]. [`ContactImport`] itself does no I/O,
//! so that the command line and the dashboard can share it.
//!
//! Files in reading order:
//! - `mapping.rs`: the mapping of columns to fields that a user gives.
//! - `columns.rs`: the match of columns to fields.
//! - `file_header.rs`: encoding, delimiter and the first row.
//! - `row.rs`: conversion of a row to a contact.
//! - `progress.rs`: the counters and the errors of rows.
//! - `write.rs`: writes a batch to the store.
//! - `tests.rs`: tests of whole files.
//!
//! Invariants:
//! - Memory is bounded by the bytes of one [`ContactImport::feed`], one batch and [`ERRORS_WAITING_MAX`] errors,
//!   for any file. A check ([`RunMode::Check`]) also keeps a hash for every contact that it counts as
//!   created.
//! - Every row has exactly one outcome: created, updated, skipped or failed.
//! - An empty cell leaves its field unchanged. An import never subscribes a contact again.
//! - An interrupted import leaves no state besides the contacts that it wrote. A repeated import of the
//!   same file completes it, and leaves those contacts unchanged.

mod columns;
mod file_header;
mod mapping;
mod progress;
mod row;
mod write;

#[cfg(test)]
mod tests;

pub use columns::{HeaderError, ImportColumn};
pub use file_header::FileError;
pub(super) use mapping::PROPERTY_PREFIX;
pub use mapping::{ColumnMapping, ColumnTarget, MapError};
pub use progress::{ImportProgress, RowError};
pub use row::ImportItem;
pub use write::{ImportDefaults, ImportError, WriteOptions, begin, write_batch};

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde::{Deserialize, Serialize};

use super::BATCH_MAX;
use super::csv::{CsvReader, CsvRecord};
use crate::contact_properties::{PropertyDefinition, PropertyDefinitions, PropertyKind};

/// Maximum estimated JSON size of a batch in bytes: half of the line limit of the admin socket. The
/// largest row fits.
const BATCH_JSON_BYTES_MAX: usize = 512 << 10;
/// Maximum number of errors that follow the first row of an incomplete batch. Errors are returned in the
/// order of the file, so these errors wait for the outcomes of the batch. At this number the batch is
/// closed.
const ERRORS_WAITING_MAX: usize = 1_000;

/// Handling of a row whose contact exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExistingContacts {
    /// The row is merged into the contact.
    Upsert,
    /// The contact stays unchanged.
    Skip,
}

/// Whether an import writes contacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunMode {
    Write,
    /// A dry run: checks and counts every row, and writes nothing.
    Check,
}

/// A contact property of the team.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportProperty {
    pub key: String,
    /// Type of the values.
    pub kind: PropertyKind,
}

/// Options of an import.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    pub mapping: ColumnMapping,
    /// Contact properties of the team.
    pub properties: Vec<ImportProperty>,
    pub existing: ExistingContacts,
    pub run: RunMode,
}

/// Items that are written together, with their lines in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportBatch {
    lines: Vec<u64>,
    /// Items in the order of the file.
    pub items: Vec<ImportItem>,
}

/// Outcome of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportOutcome {
    /// A contact was created.
    Created,
    /// The item was merged into a contact, possibly without an effect.
    Updated,
    /// The contact existed and stayed unchanged.
    Skipped,
    /// Nothing was written. The text is a message for [`RowError::message`].
    Failed(String),
}

/// State of an import.
#[derive(Debug)]
pub struct ContactImport {
    options: ImportOptions,
    definitions: PropertyDefinitions,
    state: State,
    pending: PendingBatch,
    /// Complete batches that the caller has not taken.
    ready: VecDeque<ImportBatch>,
    /// First lines of the batches that the caller has taken and not settled.
    unsettled: Vec<u64>,
    /// Errors that the caller has not taken, in the order of the file.
    errors: Vec<RowError>,
    /// In a check: hashes of the addresses counted as created. The only part that grows with the file.
    created: HashSet<u64>,
    progress: ImportProgress,
}

#[derive(Debug)]
enum State {
    /// Buffers the start of the file until the first row can be read.
    Header(Vec<u8>),
    /// The first row has been read.
    Rows { reader: CsvReader, columns: Vec<ImportColumn> },
}

/// The batch that the next item is added to.
#[derive(Debug, Default)]
struct PendingBatch {
    lines: Vec<u64>,
    items: Vec<ImportItem>,
    /// Upper bound of the JSON size of the items.
    json_bytes: usize,
    /// Number of errors after the first item of the batch.
    errors: usize,
}

impl ContactImport {
    pub fn new(options: ImportOptions) -> Self {
        let definition = |property: &ImportProperty| {
            let definition = PropertyDefinition { kind: property.kind, fallback: None };
            (property.key.clone(), definition)
        };
        let definitions = options.properties.iter().map(definition).collect();
        Self {
            options,
            definitions,
            state: State::Header(Vec::new()),
            pending: PendingBatch::default(),
            ready: VecDeque::new(),
            unsettled: Vec::new(),
            errors: Vec::new(),
            created: HashSet::new(),
            progress: ImportProgress::default(),
        }
    }

    /// Reads the next bytes of the file. The caller takes all batches and errors before the next call,
    /// so that memory is bounded by the bytes of one call.
    ///
    /// # Errors
    /// [`FileError`]; the import cannot continue, and no batch was returned.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        self.progress.bytes += bytes.len() as u64;
        match &mut self.state {
            State::Header(buffered) => {
                buffered.extend_from_slice(bytes);
                if buffered.len() < file_header::BYTES_MAX {
                    return Ok(());
                }
                let buffered = std::mem::take(buffered);
                self.read_header(&buffered, file_header::FileExtent::Start)
            }
            State::Rows { .. } => {
                self.read_rows(bytes);
                Ok(())
            }
        }
    }

    /// Ends the file. Afterwards the last batch is ready.
    ///
    /// # Errors
    /// As [`feed`](Self::feed).
    pub fn finish(&mut self) -> Result<(), FileError> {
        if let State::Header(buffered) = &mut self.state {
            let buffered = std::mem::take(buffered);
            self.read_header(&buffered, file_header::FileExtent::Whole)?;
        }
        if let State::Rows { reader, .. } = &mut self.state
            && let Some(record) = reader.end()
        {
            self.add_record(&record);
        }
        self.close_batch();
        Ok(())
    }

    fn read_header(&mut self, buffered: &[u8], extent: file_header::FileExtent) -> Result<(), FileError> {
        let file_header::FileHeader { reader, columns, rest } =
            file_header::read(buffered, extent, &self.options.mapping, &self.options.properties)?;
        self.state = State::Rows { reader, columns };
        self.read_rows(rest);
        Ok(())
    }

    fn read_rows(&mut self, mut bytes: &[u8]) {
        while let State::Rows { reader, .. } = &mut self.state {
            let Some(record) = reader.next(&mut bytes) else { return };
            self.add_record(&record);
        }
    }

    fn add_record(&mut self, record: &CsvRecord) {
        let State::Rows { columns, .. } = &self.state else { return };
        match row::read(record, columns, &self.definitions) {
            Ok(None) => {}
            Ok(Some(item)) => {
                self.progress.rows += 1;
                let json_bytes = item.json_bytes();
                let is_full = self.pending.json_bytes + json_bytes > BATCH_JSON_BYTES_MAX;
                if is_full || self.pending.items.len() == BATCH_MAX {
                    self.close_batch();
                }
                self.pending.json_bytes += json_bytes;
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
        let PendingBatch { lines, items, json_bytes: _, errors: _ } = std::mem::take(&mut self.pending);
        if !items.is_empty() {
            self.ready.push_back(ImportBatch { lines, items });
        }
    }

    /// Returns the next batch that is ready. The caller writes it and then calls
    /// [`settle`](Self::settle).
    pub fn next_batch(&mut self) -> Option<ImportBatch> {
        let batch = self.ready.pop_front()?;
        self.unsettled.extend(batch.lines.first());
        Some(batch)
    }

    /// Counts the outcomes of a batch, in the order of its items. An item without an outcome counts as
    /// failed.
    pub fn settle(&mut self, batch: ImportBatch, outcomes: Vec<ImportOutcome>) {
        let ImportBatch { lines, items } = batch;
        self.unsettled.retain(|first| Some(first) != lines.first());
        let missing = || ImportOutcome::Failed("the server returned no outcome for this row".to_owned());
        let outcomes = outcomes.into_iter().chain(std::iter::repeat_with(missing));
        let errors_before = self.errors.len();
        for ((line, item), outcome) in lines.into_iter().zip(items).zip(outcomes) {
            match self.actual_outcome(&item, outcome) {
                ImportOutcome::Created => self.progress.created += 1,
                ImportOutcome::Updated => self.progress.updated += 1,
                ImportOutcome::Skipped => self.progress.skipped += 1,
                ImportOutcome::Failed(message) => {
                    self.progress.failed += 1;
                    self.errors.push(RowError { line, column: None, email: item.email.to_string(), message });
                }
            }
        }
        // The list already has errors of rows between and after those of the batch.
        if self.errors.len() > errors_before {
            self.errors.sort_by_key(|error| error.line);
        }
    }

    /// Returns the outcome that a run in [`RunMode::Write`] has for the item. A check of a repeated
    /// address reports `Created` in each batch, but a write creates the contact once.
    fn actual_outcome(&mut self, item: &ImportItem, outcome: ImportOutcome) -> ImportOutcome {
        if self.options.run == RunMode::Write || outcome != ImportOutcome::Created {
            return outcome;
        }
        // A hash needs eight bytes a row. A collision makes one count wrong by one.
        let mut hasher = DefaultHasher::new();
        item.email.identity().hash(&mut hasher);
        match self.options.existing {
            _ if self.created.insert(hasher.finish()) => ImportOutcome::Created,
            ExistingContacts::Upsert => ImportOutcome::Updated,
            ExistingContacts::Skip => ImportOutcome::Skipped,
        }
    }

    /// Removes and returns the errors that precede the first row without an outcome, in the order of
    /// the file.
    pub fn take_errors(&mut self) -> Vec<RowError> {
        let ready = self.ready.front().and_then(|batch| batch.lines.first());
        let open = self.pending.lines.first().into_iter().chain(ready).chain(&self.unsettled).min();
        let end = open.map_or(self.errors.len(), |open| self.errors.partition_point(|error| error.line < *open));
        self.errors.drain(..end).collect()
    }

    pub fn progress(&self) -> ImportProgress {
        self.progress
    }

    /// Returns the columns of the file; empty until the first row has been read.
    pub fn columns(&self) -> &[ImportColumn] {
        match &self.state {
            State::Header(_) => &[],
            State::Rows { columns, .. } => columns,
        }
    }

    pub fn options(&self) -> &ImportOptions {
        &self.options
    }
}
