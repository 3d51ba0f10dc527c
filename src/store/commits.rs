//! The writer thread: it applies the queued commands in one transaction and commits them as a group.
//!
//! There is no fixed delay: the next group collects in the queues while a commit is in progress. If a
//! command fails after a write, the transaction is aborted and the group is applied again without it.
//! Commands are therefore `Fn` and may run more than once.
//!
//! If the engine fails, the thread opens the file again (`reopening.rs`) and repeats that until it succeeds. Until then,
//! commands are rejected. A commit that failed may be on the disk. Its commands get their results after the first
//! attempt to open the file, which shows whether it is. If that attempt fails too, they are rejected. If the commit
//! nevertheless turns out to be on the disk, the store fails permanently, because data in memory depends on the results.
//!
//! Invariants:
//! - The result of a command is sent after the commit that contains its writes, even if the caller
//!   dropped its future.
//! - A group without writes makes no commit.
//! - Every queued command gets a result, even if the thread panics.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use tracing::{error, info};

use super::file::panic_message;
use super::meta::{EPOCH, EpochRow, MetaKey};
use super::queue::QueuedCommand;
use super::reopening::OpenFile;
use super::transaction::{AfterCommit, WriteTx};
use super::writer::{WriterShared, reject};
use super::{DatabaseSlot, StoreError};
use crate::base::clock::monotonic;

/// Idle time after which an empty commit with quick repair is made, so that the file opens fast after a
/// crash.
const IDLE_BEFORE_QUICK_REPAIR: Duration = Duration::from_millis(100);
/// Interval of these commits while the store is busy and its file is small.
const QUICK_REPAIR_EVERY: Duration = Duration::from_secs(20);
/// File size above which a busy store makes no such commit. The allocator state that each one writes costs more than
/// the repair that it avoids.
const QUICK_REPAIR_FILE_BYTES_MAX: u64 = 2 << 30;

/// Result of the transaction of a group.
enum Attempt {
    Committed,
    /// No command wrote a row.
    NoWrites,
    /// A command failed after a write, or panicked.
    Aborted {
        /// Index of the command in the group.
        index: usize,
        failure: Option<StoreError>,
    },
    /// The commit failed, and may be on the disk.
    InDoubt {
        failure: StoreError,
        callbacks: Vec<AfterCommit>,
    },
}

/// A group whose commit failed, and may be on the disk.
pub(super) struct DoubtfulGroup {
    pub(super) group: Vec<QueuedCommand>,
    pub(super) callbacks: Vec<AfterCommit>,
}

enum Wake {
    Group(Vec<QueuedCommand>),
    Idle,
    Failed,
    Closed,
}

pub(super) struct WriterLoop<B> {
    /// `None` while the file is being opened again.
    pub(super) database: Option<Arc<redb::Database>>,
    /// The database for reads.
    pub(super) slot: DatabaseSlot,
    /// Row of the boot epoch, with the number of the last commit that was tried.
    pub(super) epoch: EpochRow,
    pub(super) open_file: OpenFile,
    pub(super) shared: Arc<WriterShared>,
    file_bytes: B,
    quick_repair_at: Instant,
    /// Whether commits were made since the last commit with quick repair.
    pub(super) needs_quick_repair: bool,
    /// Pause before the next attempt to open the file again.
    pub(super) reopen_pause: Duration,
    pub(super) reopened_at: Option<Instant>,
}

impl<B: Fn() -> u64> WriterLoop<B> {
    pub(super) fn new(
        database: Option<Arc<redb::Database>>,
        slot: DatabaseSlot,
        epoch: EpochRow,
        open_file: OpenFile,
        shared: Arc<WriterShared>,
        file_bytes: B,
    ) -> Self {
        Self {
            database,
            slot,
            epoch,
            open_file,
            shared,
            file_bytes,
            quick_repair_at: monotonic(),
            needs_quick_repair: false,
            reopen_pause: Duration::ZERO,
            reopened_at: None,
        }
    }

    pub(super) fn run(mut self) {
        loop {
            match self.next() {
                Wake::Group(group) => {
                    self.needs_quick_repair |= self.commit_group(group);
                    self.shared.lock().answered(monotonic());
                    if self.needs_quick_repair
                        && self.quick_repair_at.elapsed() >= QUICK_REPAIR_EVERY
                        && (self.file_bytes)() < QUICK_REPAIR_FILE_BYTES_MAX
                    {
                        self.commit_quick_repair();
                    }
                }
                Wake::Idle => self.commit_quick_repair(),
                Wake::Failed => self.reopen(&StoreError::Unavailable, None),
                Wake::Closed => {
                    self.commit_quick_repair();
                    return;
                }
            }
        }
    }

