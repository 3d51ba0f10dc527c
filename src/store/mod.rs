//! The store: one redb file behind two doors.
//!
//! [`Store::read`] gives a consistent view on a thread that may block; [`Store::write`] queues a
//! command for the one writer thread and answers after the commit that contains it. Everything a
//! fact implies is written by the command that writes the fact, so a kill at any line leaves
//! either all of it or none.
//!
//! Reading order: `tables.rs` (every table), `key.rs`, `hash.rs` and `value.rs` (how keys and values
//! lie on disk), `fields.rs` (rows read without being decoded), `transaction.rs` (get, scan, put,
//! delete), `page.rs` (lists), `match_page.rs` (bounded scans for rows to change), `orphans.rs` (child rows of
//! deleted parents), `chunks.rs` (values too large for one row), `queue.rs` (commands that
//! wait), `writer.rs` (group commit), `seal.rs` (encryption at rest), `file.rs` (opening and repair),
//! `opening.rs` (store and key together), `migrations/` (schema versions), `error.rs`.
//!
//! Invariants: no redb type leaves this folder; a row is read and written by its own noun's
//! `store.rs` alone; nothing here knows what a row means.

pub mod meta;
pub mod migrations;
pub mod page;

mod chunks;
mod error;
mod fields;
mod file;
mod hash;
mod key;
mod match_page;
mod opening;
mod orphans;
mod queue;
mod seal;
mod transaction;
mod value;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

pub use chunks::{Chunks, read_chunks};
pub(crate) use error::from_store_error;
pub use error::{OpenError, StoreError, skip_corrupt};
pub use fields::{RawValue, RowFields};
pub use hash::{NameHash, name_hash};
pub use key::{Key, KeyBytes, KeyPart};
pub use match_page::{MatchPage, match_page};
pub(crate) use opening::open_in_time;
pub use orphans::delete_orphans;
pub use queue::WAITING_MAX;
pub use seal::Keyring;
pub use transaction::{NEXT, Order, ReadTx, Reads, STOP, Step, Stored, Table, WriteTx};
pub use value::{Blob, Encoded, Row, Value};

use queue::WriteQueue;
use writer::Writer;

use crate::base::blocking;
use crate::base::sync;

/// The file's name inside the data directory.
pub const FILE_NAME: &str = "ringmail.redb";
/// Reads that run at once. Two cores gain nothing from more, and each pins its view of the file.
const READS_MAX: usize = 16;

/// Which command a store belongs to; neither opens the other's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreKind {
    /// `ringmail serve`: real mail.
    Serve,
    /// `ringmail dev`: development and tests.
    Dev,
}

impl std::fmt::Display for StoreKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Serve => "serve",
            Self::Dev => "dev",
        })
    }
}

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// The data directory; made when it does not exist.
    pub directory: PathBuf,
    /// Which command opens it.
    pub kind: StoreKind,
    /// Bytes of pages kept in memory.
    pub cache_bytes: usize,
}

/// The two doors of the store. Cheap to clone.
#[derive(Clone)]
pub struct Store(Arc<StoreInner>);

struct StoreInner {
    /// `None` once the store is closed. Reads hold the lock only to begin.
    database: RwLock<Option<Arc<redb::Database>>>,
    writer: Writer,
    reads: Arc<Semaphore>,
    path: PathBuf,
    epoch: u32,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("path", &self.0.path).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the store of a data directory, migrates it when it is older, and begins a new boot
    /// epoch. Blocks; call it before the runtime serves anything.
    ///
    /// # Errors
    /// [`OpenError`], whose sentence names what would help.
    pub fn open(options: &OpenOptions) -> Result<Self, OpenError> {
        let path = options.directory.join(FILE_NAME);
        file::make_directory(&options.directory)
            .map_err(|error| OpenError::Directory(options.directory.clone(), error))?;
        migrations::refuse_unfit(&path, options.kind)?;
        let database = file::open(&path, options.cache_bytes)?;
        Self::start(database, path, options)
    }

    fn start(database: redb::Database, path: PathBuf, options: &OpenOptions) -> Result<Self, OpenError> {
        let database = Arc::new(migrations::bring_up_to_date(database, &path, options)?);
        let epoch = migrations::begin_epoch(&database)?;
        let counted = path.clone();
        let writer = Writer::start(Arc::clone(&database), move || {
            std::fs::metadata(&counted).map_or(0, |metadata| metadata.len())
        });
        let reads = Arc::new(Semaphore::new(READS_MAX));
        Ok(Self(Arc::new(StoreInner { database: RwLock::new(Some(database)), writer, reads, path, epoch })))
    }

    /// Runs `work` over a consistent view of the store, on a thread that may block. Keep it under
    /// 1,000 rows or 200 ms: a view that stays open stops the file from reusing space.
    ///
    /// # Errors
    /// What `work` answers, and [`StoreError`] when the view cannot be opened.
    pub async fn read<T, E>(&self, work: impl FnOnce(&ReadTx) -> Result<T, E> + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let Ok(place) = Arc::clone(&self.0.reads).acquire_owned().await else {
            return Err(StoreError::Closed.into());
        };
        let store = self.clone();
        blocking::run(move || {
            // The place is the thread's: it stays taken when the caller has gone away.
            let _place = place;
            store.read_now(work)
        })
        .await
    }

    /// Runs `work` over a consistent view on the calling thread, which must be one that may block.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn read_now<T, E: From<StoreError>>(&self, work: impl FnOnce(&ReadTx) -> Result<T, E>) -> Result<T, E> {
        let tx = {
            let database = sync::read(&self.0.database);
            let Some(database) = database.as_deref() else { return Err(StoreError::Closed.into()) };
            ReadTx::begin(database)?
        };
        work(&tx)
    }

    /// Applies `work` inside a write transaction and answers after the commit. `work` may run more
    /// than once and must validate before it writes: failing after a write costs the whole group
    /// a second run.
    ///
    /// # Errors
    /// What `work` answers, and [`StoreError`] when the commit fails.
    pub async fn write<T, E>(&self, work: impl Fn(&WriteTx<'_>) -> Result<T, E> + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.write_sized(1_024, work).await
    }

    /// As [`Store::write`], for a command that stores about `bytes` of payload.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub async fn write_sized<T, E>(
        &self,
        bytes: usize,
        work: impl Fn(&WriteTx<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.0.writer.run(WriteQueue::Foreground, bytes, work).await
    }

    /// As [`Store::write`], in the lane of our own bulk work, which never keeps a request waiting.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub async fn write_bulk<T, E>(&self, work: impl Fn(&WriteTx<'_>) -> Result<T, E> + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.write_bulk_sized(1_024, work).await
    }

    /// As [`Store::write_bulk`], for a command that stores about `bytes` of payload.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub async fn write_bulk_sized<T, E>(
        &self,
        bytes: usize,
        work: impl Fn(&WriteTx<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.0.writer.run(WriteQueue::Bulk, bytes, work).await
    }

    /// Returns the number of this boot, one higher at every start: what leases are held under.
    pub fn epoch(&self) -> u32 {
        self.0.epoch
    }

    /// Returns the file's path.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Waits until the engine has failed in a way that only a restart mends, and says why: after
    /// an I/O error it refuses everything, because what lies on the disk is no longer certain.
    /// Never answers while the store works.
    pub async fn failed(&self) -> StoreError {
        self.0.writer.failed().await
    }

    /// Commits what waits, makes the next open instant, and closes the file, which another process
    /// may open from then on. Later calls of either door answer [`StoreError::Closed`], and so do
    /// reads still under way once they need the file.
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
mod tests;
