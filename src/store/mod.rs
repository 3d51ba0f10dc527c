//! The store: one redb file with concurrent reads and one writer thread.
//!
//! [`Store::read`] runs a closure over a consistent view, on a thread that may block. [`Store::write`]
//! queues a command for the writer thread and returns after the commit that contains it.
//!
//! Files, in reading order:
//! - `key.rs`, `hash.rs` and `value.rs`: encoding of keys and values;
//! - `fields.rs`: reads of single fields without decoding the row;
//! - `table.rs`, `reads.rs` and `transaction.rs`: tables; get and scan; put and delete;
//! - `meta.rs` and `nodes.rs`: the tables of the store itself; the processes that open it;
//! - `page.rs` and `cursors.rs`: lists, and the cursors of deleted rows;
//! - `match_page.rs`: pages of a table, for work over many rows;
//! - `scan_limit.rs`: limit of a scan whose rows can match or not;
//! - `orphans.rs`: child rows of deleted parents;
//! - `chunks.rs`: values too large for one row;
//! - `packing.rs`: compression;
//! - `queue.rs`, `writer.rs` and `commits.rs`: queued commands, the thread that applies them, and their group commit;
//! - `reopening.rs`: opening of the file again after the disk was full or failed;
//! - `seal.rs`: encryption at rest;
//! - `file.rs` and `opening.rs`: opening and repair of the file; the store and its key together;
//! - `compaction.rs`: compaction of a file that no process has open;
//! - `space.rs` and `figures.rs`: free space of the disk; figures for monitoring;
//! - `migrations/`: schema versions;
//! - `error.rs`.
//!
//! Invariants:
//! - One command writes a fact and everything that follows from it, so that a kill leaves all of it
//!   or nothing.
//! - No redb type leaves this folder.
//! - A row is read and written only by the folder that owns its table (`src/tables/mod.rs`).
//! - This folder does not depend on the meaning of rows.

pub mod meta;
pub mod migrations;
pub mod page;

mod chunks;
mod commits;
mod compaction;
mod cursors;
mod error;
mod fields;
mod figures;
mod file;
mod hash;
mod key;
mod match_page;
mod nodes;
mod opening;
mod orphans;
mod packing;
mod queue;
mod reads;
mod reopening;
mod scan_limit;
mod seal;
mod space;
mod table;
mod transaction;
mod value;
mod writer;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, RwLock};

use tokio::sync::Semaphore;
use tracing::error;

pub use chunks::{CHUNK_BYTES, CHUNKS_PER_COMMIT, Chunks, chunk_bytes, read_chunks};
pub use compaction::{Compaction, compact};
pub use cursors::{purge_deleted_cursors, was_listed};
pub(crate) use error::from_store_error;
pub use error::{EngineError, EngineFailure, OpenError, StoreError, skip_corrupt};
pub use fields::{RawValue, RowFields};
pub use figures::StoreFigures;
pub use hash::{NameHash, name_hash};
pub use key::{Key, KeyBytes, KeyOf, KeyPart};
pub use match_page::{MatchPage, match_keys, match_page, rows_after};
pub use meta::StoreKind;
pub use nodes::{NodeId, NodeRow, has_other_alive, is_alive, renew};
pub(crate) use opening::{open_in_time, open_with_key};
pub use orphans::delete_orphans;
pub use packing::{compress, decompress, pack, packed_text, unpack};
pub use queue::{LARGE_BULK_BYTES, WAITING_MAX};
pub use reads::{NEXT, Order, ReadTx, Reads, STOP, ScanStep, Stored};
pub use scan_limit::ScanLimit;
pub use seal::Keyring;
pub use space::{DiskReserve, Space};
pub use table::Table;
pub use transaction::WriteTx;
pub use value::{Blob, Encoded, Row, Value};

use queue::WriteQueue;
use reopening::OpenFile;
use space::DiskSpace;
use writer::Writer;

use crate::base::blocking;
use crate::base::boxed::{Boxed, unboxed};
use crate::base::opaque::Opaque;
use crate::base::recent::Recent;
use crate::base::sync;

/// Name of the file in the data directory.
pub const FILE_NAME: &str = "ringmail.redb";
/// Maximum number of concurrent reads. More do not help on two cores, and each pins a view of the file.
const READS_MAX: usize = 16;

/// Options of [`Store::open`].
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// The data directory. Created if it does not exist.
    pub directory: PathBuf,
    /// Command that opens the store.
    pub kind: StoreKind,
    /// Memory for cached pages.
    pub cache_bytes: usize,
}