    fn next(&self) -> Wake {
        let mut queues = self.shared.lock();
        loop {
            if queues.has_failed() && !queues.is_closed() {
                return Wake::Failed;
            }
            if !queues.is_empty() {
                return Wake::Group(queues.gather());
            }
            if queues.is_closed() {
                return Wake::Closed;
            }
            if self.needs_quick_repair {
                let (waited, timeout) = self
                    .shared
                    .wake
                    .wait_timeout(queues, IDLE_BEFORE_QUICK_REPAIR)
                    .unwrap_or_else(PoisonError::into_inner);
                queues = waited;
                if timeout.timed_out() && queues.is_empty() && !queues.has_failed() {
                    return Wake::Idle;
                }
            } else {
                queues = self.shared.wake.wait(queues).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Applies and commits a group, without the commands that abort its transaction. Returns whether a
    /// commit was made.
    fn commit_group(&mut self, mut group: Vec<QueuedCommand>) -> bool {
        while !group.is_empty() {
            match self.attempt(&mut group) {
                Ok(Attempt::Aborted { index, failure }) => group.remove(index).answer(failure),
                Ok(Attempt::InDoubt { failure, callbacks }) => {
                    error!(error = %failure, commands = group.len(), "commit failed: {failure}");
                    self.reopen(&failure, Some(DoubtfulGroup { group, callbacks }));
                    return false;
                }
                Ok(done @ (Attempt::Committed | Attempt::NoWrites)) => {
                    for queued in group {
                        queued.answer(None);
                    }
                    return matches!(done, Attempt::Committed);
                }
                Err(failure) => {
                    error!(error = %failure, commands = group.len(), "commit failed: {failure}");
                    reject(group, &failure);
                    if failure.is_final() {
                        self.reopen(&failure, None);
                    }
                    return false;
                }
            }
        }
        false
    }

    /// Applies every command, and commits unless one of them aborts the transaction.
    fn attempt(&mut self, group: &mut [QueuedCommand]) -> Result<Attempt, StoreError> {
        let Some(database) = &self.database else { return Err(StoreError::Unavailable) };
        let transaction = database.begin_write()?;
        let expects_foreground = self.shared.lock().expects_foreground(monotonic());
        let (aborted, writes, callbacks) = {
            let tx = WriteTx::new(&transaction).with_foreground(&self.shared.foreground, expects_foreground);
            let mut aborted = None;
            for (index, queued) in group.iter_mut().enumerate() {
                let (writes, callbacks) = (tx.writes(), tx.callbacks());
                match catch_unwind(AssertUnwindSafe(|| queued.apply(&tx))) {
                    Ok(Ok(())) => {}
                    Ok(Err(())) if tx.writes() == writes => tx.truncate_callbacks(callbacks),
                    Ok(Err(())) => {
                        aborted = Some(Attempt::Aborted { index, failure: None });
                        break;
                    }
                    Err(panic) => {
                        let what = panic_message(panic.as_ref());
                        error!("a store command panicked: {what}");
                        self.shared.panics.record();
                        aborted = Some(Attempt::Aborted { index, failure: Some(StoreError::Panicked) });
                        break;
                    }
                }
            }
            (aborted, tx.writes(), tx.take_callbacks())
        };
        if let Some(aborted) = aborted {
            transaction.abort()?;
            return Ok(aborted);
        }
        if writes == 0 {
            transaction.abort()?;
            return Ok(Attempt::NoWrites);
        }
        let commit = self.epoch.commit + 1;
        WriteTx::new(&transaction).put(&EPOCH, &MetaKey::EPOCH, &EpochRow { commit, ..self.epoch.clone() })?;
        self.epoch.commit = commit;
        let started = monotonic();
        if let Err(failure) = transaction.commit().map_err(StoreError::from) {
            return if failure.is_final() { Ok(Attempt::InDoubt { failure, callbacks }) } else { Err(failure) };
        }
        self.shared.commits.record(started.elapsed());
        run_callbacks(callbacks);
        Ok(Attempt::Committed)
    }

    /// Makes an empty commit with quick repair. After a crash, the file then opens in milliseconds.
    fn commit_quick_repair(&mut self) {
        if !self.needs_quick_repair {
            return;
        }
        let Some(database) = &self.database else { return };
        let committed = database.begin_write().map_err(StoreError::from).and_then(|mut transaction| {
            transaction.set_quick_repair(true);
            transaction.commit().map_err(StoreError::from)
        });
        self.needs_quick_repair = false;
        self.quick_repair_at = monotonic();
        if let Err(error) = committed {
            info!(%error, "could not commit with quick repair: {error}");
            if error.is_final() {
                self.reopen(&error, None);
            }
        }
    }
}

pub(super) fn run_callbacks(callbacks: Vec<AfterCommit>) {
    for callback in callbacks {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(callback)) {
            error!("an after-commit callback panicked: {}", panic_message(panic.as_ref()));
        }
    }
}
