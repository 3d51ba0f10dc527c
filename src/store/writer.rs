//! The writer thread: it applies the queued commands in one transaction and commits them as a group.
//!
//! There is no fixed delay: the next group collects in the queues while a commit is in progress. If a
//! command fails after a write, the transaction is aborted and the group is applied again without it.
//! Commands are therefore `Fn` and may run more than once.
//!
//! Invariants:
//! - The result of a command is sent after the commit that contains its writes, even if the caller
//!   dropped its future.
//! - A group without writes makes no commit.
//! - Every queued command gets a result, even if the thread panics.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, oneshot, watch};
use tracing::{error, info};

use super::StoreError;
use super::file::panic_message;
use super::queue::{QueuedCommand, Queues, Typed, WAITING_MAX, WriteQueue};
use super::transaction::WriteTx;
use crate::base::clock::monotonic;
use crate::base::recent::Recent;
use crate::base::sync;

/// Idle time after which an empty commit with quick repair is made, so that the file opens fast after a
/// crash.
const IDLE_BEFORE_QUICK_REPAIR: Duration = Duration::from_millis(100);
/// Interval of these commits while the store is busy and its file is small.
const QUICK_REPAIR_EVERY: Duration = Duration::from_secs(20);
/// File size above which a busy store makes no such commit: the allocator state that each one writes
/// costs more than the repair that it avoids.
const QUICK_REPAIR_FILE_BYTES_MAX: u64 = 2 << 30;

struct Shared {
    queues: Mutex<Queues>,
    wake: Condvar,
    /// The first permanent failure of the engine.
    failure: watch::Sender<Option<StoreError>>,
    panics: Arc<Recent>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queues> {
        sync::lock(&self.queues)
    }

    fn fail(&self, failure: &StoreError) {
        self.failure.send_if_modified(|known| {
            let first = known.is_none();
            known.get_or_insert_with(|| failure.clone());
            first
        });
    }

    /// Fails all queued commands and all later ones with `failure`.
    fn fail_all(&self, failure: &StoreError) {
        self.fail(failure);
        let abandoned = self.lock().abandon(failure);
        for queued in abandoned {
            queued.command.answer(Some(failure.clone()));
        }
    }
}

/// Handle of the writer thread.
pub(super) struct Writer {
    shared: Arc<Shared>,
    foreground: Arc<Semaphore>,
    bulk: Arc<Semaphore>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Starts the writer thread over `database`.
    pub(super) fn start(
        database: Arc<redb::Database>,
        panics: Arc<Recent>,
        file_bytes: impl Fn() -> u64 + Send + 'static,
    ) -> Self {
        let failure = watch::Sender::new(None);
        let shared = Arc::new(Shared { queues: Mutex::default(), wake: Condvar::new(), failure, panics });
        let thread_shared = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || {
                let shared = Arc::clone(&thread_shared);
                let writer = WriterLoop {
                    database,
                    shared,
                    file_bytes,
                    quick_repair_at: monotonic(),
                    needs_quick_repair: false,
                };
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| writer.run())) {
                    error!("the writer thread of the store panicked: {}", panic_message(panic.as_ref()));
                    thread_shared.fail_all(&StoreError::Panicked);
                }
            })
            .expect("the operating system starts one more thread");
        Self {
            shared,
            foreground: Arc::new(Semaphore::new(WAITING_MAX)),
            bulk: Arc::new(Semaphore::new(WAITING_MAX)),
            thread: Mutex::new(Some(thread)),
        }
    }

    /// Queues a command and waits for the commit that contains it. Waits for a permit while the queue is
    /// full.
    pub(super) async fn run<F, T, E>(&self, queue: WriteQueue, bytes: usize, work: F) -> Result<T, E>
    where
        F: Fn(&WriteTx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let permits = match queue {
            WriteQueue::Foreground => &self.foreground,
            WriteQueue::Bulk => &self.bulk,
        };
        let Ok(permit) = Arc::clone(permits).acquire_owned().await else {
            return Err(StoreError::Closed.into());
        };
        let (answer, answered) = oneshot::channel();
        let command = Box::new(Typed::new(work, answer));
        self.shared.lock().push(queue, QueuedCommand::new(command, bytes, permit))?;
        self.shared.wake.notify_one();
        answered.await.unwrap_or_else(|_| Err(StoreError::Closed.into()))
    }

    /// Returns the first permanent failure of the engine; `None` while it works.
    pub(super) fn failure(&self) -> Option<StoreError> {
        self.shared.failure.borrow().clone()
    }

    /// Waits for the first permanent failure of the engine.
    pub(super) async fn failed(&self) -> StoreError {
        let mut failure = self.shared.failure.subscribe();
        match failure.wait_for(Option::is_some).await {
            Ok(failure) => failure.clone().unwrap_or(StoreError::Closed),
            Err(_) => StoreError::Closed,
        }
    }

    /// Commits the queued commands, makes a commit with quick repair, and ends the thread. Blocks until then.
    pub(super) fn stop(&self) {
        self.shared.lock().close();
        self.shared.wake.notify_one();
        let thread = sync::lock(&self.thread).take();
        // If a command owns the last handle of the store, this runs on the writer thread, which cannot
        // join itself.
        if let Some(thread) = thread
            && thread.thread().id() != thread::current().id()
            && thread.join().is_err()
        {
            error!("the writer thread of the store panicked");
        }
    }
}

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
}

