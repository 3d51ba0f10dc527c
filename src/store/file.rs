//! The file behind the store: its directory, its lock, and its repair after a crash.

use std::any::Any;
use std::fs;
use std::io::{self, Read, Seek as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use tracing::info;

use super::OpenError;

use crate::base::sync;

/// How often the progress of a repair is told: a large file takes seconds and thousands of pages.
const LOG_INTERVAL: Duration = Duration::from_millis(500);

/// The engine's page, and the bytes by which it knows a file of its own.
const PAGE_BYTES: usize = 4096;
const MAGIC_BYTES: usize = 9;

/// Makes the data directory, for its owner alone, when it does not exist.
pub(super) fn make_directory(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    sync_parent(directory)
}

/// Makes the entry of `path` in its directory durable: a file whose name is lost with the power
/// is as lost as one that was never written.
pub(super) fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    fs::File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// Opens the file, and repairs it when the last process that had it open was killed.
pub(super) fn open(path: &Path, cache_bytes: usize) -> Result<redb::Database, OpenError> {
    let started = crate::base::clock::monotonic();
    let told = Mutex::new(Duration::ZERO);
    open_watched(path, cache_bytes, move |progress| {
        let mut told = sync::lock(&told);
        if started.elapsed() >= *told + LOG_INTERVAL {
            *told = started.elapsed();
            info!("checking the store after a crash: {:.0} %", progress * 100.0);
        }
    })
}

/// As [`open`]; `repairing` is called with the part that is done, and only when there is a repair.
pub(super) fn open_watched(
    path: &Path,
    cache_bytes: usize,
    repairing: impl Fn(f64) + 'static,
) -> Result<redb::Database, OpenError> {
    let exists = path.exists();
    let file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(|error| OpenError::Directory(path.into(), error))?;
    if !exists {
        sync_parent(path).map_err(|error| OpenError::Directory(path.into(), error))?;
    }
    clear_unfinished(&file).map_err(|error| OpenError::Directory(path.into(), error))?;
    guarded(path, || {
        redb::Database::builder()
            .set_cache_size(cache_bytes)
            .set_repair_callback(move |session| repairing(session.progress()))
            .create_file(file)
    })
}

/// Empties a file whose making was cut off: the engine would take it for no file of its own, for
/// good, though nothing was ever written to it.
fn clear_unfinished(file: &fs::File) -> io::Result<()> {
    // Whoever holds the file is making it at this moment, and the engine will say that it is in use.
    if file.metadata()?.len() == 0 || !is_unfinished(file)? || file.try_lock().is_err() {
        return Ok(());
    }
    let mut again = file;
    again.rewind()?;
    if is_unfinished(file)? { file.set_len(0) } else { Ok(()) }
}

/// Returns whether bytes are those of a file whose making was cut off. The engine writes its magic
/// number last, after a sync, and by then has written nothing but the first page.
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

/// Opens the file without the right to write, so that a look changes no byte of it; `None` when
/// that cannot be done: there is no file, it needs a repair, or another process has it open.
pub(super) fn open_read_only(path: &Path) -> Option<redb::ReadOnlyDatabase> {
    if !fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0) {
        return None;
    }
    guarded(path, || redb::Database::builder().set_cache_size(1 << 20).open_read_only(path)).ok()
}

/// Copies the closed file to `target`, whole or not at all.
pub(super) fn copy(path: &Path, target: &Path) -> io::Result<()> {
    let beside = target.with_extension("redb.new");
    let copied = fs::copy(path, &beside)
        .and_then(|_| fs::File::open(&beside)?.sync_all())
        .and_then(|()| fs::rename(&beside, target))
        .and_then(|()| sync_parent(target));
    if copied.is_err() {
        // A part of a copy would keep what little space there is.
        let _ = fs::remove_file(&beside);
    }
    copied
}

/// Runs an open of the engine. It checks most of what it reads; bytes that break an assumption of
/// it all the same are damage too, and no reason to end without a sentence.
pub(super) fn guarded<T>(path: &Path, open: impl FnOnce() -> Result<T, redb::DatabaseError>) -> Result<T, OpenError> {
    match catch_unwind(AssertUnwindSafe(open)) {
        Ok(Ok(database)) => Ok(database),
        Ok(Err(error)) => Err(refusal(path.into(), error)),
        Err(panic) => Err(OpenError::Damaged(path.into(), panic_message(panic.as_ref()).to_owned())),
    }
}

fn refusal(path: PathBuf, error: redb::DatabaseError) -> OpenError {
    match error {
        redb::DatabaseError::DatabaseAlreadyOpen => OpenError::InUse(path),
        redb::DatabaseError::Storage(redb::StorageError::Corrupted(what)) => OpenError::Damaged(path, what),
        // What the engine answers to a file that does not begin as its own do, or ends too early.
        redb::DatabaseError::Storage(redb::StorageError::Io(error))
            if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) =>
        {
            OpenError::Damaged(path, error.to_string())
        }
        redb::DatabaseError::Storage(redb::StorageError::Io(error)) => OpenError::Directory(path, error),
        error => OpenError::Engine(path, Box::new(error.into())),
    }
}

/// Returns what a panic said.
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
    fn the_parent_of_a_bare_name_is_the_working_directory() {
        assert!(sync_parent(Path::new("master.key")).is_ok());
        assert!(sync_parent(Path::new("/master.key")).is_ok());
        assert!(sync_parent(Path::new("no/such/directory/master.key")).is_err());
    }

    #[test]
    fn a_copy_that_fails_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let from = directory.path().join("from");
        fs::write(&from, "bytes").unwrap();
        // A rename never puts a file in the place of a directory.
        let target = directory.path().join("target.redb");
        fs::create_dir(&target).unwrap();

        assert!(copy(&from, &target).is_err());

        let mut names: Vec<_> =
            fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["from", "target.redb"]);
    }
}
