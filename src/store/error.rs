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
#[derive(Clone, Debug)]
pub enum StoreError {
    /// The engine failed: the disk, the file, or a transaction.
    Engine(EngineFailure, EngineError),
    /// Stored bytes cannot be decoded or opened.
    Corrupt(String),
    /// A command or a read panicked. The other commands of its group are not affected.
    Panicked,
    /// The engine failed, and the file is being opened again. Nothing was stored.
    Unavailable,
    /// The file cannot be opened again. The process ends.
    Lost(String),
    /// The store has been shut down.
    Closed,
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Engine(_, error) => write!(f, "store: {error}"),
            Self::Corrupt(what) => write!(f, "store: corrupt data: {what}"),
            Self::Panicked => f.write_str("store: a command or a read panicked"),
            Self::Unavailable => f.write_str("store: its disk is full or failed, and it is being opened again"),
            Self::Lost(why) => write!(f, "store: cannot be opened again: {why}"),
            Self::Closed => f.write_str("store: shut down"),
        }
    }
}

impl std::error::Error for StoreError {}

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
#[derive(Debug)]
pub enum OpenError {
    /// The directory could not be created or written.
    Directory(PathBuf, std::io::Error),
    /// Another process has the file open.
    InUse(PathBuf),
    /// The file was written by a newer program.
    Newer { path: PathBuf, found: u32, known: u32 },
    /// The file belongs to the other command (`dev` or `serve`).
    OtherKind { path: PathBuf, found: super::StoreKind },
    /// The master key file is missing, unreadable or invalid.
    MasterKey(PathBuf, String),
    /// The store was sealed with another master key.
    OtherKey(PathBuf),
    /// The snapshot before a migration could not be written.
    Snapshot(PathBuf, std::io::Error),
    /// A migration failed. The earlier ones are committed.
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
    /// The file is not a store or is damaged.
    Damaged(PathBuf, String),
    /// The file is empty or zeroed. A creation never leaves such a file.
    Blank(PathBuf),
    /// Another error of the engine.
    Engine(PathBuf, EngineError),
    /// A transaction during the opening failed.
    Store(StoreError),
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Directory(path, error) => write!(
                f,
                "cannot write to the data directory {} ({error}); choose another with --data-dir",
                path.display()
            ),
            Self::InUse(path) => write!(
                f,
                "another Ringmail process has {} open; stop it, or choose another directory with --data-dir",
                path.display()
            ),
            Self::Newer { path, found, known } => write!(
                f,
                "{} was written by a newer Ringmail (schema {found}; this program knows {known}); \
                 run the newer program, or restore a backup into another --data-dir",
                path.display()
            ),
            Self::OtherKind { path, found } => write!(
                f,
                "{} belongs to `ringmail {found}`; run that, or choose another directory with --data-dir",
                path.display()
            ),
            Self::MasterKey(path, why) => write!(
                f,
                "the master key {} cannot be used ({why}); name the right file with --master-key-file",
                path.display()
            ),
            Self::OtherKey(path) => write!(
                f,
                "{} was sealed with another master key, and this one cannot read it; \
                 restore the right file, or name it with --master-key-file",
                path.display()
            ),
            Self::Snapshot(path, error) => write!(
                f,
                "cannot write the snapshot {} that is made before a migration ({error}); \
                 free some space or make the directory writable, then start again",
                path.display()
            ),
            Self::Migration { path, to, name, error, snapshot } => write!(
                f,
                "{} could not be migrated to schema {to}, {name} ({error}); a copy of the file before the migration is at {}",
                path.display(),
                snapshot.display()
            ),
            Self::Damaged(path, why) => write!(
                f,
                "{} is not a Ringmail store or is damaged ({why}); \
                 restore a backup, or choose another directory with --data-dir",
                path.display()
            ),
            Self::Blank(path) => write!(
                f,
                "{} is empty, so its data is lost; restore a backup, or move the file away to start with an empty store",
                path.display()
            ),
            Self::Engine(path, error) => write!(f, "cannot open {}: {error}", path.display()),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OpenError {}

from_store_error!(OpenError);
