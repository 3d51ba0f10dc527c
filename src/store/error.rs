//! Failures of the store. The caller of the API causes none of them.

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;

use tracing::error;

/// An error of the engine as a trait object. Its type would add most types of the engine to each proof of `Send`
/// (`base/opaque.rs`).
pub type EngineError = Arc<dyn std::error::Error + Send + Sync>;

/// Effect of an error of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineFailure {
    /// The file could not be accessed. The engine rejects every transaction until it is opened again.
    Io,
    /// The file is damaged. The engine rejects every transaction until it is opened again.
    Corrupted,
    /// Only this transaction failed.
    Other,
}

/// A failure of the store during a transaction.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The engine failed: the disk, the file, or a transaction.
    #[error("store: {1}")]
    Engine(EngineFailure, EngineError),
    /// Stored bytes cannot be decoded or opened.
    #[error("store: corrupt data: {0}")]
    Corrupt(String),
    /// A command or a read panicked. The other commands of its group are not affected.
    #[error("store: a command or a read panicked")]
    Panicked,
    /// The engine failed, and the file is being opened again. Nothing was stored.
    #[error("store: its disk is full or failed, and it is being opened again")]
    Unavailable,
    /// The file cannot be opened again. The process ends.
    #[error("store: cannot be opened again: {0}")]
    Lost(String),
    #[error("store: shut down")]
    Closed,
}

impl StoreError {
    fn from_engine(error: redb::Error) -> Self {
        use redb::Error::{Corrupted, DatabaseClosed, Io, LockPoisoned, PreviousIo};
        let failure = match error {
            // The file was closed during a read: it is being opened again, or the store was shut down.
            DatabaseClosed => return Self::Unavailable,
            Io(_) | PreviousIo | LockPoisoned(_) => EngineFailure::Io,
            Corrupted(_) => EngineFailure::Corrupted,
            _ => EngineFailure::Other,
        };
        Self::Engine(failure, Arc::new(error))
    }

    /// Returns whether the engine rejects every transaction after this error, until it is opened again.
    pub(super) fn is_final(&self) -> bool {
        matches!(self, Self::Engine(EngineFailure::Io | EngineFailure::Corrupted, _))
    }

    /// Returns whether the engine could not access its file.
    pub(super) fn is_io(&self) -> bool {
        matches!(self, Self::Engine(EngineFailure::Io, _))
    }

    /// Returns whether the command can succeed later: the disk is full, or failed, and the file is opened again.
    pub fn is_outage(&self) -> bool {
        matches!(self, Self::Unavailable) || self.is_io()
    }
}

/// Replaces a corrupt value by `None` and logs it. Use it in work over many rows, which one corrupt row must
/// not end; [`Reads::scan_valid`](super::Reads::scan_valid), [`Reads::get_valid`](super::Reads::get_valid),
/// [`Stored::valid`](super::Stored::valid) and the functions of `page.rs` do it for rows.
///
/// # Errors
/// Every failure except [`StoreError::Corrupt`].
pub fn skip_corrupt<T>(read: Result<T, StoreError>, what: impl Display) -> Result<Option<T>, StoreError> {
    match read {
        Err(failure @ StoreError::Corrupt(_)) => {
            log_corrupt(what, &failure);
            Ok(None)
        }
        read => read.map(Some),
    }
}

/// Logs a corrupt row that is skipped.
pub(super) fn log_corrupt(what: impl Display, failure: &StoreError) {
    error!("skipped a corrupt row: {what}: {failure}");
}

/// Implements `From<StoreError>` for error types that have a variant `Store(StoreError)`.
macro_rules! from_store_error {
    ($($error:ty),+ $(,)?) => { $(
        impl From<$crate::store::StoreError> for $error {
            fn from(error: $crate::store::StoreError) -> Self {
                Self::Store(error)
            }
        }
    )+ };
}
pub(crate) use from_store_error;

macro_rules! from_engine {
    ($($error:ty),+ $(,)?) => { $(
        impl From<$error> for StoreError {
            fn from(error: $error) -> Self {
                Self::from_engine(error.into())
            }
        }
    )+ };
}
from_engine!(redb::StorageError, redb::TableError, redb::TransactionError, redb::CommitError, redb::SetDurabilityError,);

/// Failure to open a store. `Display` names the next step.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The directory could not be created or written.
    #[error("cannot write to the data directory {0} ({1}); choose another with --data-dir")]
    Directory(PathBuf, std::io::Error),
    #[error("another Ringmail process has {0} open; stop it, or choose another directory with --data-dir")]
    InUse(PathBuf),
    #[error(
        "{path} was written by a newer Ringmail (schema {found}; this program knows {known}); \
         run the newer program, or restore a backup into another --data-dir"
    )]
    Newer { path: PathBuf, found: u32, known: u32 },
    #[error("{path} belongs to `ringmail {found}`; run that, or choose another directory with --data-dir")]
    OtherKind { path: PathBuf, found: super::StoreKind },
    /// The master key file is missing, unreadable or invalid.
    #[error("the master key {0} cannot be used ({1}); name the right file with --master-key-file")]
    MasterKey(PathBuf, String),
    #[error(
        "{0} was sealed with another master key, and this one cannot read it; \
         restore the right file, or name it with --master-key-file"
    )]
    OtherKey(PathBuf),
    #[error(
        "cannot write the snapshot {0} that is made before a migration ({1}); \
         free some space or make the directory writable, then start again"
    )]
    Snapshot(PathBuf, std::io::Error),
    /// A migration failed. The earlier ones are committed.
    #[error(
        "{path} could not be migrated to schema {to}, {name} ({error}); a copy of the file before the migration is at {snapshot}"
    )]
    Migration {
        path: PathBuf,
        /// The schema version after the failed step.
        to: u32,
        /// Description of the step.
        name: &'static str,
        error: StoreError,
        /// Copy of the file before the first step.
        snapshot: PathBuf,
    },
    #[error(
        "{0} is not a Ringmail store or is damaged ({1}); \
         restore a backup, or choose another directory with --data-dir"
    )]
    Damaged(PathBuf, String),
    /// The file is empty or zeroed. A creation never leaves such a file.
    #[error("{0} is empty, so its data is lost; restore a backup, or move the file away to start with an empty store")]
    Blank(PathBuf),
    /// Another error of the engine.
    #[error("cannot open {0}: {1}")]
    Engine(PathBuf, EngineError),
    /// A transaction during the opening failed.
    #[error("{0}")]
    Store(StoreError),
}

from_store_error!(OpenError);