/// Handle of the open store. Cheap to clone.
#[derive(Clone)]
pub struct Store(Opaque<StoreInner>);

/// A read or a command, up to its result.
type Running<'a> = Pin<Box<dyn Future<Output = Result<Boxed, StoreError>> + Send + 'a>>;

/// The open database; `None` while the file is being opened again, and after the store is closed. A read holds the lock
/// only while it opens its view.
type DatabaseSlot = Arc<RwLock<Option<Arc<redb::Database>>>>;

struct StoreInner {
    database: DatabaseSlot,
    writer: Writer,
    reads: Arc<Semaphore>,
    /// Panics of reads and commands.
    panics: Arc<Recent>,
    path: PathBuf,
    epoch: u32,
    space: DiskSpace,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("path", &self.0.path).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the store of a data directory, migrates an older one, and starts a new boot epoch. Blocks.
    ///
    /// # Errors
    /// [`OpenError`]; its text names the next step.
    pub fn open(options: &OpenOptions) -> Result<Self, OpenError> {
        let (database, path) = Self::open_file(options)?;
        Self::start(database, path, options, None, None)
    }

    /// Opens the file, without a migration and without a new boot epoch.
    fn open_file(options: &OpenOptions) -> Result<(redb::Database, PathBuf), OpenError> {
        let path = options.directory.join(FILE_NAME);
        file::make_directory(&options.directory)
            .map_err(|error| OpenError::Directory(options.directory.clone(), error))?;
        migrations::refuse_unfit(&path, options.kind)?;
        let database = file::open(&path, options.cache_bytes)?;
        Ok((database, path))
    }

    /// Migrates an open file and starts a boot epoch. Refuses another master key than the one that sealed the store.
    /// `open_again` opens the file after a failure; by default the file at `path`.
    fn start(
        database: redb::Database,
        path: PathBuf,
        options: &OpenOptions,
        keyring: Option<&Keyring>,
        open_again: Option<OpenFile>,
    ) -> Result<Self, OpenError> {
        // The closure owns the database, so that a panic drops it while it unwinds. The engine then writes nothing.
        let (database, row) = file::guarded_start(&path, || {
            let database = Arc::new(migrations::bring_up_to_date(database, &path, options)?);
            let row = migrations::begin_epoch(&database, &path, keyring)?;
            Ok((database, row))
        })?;
        let (epoch, slot) = (row.epoch, Arc::new(RwLock::new(Some(database))));
        let (counted, reopened, cache_bytes) = (path.clone(), path.clone(), options.cache_bytes);
        let file_bytes = move || std::fs::metadata(&counted).map_or(0, |metadata| metadata.len());
        let open_again =
            open_again.unwrap_or_else(|| Box::new(move || file::open_existing(&reopened, cache_bytes)) as OpenFile);
        let panics = Arc::new(Recent::default());
        let writer = Writer::start(Arc::clone(&slot), row, Arc::clone(&panics), file_bytes, open_again);
        let reads = Arc::new(Semaphore::new(READS_MAX));
        let space = DiskSpace::default();
        Ok(Self(Opaque::new(StoreInner { database: slot, writer, reads, panics, path, epoch, space })))
    }

