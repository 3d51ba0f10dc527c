//! The file of the store: its directory, its lock, and its repair after a crash.

use std::any::Any;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tracing::info;

use super::OpenError;
use crate::base::sync;

/// Interval between log lines about the progress of a repair. A large file has thousands of pages and
/// takes seconds.
const LOG_INTERVAL: Duration = Duration::from_millis(500);

/// Page size of the engine.
const PAGE_BYTES: usize = 4096;
/// Length of the magic number at the start of the engine's files.
const MAGIC_BYTES: usize = 9;

/// Creates the data directory with mode 0700 if it does not exist.
pub(super) fn make_directory(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    sync_parent(directory)
}

/// Syncs the directory of `path`, so that the name of the file survives a power failure.
pub(super) fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    fs::File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// Opens the file, and repairs it if the last process that opened it was killed.
pub(super) fn open(path: &Path, cache_bytes: usize) -> Result<redb::Database, OpenError> {
    let started = crate::base::clock::monotonic();
    let logged_at = Mutex::new(Duration::ZERO);
    open_watched(path, cache_bytes, move |progress| {
        let mut logged_at = sync::lock(&logged_at);
        if started.elapsed() >= *logged_at + LOG_INTERVAL {
            *logged_at = started.elapsed();
            info!("checking the store after a crash: {:.0} %", progress * 100.0);
        }
    })
}

/// Does the same as [`open`], without creating the file: its file system may be unmounted.
pub(super) fn open_existing(path: &Path, cache_bytes: usize) -> Result<redb::Database, OpenError> {
    fs::metadata(path).map_err(|error| OpenError::Directory(path.into(), error))?;
    open(path, cache_bytes)
}

/// Does the same as [`open`]. During a repair, calls `repairing` with the completed fraction.
pub(super) fn open_watched(
    path: &Path,
    cache_bytes: usize,
    repairing: impl Fn(f64) + 'static,
) -> Result<redb::Database, OpenError> {
    let failed = |error| OpenError::Directory(path.into(), error);
    if !path.exists() {
        return create(path, cache_bytes);
    }
    let file = fs::OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
    if is_unfinished(&file).map_err(failed)? {
        return Err(OpenError::Blank(path.into()));
    }
    guarded(path, || {
        redb::Database::builder()
            .set_cache_size(engine_cache_bytes(cache_bytes))
            .set_repair_callback(move |session| repairing(session.progress()))
            .create_file(file)
    })
}

/// Returns the cache size of the engine, which counts the bytes of pages, for an amount of memory. jemalloc rounds a page
/// with its reference counts up to the next size, which is a quarter larger.
const fn engine_cache_bytes(memory_bytes: usize) -> usize {
    memory_bytes / 5 * 4
}

/// Creates the file under a temporary name, and renames it when it is complete. After a kill there is therefore no
/// file, or a complete one. The next creation replaces a temporary file that is left.
fn create(path: &Path, cache_bytes: usize) -> Result<redb::Database, OpenError> {
    let failed = |error| OpenError::Directory(path.into(), error);
    let beside = path.with_extension("redb.new");
    let file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&beside)
        .map_err(failed)?;
    // A process that creates the file at the same time has the lock.
    if matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)) {
        return Err(OpenError::InUse(path.into()));
    }
    // That process may have renamed its file after the check of the caller. Then this is another, empty file.
    if path.exists() {
        fs::remove_file(&beside).map_err(failed)?;
        return Err(OpenError::InUse(path.into()));
    }
    file.set_len(0).map_err(failed)?;
    let written = file.try_clone().map_err(failed)?;
    let database =
        guarded(path, || redb::Database::builder().set_cache_size(engine_cache_bytes(cache_bytes)).create_file(file))?;
    let renamed = written.sync_all().and_then(|()| fs::rename(&beside, path)).and_then(|()| sync_parent(path));
    renamed.map_err(failed)?;
    Ok(database)
}

