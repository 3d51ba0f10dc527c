//! The handle of the writer thread: queued commands, and the state of the engine.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot, watch};
use tracing::error;

use super::commits::WriterLoop;
use super::file::panic_message;
use super::meta::EpochRow;
use super::queue::{Command, CommandResult, QueuedCommand, WAITING_MAX, WriteQueue, WriteQueues, waiting};
use super::reopening::OpenFile;
use super::transaction::WriteTx;
use super::{DatabaseSlot, Running, StoreError};
use crate::base::boxed::unboxed;
use crate::base::clock::monotonic;
use crate::base::histogram::{Histogram, HistogramReading};
use crate::base::recent::Recent;
use crate::base::sync;

/// State of the engine.
#[derive(Clone, Debug)]
pub(super) enum StoreState {
    Working,
    /// The file is being opened again.
    Suspended,
    /// The engine has failed permanently.
    Failed(StoreError),
}

pub(super) struct WriterShared {
    queues: Mutex<WriteQueues>,
    /// Permits of the foreground queue.
    pub(super) foreground: Arc<Semaphore>,
    pub(super) wake: Condvar,
    state: watch::Sender<StoreState>,
    pub(super) panics: Arc<Recent>,
    /// Durations of the commits of groups.
    pub(super) commits: Histogram,
}

impl WriterShared {
    pub(super) fn lock(&self) -> MutexGuard<'_, WriteQueues> {
        sync::lock(&self.queues)
    }

    /// Fails all queued commands and all later ones with `failure`.
    pub(super) fn fail_all(&self, failure: &StoreError) {
        let abandoned = self.lock().abandon(failure);
        self.state.send_replace(StoreState::Failed(failure.clone()));
        reject(abandoned, failure);
    }

    /// Rejects all queued commands, and later ones until the file is open again.
    pub(super) fn suspend(&self) {
        self.state.send_replace(StoreState::Suspended);
        let suspended = self.lock().suspend();
        reject(suspended, &StoreError::Unavailable);
    }

    /// Accepts commands again.
    pub(super) fn resume(&self) {
        self.lock().resume();
        self.state.send_replace(StoreState::Working);
    }

    /// Waits for the end of a pause. Returns `false` if the store is closed.
    pub(super) fn pause(&self, pause: Duration) -> bool {
        let ended = monotonic() + pause;
        let mut queues = self.lock();
        while !queues.is_closed() {
            let left = ended.saturating_duration_since(monotonic());
            if left.is_zero() {
                return true;
            }
            (queues, _) = self.wake.wait_timeout(queues, left).unwrap_or_else(PoisonError::into_inner);
        }
        false
    }
}

/// Sends all commands a failure.
pub(super) fn reject(commands: Vec<QueuedCommand>, failure: &StoreError) {
    for queued in commands {
        queued.answer(Some(failure.clone()));
    }
}

/// Handle of the writer thread.
pub(super) struct Writer {
    shared: Arc<WriterShared>,
    bulk: Arc<Semaphore>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Starts the writer thread over the database in `slot`, which must be open. `open_file` opens its file again.
    pub(super) fn start(
        slot: DatabaseSlot,
        epoch: EpochRow,
        panics: Arc<Recent>,
        file_bytes: impl Fn() -> u64 + Send + 'static,
        open_file: OpenFile,
    ) -> Self {
        let shared = Arc::new(WriterShared {
            queues: Mutex::default(),
            foreground: Arc::new(Semaphore::new(WAITING_MAX)),
            wake: Condvar::new(),
            state: watch::Sender::new(StoreState::Working),
            panics,
            commits: Histogram::default(),
        });
        let thread_shared = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || {
                let shared = Arc::clone(&thread_shared);
                let database = sync::read(&slot).clone();
                let writer = WriterLoop::new(database, slot, epoch, open_file, shared, file_bytes);
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| writer.run())) {
                    error!("the writer thread of the store panicked: {}", panic_message(panic.as_ref()));
                    thread_shared.fail_all(&StoreError::Panicked);
                }
            })
            .expect("the operating system starts one more thread");
        Self { shared, bulk: Arc::new(Semaphore::new(WAITING_MAX)), thread: Mutex::new(Some(thread)) }
    }

    /// Queues a command and waits for the commit that contains it. Waits for a permit while the queue is
    /// full.
    pub(super) fn run<F, T, E>(
        &self,
        queue: WriteQueue,
        bytes: usize,
        work: F,
    ) -> impl Future<Output = Result<T, E>> + Send
    where
        F: Fn(&WriteTx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let command = move |tx: &WriteTx<'_>| {
            let result = work(tx);
            CommandResult { is_ok: result.is_ok(), result: Box::new(result) }
        };
        let running = self.run_boxed(queue, bytes, Box::new(command));
        async move { unboxed(running.await?) }
    }

    fn run_boxed(&self, queue: WriteQueue, bytes: usize, command: Command) -> Running<'_> {
        Box::pin(async move {
            let permits = Arc::clone(self.permits(queue));
            let permit = permits.acquire_owned().await.map_err(|_| StoreError::Closed)?;
            let (answer, answered) = oneshot::channel();
            self.shared.lock().push(queue, QueuedCommand::new(command, answer, bytes, permit))?;
            self.shared.wake.notify_one();
            answered.await.unwrap_or(Err(StoreError::Closed))
        })
    }

    /// Returns the durations of the commits so far.
    pub(super) fn commits(&self) -> HistogramReading {
        self.shared.commits.read()
    }

    /// Returns the number of commands in a queue, including those in the running commit.
    pub(super) fn waiting(&self, queue: WriteQueue) -> usize {
        waiting(self.permits(queue))
    }

    fn permits(&self, queue: WriteQueue) -> &Arc<Semaphore> {
        match queue {
            WriteQueue::Foreground => &self.shared.foreground,
            WriteQueue::Bulk => &self.bulk,
        }
    }

    /// Returns whether the engine accepts transactions.
    pub(super) fn is_working(&self) -> bool {
        matches!(*self.shared.state.borrow(), StoreState::Working)
    }

    /// Returns whether the file is being opened again.
    pub(super) fn is_suspended(&self) -> bool {
        matches!(*self.shared.state.borrow(), StoreState::Suspended) && !self.shared.lock().is_closed()
    }

    /// Waits until the engine accepts transactions, or has failed permanently.
    pub(super) async fn available(&self) {
        let mut state = self.shared.state.subscribe();
        // `wait_for` fails only if the sender is dropped, and `self` owns it.
        let _ = state.wait_for(|state| !matches!(state, StoreState::Suspended)).await;
    }

    /// Waits for the first permanent failure of the engine.
    pub(super) async fn failed(&self) -> StoreError {
        let mut state = self.shared.state.subscribe();
        match state.wait_for(|state| matches!(state, StoreState::Failed(_))).await.as_deref() {
            Ok(StoreState::Failed(failure)) => failure.clone(),
            Ok(_) | Err(_) => StoreError::Closed,
        }
    }

    /// Lets the thread open the file again, because a read found that the engine failed.
    pub(super) fn report_failure(&self) {
        self.shared.lock().report_failure();
        self.shared.wake.notify_one();
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