    /// Runs `work` over a consistent view of the store, on a thread that may block. Keep it under
    /// 1,000 rows or 200 ms: the file cannot reuse space while a view is open. If the returned future
    /// is dropped, `work` still runs to its end.
    ///
    /// # Errors
    /// The error of `work`, [`StoreError`] if the view cannot be opened, or [`StoreError::Panicked`] if `work` panics.
    pub fn read<T, E>(
        &self,
        work: impl FnOnce(&ReadTx) -> Result<T, E> + Send + 'static,
    ) -> impl Future<Output = Result<T, E>> + Send
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let running = self.read_boxed(Box::new(move |tx| Box::new(work(tx))));
        async move { unboxed(running.await?) }
    }

    fn read_boxed(&self, work: Box<dyn FnOnce(&ReadTx) -> Boxed + Send>) -> Running<'_> {
        Box::pin(async {
            let Ok(permit) = Arc::clone(&self.0.reads).acquire_owned().await else {
                return Err(StoreError::Closed);
            };
            let store = self.clone();
            let read = move || {
                // The thread owns the permit, because the caller may drop its future before the read ends.
                let _permit = permit;
                catch_unwind(AssertUnwindSafe(|| store.read_now(|tx| Ok(work(tx))))).unwrap_or_else(|panic| {
                    error!("a read of the store panicked: {}", file::panic_message(panic.as_ref()));
                    store.0.panics.record();
                    Err(StoreError::Panicked)
                })
            };
            blocking::run(read).await
        })
    }

    /// Runs `work` over a consistent view on the calling thread. Blocks.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn read_now<T, E: From<StoreError>>(&self, work: impl FnOnce(&ReadTx) -> Result<T, E>) -> Result<T, E> {
        let tx = self.begin_read()?;
        let done = work(&tx);
        if tx.has_failed() {
            self.0.writer.report_failure();
        }
        done
    }

    fn begin_read(&self) -> Result<ReadTx, StoreError> {
        let begun = {
            let database = sync::read(&self.0.database);
            match database.as_deref() {
                Some(database) => ReadTx::begin(database),
                None if self.0.writer.is_suspended() => Err(StoreError::Unavailable),
                None => Err(StoreError::Closed),
            }
        };
        begun.inspect_err(|error| {
            if error.is_io() {
                self.0.writer.report_failure();
            }
        })
    }

    /// Applies `work` in a write transaction and returns after the commit. If the returned future is
    /// dropped after the command is queued, the command is still committed.
    ///
    /// `work` must validate before it writes: if it fails after a write, the whole group runs again.
    /// It may therefore run more than once.
    ///
    /// # Errors
    /// The error of `work`, or [`StoreError`] if the commit fails.
    pub fn write<T, E>(
        &self,
        work: impl Fn(&WriteTx<'_>) -> Result<T, E> + Send + 'static,
    ) -> impl Future<Output = Result<T, E>> + Send
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.write_sized(1_024, work)
    }

    /// Does the same as [`Store::write`], for a command that stores approximately `bytes` bytes.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn write_sized<T, E>(
        &self,
        bytes: usize,
        work: impl Fn(&WriteTx<'_>) -> Result<T, E> + Send + 'static,
    ) -> impl Future<Output = Result<T, E>> + Send
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.0.writer.run(WriteQueue::Foreground, bytes, work)
    }

    /// Does the same as [`Store::write`], in the bulk queue, for background work that must not delay requests.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn write_bulk<T, E>(
        &self,
        work: impl Fn(&WriteTx<'_>) -> Result<T, E> + Send + 'static,
    ) -> impl Future<Output = Result<T, E>> + Send
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.write_bulk_sized(1_024, work)
    }

    /// Does the same as [`Store::write_bulk`], for a command that stores approximately `bytes` bytes.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn write_bulk_sized<T, E>(
        &self,
        bytes: usize,
        work: impl Fn(&WriteTx<'_>) -> Result<T, E> + Send + 'static,
    ) -> impl Future<Output = Result<T, E>> + Send
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.0.writer.run(WriteQueue::Bulk, bytes, work)
    }

    /// Returns the boot epoch, which is incremented at each opening.
    pub fn epoch(&self) -> u32 {
        self.0.epoch
    }

    /// Returns the node of this opening. A lease of another node is valid while [`is_alive`] returns `true` for it.
    pub fn node(&self) -> NodeId {
        NodeId::new(self.0.epoch)
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Waits until the engine fails permanently, and returns the error. A full disk is no such failure: the file is
    /// opened again until that succeeds. Pending while the store can recover.
    pub async fn failed(&self) -> StoreError {
        self.0.writer.failed().await
    }

    /// Returns whether the engine has failed, or a read or a command panicked in the last minute.
    pub fn is_failing(&self) -> bool {
        !self.is_available() || self.0.panics.is_recent()
    }

    /// Returns whether the engine accepts transactions. It does not while the file is being opened again.
    pub fn is_available(&self) -> bool {
        self.0.writer.is_working()
    }

    /// Waits until the engine accepts transactions, or has failed permanently. Cancel safe. Never returns if the store is
    /// closed while its file is being opened again.
    pub async fn available(&self) {
        self.0.writer.available().await;
    }

    /// Commits the queued commands and closes the file, so that another process can open it without a
    /// repair. Later reads and writes return [`StoreError::Closed`], and running reads fail when they access
    /// the file.
    pub async fn close(&self) {
        let store = self.clone();
        blocking::run(move || {
            store.0.writer.stop();
            sync::write(&store.0.database).take();
        })
        .await;
    }
}

impl Drop for StoreInner {
    fn drop(&mut self) {
        self.writer.stop();
    }
}

#[cfg(test)]
pub(crate) mod tests;