/// Returns whether a file is empty, or whether it has neither the magic number of the engine nor a byte after its first
/// page. The engine writes its magic number last, after a sync.
pub(super) fn is_unfinished(mut bytes: impl Read) -> io::Result<bool> {
    let mut page = Vec::with_capacity(PAGE_BYTES);
    bytes.by_ref().take(PAGE_BYTES as u64).read_to_end(&mut page)?;
    let magic = &page[..page.len().min(MAGIC_BYTES)];
    let mut blank = magic.iter().all(|byte| *byte == 0);
    while blank && page.len() == PAGE_BYTES {
        page.clear();
        bytes.by_ref().take(PAGE_BYTES as u64).read_to_end(&mut page)?;
        blank = page.iter().all(|byte| *byte == 0);
    }
    Ok(blank)
}

/// Opens the file read-only, so that no byte of it changes. `None` if there is no file, it needs a repair, or another
/// process has it open.
pub(super) fn open_read_only(path: &Path) -> Option<redb::ReadOnlyDatabase> {
    if !fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0) {
        return None;
    }
    guarded(path, || redb::Database::builder().set_cache_size(1 << 20).open_read_only(path)).ok()
}

/// Copies the closed file to `target` atomically.
pub(super) fn copy(path: &Path, target: &Path) -> io::Result<()> {
    let beside = target.with_extension("redb.new");
    let copied = fs::copy(path, &beside)
        .and_then(|_| fs::File::open(&beside)?.sync_all())
        .and_then(|()| fs::rename(&beside, target))
        .and_then(|()| sync_parent(target));
    if copied.is_err() {
        // The disk may be full, so that a partial copy must not stay.
        let _ = fs::remove_file(&beside);
    }
    copied
}

/// Runs an open of the engine. The engine checks most bytes that it reads. A panic about the others is
/// reported as damage, so that the process ends with an error message.
pub(super) fn guarded<T>(path: &Path, open: impl FnOnce() -> Result<T, redb::DatabaseError>) -> Result<T, OpenError> {
    match catch_unwind(AssertUnwindSafe(open)) {
        Ok(Ok(database)) => Ok(database),
        Ok(Err(error)) => Err(refusal(path.into(), error)),
        Err(panic) => Err(OpenError::Damaged(path.into(), panic_message(panic.as_ref()).to_owned())),
    }
}

/// Does the same as [`guarded`], for the first transactions of an open file.
pub(super) fn guarded_start<T>(path: &Path, start: impl FnOnce() -> Result<T, OpenError>) -> Result<T, OpenError> {
    catch_unwind(AssertUnwindSafe(start))
        .unwrap_or_else(|panic| Err(OpenError::Damaged(path.into(), panic_message(panic.as_ref()).to_owned())))
}

fn refusal(path: PathBuf, error: redb::DatabaseError) -> OpenError {
    match error {
        redb::DatabaseError::DatabaseAlreadyOpen => OpenError::InUse(path),
        redb::DatabaseError::Storage(redb::StorageError::Corrupted(what)) => OpenError::Damaged(path, what),
        // Error of the engine for a file without its magic number, or one that is too short.
        redb::DatabaseError::Storage(redb::StorageError::Io(error))
            if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) =>
        {
            OpenError::Damaged(path, error.to_string())
        }
        redb::DatabaseError::Storage(redb::StorageError::Io(error)) => OpenError::Directory(path, error),
        error => OpenError::Engine(path, Arc::new(error)),
    }
}

/// Returns the message of a panic.
pub(super) fn panic_message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_of_a_file_name_is_the_working_directory() {
        assert!(sync_parent(Path::new("master.key")).is_ok());
        assert!(sync_parent(Path::new("/master.key")).is_ok());
        assert!(sync_parent(Path::new("no/such/directory/master.key")).is_err());
    }

    #[test]
    fn a_failed_copy_leaves_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let from = directory.path().join("from");
        fs::write(&from, "bytes").unwrap();
        // A rename does not replace a directory by a file.
        let target = directory.path().join("target.redb");
        fs::create_dir(&target).unwrap();

        assert!(copy(&from, &target).is_err());

        let mut names: Vec<_> =
            fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["from", "target.redb"]);
    }
}
