//! The one writer: a thread that owns the write transaction and commits whatever waits as one
//! group.
//!
//! No fixed window: while one commit is on its way to the disk the next group gathers by itself.
//! A command is applied inside the group's transaction and answered after the commit. One that
//! fails after it has written spoils the transaction, so the group is applied again without it;
//! commands are therefore `Fn` and may run twice.
//!
//! Invariants: an answer leaves after the commit that holds what it says, whatever happened to the
//! caller meanwhile; a group whose commands wrote nothing costs no commit; every queued command is
//! answered, even when the thread ends in a panic.

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
use crate::base::sync;

/// How long the store is idle before one small commit makes the file quick to open after a crash.
const IDLE_BEFORE_QUICK_REPAIR: Duration = Duration::from_millis(100);
/// How often a busy store makes such a commit while its file is small.
const QUICK_REPAIR_EVERY: Duration = Duration::from_secs(20);
/// Above this the allocator state in every such commit costs more than the repair it saves.
const QUICK_REPAIR_FILE_BYTES_MAX: u64 = 2 << 30;

struct Shared {
    queues: Mutex<Queues>,
    wake: Condvar,
    /// Why the engine refuses everything from here on.
    failure: watch::Sender<Option<StoreError>>,
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

    /// Answers everything that waits with `failure`, and whatever is queued later too.
    fn give_up(&self, failure: &StoreError) {
        self.fail(failure);
        let abandoned = self.lock().abandon(failure);
        for waiting in abandoned {
            waiting.command.answer(Some(failure.clone()));
        }
    }
}