enum Wake {
    Group(Vec<QueuedCommand>),
    Idle,
    Closed,
}

struct WriterLoop<B> {
    database: Arc<redb::Database>,
    shared: Arc<Shared>,
    file_bytes: B,
    quick_repair_at: Instant,
    /// Whether commits were made since the last commit with quick repair.
    needs_quick_repair: bool,
}

impl<B: Fn() -> u64> WriterLoop<B> {
    fn run(mut self) {
        loop {
            match self.next() {
                Wake::Group(group) => {
                    self.needs_quick_repair |= self.commit_group(group);
                    if self.needs_quick_repair
                        && self.quick_repair_at.elapsed() >= QUICK_REPAIR_EVERY
                        && (self.file_bytes)() < QUICK_REPAIR_FILE_BYTES_MAX
                    {
                        self.commit_quick_repair();
                    }
                }
                Wake::Idle => self.commit_quick_repair(),
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
                if timeout.timed_out() && queues.is_empty() {
                    return Wake::Idle;
                }
            } else {
                queues = self.shared.wake.wait(queues).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Applies and commits a group, without the commands that abort its transaction. Returns whether a
    /// commit was made.
    fn commit_group(&self, mut group: Vec<QueuedCommand>) -> bool {
        while !group.is_empty() {
            match self.attempt(&mut group) {
                Ok(Attempt::Aborted { index, failure }) => group.remove(index).command.answer(failure),
                Ok(done) => {
                    for queued in group {
                        queued.command.answer(None);
                    }
                    return matches!(done, Attempt::Committed);
                }
                Err(failure) => {
                    error!(error = %failure, commands = group.len(), "commit failed: {failure}");
                    if failure.is_final() {
                        self.shared.fail(&failure);
                    }
                    for queued in group {
                        queued.command.answer(Some(failure.clone()));
                    }
                    return false;
                }
            }
        }
        false
    }

    /// Applies every command, and commits unless one of them aborts the transaction.
    fn attempt(&self, group: &mut [QueuedCommand]) -> Result<Attempt, StoreError> {
        let transaction = self.database.begin_write()?;
        let (aborted, writes, callbacks) = {
            let tx = WriteTx::new(&transaction);
            let mut aborted = None;
            for (index, queued) in group.iter_mut().enumerate() {
                let (writes, callbacks) = (tx.writes(), tx.callbacks());
                match catch_unwind(AssertUnwindSafe(|| queued.command.apply(&tx))) {
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
        transaction.commit()?;
        for callback in callbacks {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(callback)) {
                error!("an after-commit callback panicked: {}", panic_message(panic.as_ref()));
            }
        }
        Ok(Attempt::Committed)
    }

    /// Makes an empty commit with quick repair. After a crash, the file then opens in milliseconds.
    fn commit_quick_repair(&mut self) {
        if !self.needs_quick_repair {
            return;
        }
        let committed = self.database.begin_write().map_err(StoreError::from).and_then(|mut transaction| {
            transaction.set_quick_repair(true);
            transaction.commit().map_err(StoreError::from)
        });
        if let Err(error) = committed {
            info!(%error, "could not commit with quick repair: {error}");
            if error.is_final() {
                self.shared.fail(&error);
            }
        }
        self.needs_quick_repair = false;
        self.quick_repair_at = monotonic();
    }
}
