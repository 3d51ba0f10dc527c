//! Handing requests to the log, and writing them.
//!
//! A request only puts its entry into the queue. One worker makes the copies and writes them, a
//! batch a command; whoever reads the log has what waits written first, so that a request is in the
//! log for everyone who has seen its answer.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::entry::{Entry, LoggedRequest};
use super::pending_entries::{PendingEntries, PendingEntryGuard};
use super::queue::{BATCH_MAX, ENTRIES_MAX, Pushed, Queue};
use super::store::PreparedLog;
use crate::base::blocking;
use crate::base::clock::monotonic;
use crate::context::Context;
use crate::store::{StoreError, WriteTx};

/// How long entries gather before they are written.
const GATHERING: Duration = Duration::from_millis(100);
/// How often the log says that entries were lost.
const DROP_LOG_INTERVAL: Duration = Duration::from_secs(60);
/// Bytes written in one command.
const COMMAND_BYTES_MAX: usize = 1 << 20;

/// Whether requests are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// They are.
    On,
    /// None is; what was logged before can still be read.
    Off,
}

/// The log of the instance, as requests and its worker see it.
pub struct RequestLog {
    context: Context,
    recording: Recording,
    queue: Queue,
    /// Rung when something waits where nothing did.
    begun: Notify,
    /// Rung when a whole batch waits.
    full: Notify,
    /// Held while a batch is written, so that who waits for it knows when all before it are written.
    writing: tokio::sync::Mutex<()>,
    /// What goes on when its caller has gone away.
    tasks: TaskTracker,
    unwritten: PendingEntries,
    lost: Mutex<Lost>,
}

/// Why an entry was not written.
#[derive(Clone, Debug)]
enum Loss {
    /// Too many waited.
    NoRoom,
    /// The store refused it.
    Store(StoreError),
}

impl std::fmt::Display for Loss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoRoom => f.write_str("too many waited"),
            Self::Store(error) => error.fmt(f),
        }
    }
}

/// Entries that were not written, and when that was said last.
#[derive(Debug, Default)]
struct Lost {
    entries: u64,
    /// Why the last of them was not.
    why: Option<Loss>,
    told: Option<Instant>,
}

impl RequestLog {
    /// Returns the log of the instance that `context` belongs to.
    pub fn new(context: Context, recording: Recording, tasks: TaskTracker) -> Arc<Self> {
        Arc::new(Self {
            context,
            recording,
            queue: Queue::default(),
            begun: Notify::new(),
            full: Notify::new(),
            writing: tokio::sync::Mutex::default(),
            tasks,
            unwritten: PendingEntries::default(),
            lost: Mutex::default(),
        })
    }

    /// Notes that a request begins; `None` when requests are not logged.
    pub fn begin(&self) -> Option<PendingEntryGuard> {
        (self.recording == Recording::On).then(|| self.unwritten.begin())
    }

    /// Returns the requests that are not written yet.
    pub fn unwritten(&self) -> PendingEntries {
        self.unwritten.clone()
    }

    /// Takes over a request that was answered. It never waits: where there is no room the request is
    /// not logged, and counted.
    pub fn enqueue(&self, begun: PendingEntryGuard, answered: LoggedRequest<'_>) {
        match self.queue.push(Entry::new(begun, answered)) {
            Pushed::First => self.begun.notify_one(),
            Pushed::Batch => self.full.notify_one(),
            Pushed::Behind => {}
            Pushed::Dropped => self.lose(1, Loss::NoRoom),
        }
    }

    /// Writes what is handed over, until the stop. A failure of the store costs entries and is said
    /// in the log; it never ends the worker.
    ///
    /// # Errors
    /// None.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) -> Result<(), Infallible> {
        loop {
            self.log_dropped(monotonic());
            match self.queue.len() {
                0 => tokio::select! {
                    () = stop.cancelled() => return Ok(()),
                    () = self.begun.notified() => continue,
                    () = tokio::time::sleep(DROP_LOG_INTERVAL) => continue,
                },
                waiting if waiting < BATCH_MAX => tokio::select! {
                    () = stop.cancelled() => return Ok(()),
                    () = self.full.notified() => {}
                    () = tokio::time::sleep(GATHERING) => {}
                },
                _ => {}
            }
            self.write_batch().await;
        }
    }

    /// Writes everything that was handed over before the call.
    pub async fn flush(self: &Arc<Self>) {
        // What comes meanwhile is not waited for.
        for _ in 0..=ENTRIES_MAX.div_ceil(BATCH_MAX) {
            self.write_batch().await;
            if self.queue.len() == 0 {
                return;
            }
        }
    }

    /// Writes one batch, after the one that is being written.
    async fn write_batch(self: &Arc<Self>) {
        let log = Arc::clone(self);
        // In a task of its own: what has been taken is written even when the caller goes away. A panic
        // there has been logged, and what it cost is counted as it unwinds.
        let written = self.tasks.spawn(async move {
            let _turn = log.writing.lock().await;
            let batch = log.queue.take();
            log.write(batch).await;
        });
        let _ = written.await;
    }

    async fn write(&self, batch: Vec<Entry>) {
        if batch.is_empty() {
            return;
        }
        let mut taken = Taken { log: self, left: batch.len() };
        let keyring = self.context.keyring.clone();
        let prepared = blocking::run(move || {
            let prepared = batch.into_iter().map(|entry| entry.prepare(&keyring));
            prepared.unzip::<PreparedLog, PendingEntryGuard, Vec<_>, Vec<_>>()
        });
        // The tokens are held until the rows are there.
        let (logs, _begun) = prepared.await;
        for command in commands(logs) {
            let count = command.len();
            let bytes = command.iter().map(PreparedLog::bytes).sum();
            let write = move |tx: &WriteTx<'_>| command.iter().try_for_each(|log| log.put(tx));
            let written = self.context.store.write_bulk_sized::<_, StoreError>(bytes, write).await;
            taken.left -= count;
            if let Err(error) = written {
                self.lose(count as u64, Loss::Store(error));
            }
        }
    }

    fn lose(&self, entries: u64, why: Loss) {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.entries += entries;
        lost.why = Some(why);
    }

    /// Says how many entries were lost, once a minute at most.
    fn log_dropped(&self, now: Instant) {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = lost.told.is_some_and(|told| now.duration_since(told) < DROP_LOG_INTERVAL);
        if is_recent {
            return;
        }
        let Some(why) = lost.why.take() else { return };
        let entries = std::mem::take(&mut lost.entries);
        lost.told = Some(now);
        warn!(entries, "{entries} requests were answered and are not in the request log: {why}");
    }
}

/// Entries that have been taken out of the queue and are neither written nor counted as lost.
struct Taken<'a> {
    log: &'a RequestLog,
    left: usize,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if self.left > 0 {
            self.log.lose(self.left as u64, Loss::Store(StoreError::Panicked));
        }
    }
}

/// Cuts a batch into what one command writes.
fn commands(logs: Vec<PreparedLog>) -> Vec<Vec<PreparedLog>> {
    let mut commands = Vec::new();
    let (mut command, mut bytes) = (Vec::new(), 0);
    for log in logs {
        bytes += log.bytes();
        command.push(log);
        if bytes >= COMMAND_BYTES_MAX {
            commands.push(std::mem::take(&mut command));
            bytes = 0;
        }
    }
    if !command.is_empty() {
        commands.push(command);
    }
    commands
}

#[cfg(test)]
mod tests;