/// The sending side of the writer thread.
pub(super) struct Writer {
    shared: Arc<Shared>,
    foreground: Arc<Semaphore>,
    bulk: Arc<Semaphore>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Starts the writer thread over `database`.
    pub(super) fn start(database: Arc<redb::Database>, file_bytes: impl Fn() -> u64 + Send + 'static) -> Self {
        let failure = watch::Sender::new(None);
        let shared = Arc::new(Shared { queues: Mutex::default(), wake: Condvar::new(), failure });
        let gathering = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || {
                let shared = Arc::clone(&gathering);
                let writing = Loop { database, shared, file_bytes, quick_at: monotonic(), unsettled: false };
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| writing.run())) {
                    error!("the store's writer thread panicked: {}", panic_message(panic.as_ref()));
                    gathering.give_up(&StoreError::Panicked);
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

    /// Queues a command and waits for the commit that contains it.
    pub(super) async fn run<F, T, E>(&self, lane: WriteQueue, bytes: usize, work: F) -> Result<T, E>
    where
        F: Fn(&WriteTx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let places = match lane {
            WriteQueue::Foreground => &self.foreground,
            WriteQueue::Bulk => &self.bulk,
        };
        let Ok(place) = Arc::clone(places).acquire_owned().await else {
            return Err(StoreError::Closed.into());
        };
        let (answer, answered) = oneshot::channel();
        let command = Box::new(Typed::new(work, answer));
        self.shared.lock().push(lane, QueuedCommand::new(command, bytes, place))?;
        self.shared.wake.notify_one();
        answered.await.unwrap_or_else(|_| Err(StoreError::Closed.into()))
    }

    /// Waits for the failure after which the engine refuses everything.
    pub(super) async fn failed(&self) -> StoreError {
        let mut failure = self.shared.failure.subscribe();
        match failure.wait_for(Option::is_some).await {
            Ok(failure) => failure.clone().unwrap_or(StoreError::Closed),
            Err(_) => StoreError::Closed,
        }
    }

    /// Commits what waits, makes the file quick to open, and ends the thread.
    pub(super) fn stop(&self) {
        self.shared.lock().close();
        self.shared.wake.notify_one();
        let thread = sync::lock(&self.thread).take();
        // A command may own the last handle of the store: it is then dropped on this very thread,
        // which ends by itself.
        if let Some(thread) = thread
            && thread.thread().id() != thread::current().id()
            && thread.join().is_err()
        {
            error!("the store's writer thread had panicked");
        }
    }
}

/// How a group's transaction ended.
enum Attempt {
    Committed,
    /// No command wrote anything.
    Nothing,
    /// A command failed after it had written, or panicked: the transaction is void.
    Spoiled {
        by: usize,
        failure: Option<StoreError>,
    },
}

enum Wake {
    Group(Vec<QueuedCommand>),
    Idle,
    Closed,
}

struct Loop<B> {
    database: Arc<redb::Database>,
    shared: Arc<Shared>,
    file_bytes: B,
    quick_at: Instant,
    /// Whether commits were made since the last one that is quick to repair.
    unsettled: bool,
}

impl<B: Fn() -> u64> Loop<B> {
    fn run(mut self) {
        loop {
            match self.next() {
                Wake::Group(group) => {
                    self.unsettled |= self.commit_group(group);
                    if self.unsettled
                        && self.quick_at.elapsed() >= QUICK_REPAIR_EVERY
                        && (self.file_bytes)() < QUICK_REPAIR_FILE_BYTES_MAX
                    {
                        self.settle();
                    }
                }
                Wake::Idle => self.settle(),
                Wake::Closed => {
                    self.settle();
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
            if self.unsettled {
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

    /// Applies and commits a group, without those of its commands that spoil the transaction.
    /// Returns whether there was anything to commit.
    fn commit_group(&self, mut group: Vec<QueuedCommand>) -> bool {
        while !group.is_empty() {
            match self.attempt(&mut group) {
                Ok(Attempt::Spoiled { by, failure }) => group.remove(by).command.answer(failure),
                Ok(done) => {
                    for waiting in group {
                        waiting.command.answer(None);
                    }
                    return matches!(done, Attempt::Committed);
                }
                Err(failure) => {
                    error!(error = %failure, commands = group.len(), "commit failed: {failure}");
                    if failure.is_final() {
                        self.shared.fail(&failure);
                    }
                    for waiting in group {
                        waiting.command.answer(Some(failure.clone()));
                    }
                    return false;
                }
            }
        }
        false
    }

    /// Applies every command, and commits unless one of them spoiled the transaction.
    fn attempt(&self, group: &mut [QueuedCommand]) -> Result<Attempt, StoreError> {
        let transaction = self.database.begin_write()?;
        let (spoiled, writes, acts) = {
            let tx = WriteTx::new(&transaction);
            let mut spoiled = None;
            for (index, waiting) in group.iter_mut().enumerate() {
                let (before, acts) = (tx.writes(), tx.acts());
                match catch_unwind(AssertUnwindSafe(|| waiting.command.apply(&tx))) {
                    Ok(Ok(())) => {}
                    Ok(Err(())) if tx.writes() == before => tx.forget_acts(acts),
                    Ok(Err(())) => {
                        spoiled = Some(Attempt::Spoiled { by: index, failure: None });
                        break;
                    }
                    Err(panic) => {
                        let what = panic_message(panic.as_ref());
                        error!("a store command panicked: {what}");
                        spoiled = Some(Attempt::Spoiled { by: index, failure: Some(StoreError::Panicked) });
                        break;
                    }
                }
            }
            (spoiled, tx.writes(), tx.take_acts())
        };
        if let Some(spoiled) = spoiled {
            transaction.abort()?;
            return Ok(spoiled);
        }
        if writes == 0 {
            transaction.abort()?;
            return Ok(Attempt::Nothing);
        }
        transaction.commit()?;
        for act in acts {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(act)) {
                error!("telling of a commit panicked: {}", panic_message(panic.as_ref()));
            }
        }
        Ok(Attempt::Committed)
    }

    /// Makes one small commit whose file opens in milliseconds after a crash.
    fn settle(&mut self) {
        if !self.unsettled {
            return;
        }
        let settled = self.database.begin_write().map_err(StoreError::from).and_then(|mut transaction| {
            transaction.set_quick_repair(true);
            transaction.commit().map_err(StoreError::from)
        });
        if let Err(error) = settled {
            info!(%error, "the store could not be settled: {error}");
            if error.is_final() {
                self.shared.fail(&error);
            }
        }
        self.unsettled = false;
        self.quick_at = monotonic();
    }
}
