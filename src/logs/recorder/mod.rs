//! The queue of the log and the worker that writes it.
//!
//! A request only adds an entry to the queue. One worker redacts the bodies and writes each batch in bulk
//! commands of about 1 MiB. A read of the log flushes the queue first, so that a client finds each request
//! whose response it has received.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::entry::{LogEntry, LoggedRequest};
use super::pending_entries::{PendingEntries, PendingEntryGuard};
use super::queue::{BATCH_MAX, ENTRIES_MAX, LogQueue, PushResult};
use super::store::PreparedLog;
use crate::base::blocking;
use crate::base::clock::monotonic;
use crate::base::sync;
use crate::context::Context;
use crate::store::{Space, StoreError, WriteTx};

/// Longest wait for a full batch.
const BATCH_DELAY: Duration = Duration::from_millis(100);
/// Shortest time between two log lines about dropped entries.
const DROP_LOG_INTERVAL: Duration = Duration::from_secs(60);
/// Bytes in one command, after which the next command starts.
const COMMAND_BYTES_MAX: usize = 1 << 20;

/// Whether requests are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestLogging {
    /// Yes.
    On,
    /// No. Earlier entries remain readable.
    Off,
}

/// The request log of the instance: its queue and its worker.
pub struct RequestLog {
    context: Context,
    recording: RequestLogging,
    queue: LogQueue,
    /// Notified when an entry is added to the empty queue.
    first_entry: Notify,
    /// Notified when the queue contains a whole batch.
    full_batch: Notify,
    /// Locked while a batch is written. A flush that gets the lock knows that all earlier batches are
    /// written.
    writing: tokio::sync::Mutex<()>,
    /// Writes of batches. They continue if the caller of a flush is canceled.
    tasks: TaskTracker,
    pending_entries: PendingEntries,
    lost: Mutex<LostEntries>,
}

/// Cause of an entry that was not written.
#[derive(Clone, Debug, thiserror::Error)]
enum Loss {
    #[error("the queue was full")]
    QueueFull,
    #[error("{0}")]
    Store(StoreError),
}

/// Entries that were not written since the last log line about them.
#[derive(Debug, Default)]
struct LostEntries {
    entries: u64,
    /// Cause of the last loss.
    reason: Option<Loss>,
    logged_at: Option<Instant>,
}

impl RequestLog {
    /// Creates the log of the instance of `context`.
    pub fn new(context: Context, recording: RequestLogging, tasks: TaskTracker) -> Arc<Self> {
        Arc::new(Self {
            context,
            recording,
            queue: LogQueue::default(),
            first_entry: Notify::new(),
            full_batch: Notify::new(),
            writing: tokio::sync::Mutex::default(),
            tasks,
            pending_entries: PendingEntries::default(),
            lost: Mutex::default(),
        })
    }

    /// Marks the start of a request; `None` if requests are not logged, or the disk has little free space.
    pub fn begin(&self) -> Option<PendingEntryGuard> {
        let is_logged = self.recording == RequestLogging::On && self.context.store.space() == Space::Ample;
        is_logged.then(|| self.pending_entries.begin())
    }

    /// Returns the requests that are not stored yet.
    pub fn pending_entries(&self) -> PendingEntries {
        self.pending_entries.clone()
    }

    /// Adds a request to the queue. Never waits: if the queue is full, the entry is dropped and counted.
    pub fn enqueue(&self, guard: PendingEntryGuard, request: LoggedRequest<'_>) {
        match self.queue.push(LogEntry::new(guard, request)) {
            PushResult::First => self.first_entry.notify_one(),
            PushResult::Batch => self.full_batch.notify_one(),
            PushResult::Behind => {}
            PushResult::Dropped => self.lose(1, Loss::QueueFull),
        }
    }

    /// Writes the queue until `stop`. A store failure drops entries, which is logged, and does not end the
    /// worker.
    ///
    /// # Errors
    /// Never fails.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) -> Result<(), Infallible> {
        loop {
            self.log_dropped(monotonic());
            match self.queue.len() {
                0 => tokio::select! {
                    () = stop.cancelled() => return Ok(()),
                    () = self.first_entry.notified() => continue,
                    () = tokio::time::sleep(DROP_LOG_INTERVAL) => continue,
                },
                waiting if waiting < BATCH_MAX => tokio::select! {
                    () = stop.cancelled() => return Ok(()),
                    () = self.full_batch.notified() => {}
                    () = tokio::time::sleep(BATCH_DELAY) => {}
                },
                _ => {}
            }
            self.write_batch().await;
        }
    }

    /// Writes all entries that are in the queue at the call.
    pub async fn flush(self: &Arc<Self>) {
        // A full queue has this many batches. Without the bound, later entries could extend the loop.
        for _ in 0..=ENTRIES_MAX.div_ceil(BATCH_MAX) {
            self.write_batch().await;
            if self.queue.len() == 0 {
                return;
            }
        }
    }

    /// Writes one batch after the batch that is being written.
    async fn write_batch(self: &Arc<Self>) {
        let log = Arc::clone(self);
        // A separate task writes the batch even if this future is dropped. A panic of the task is logged, and
        // `UnwrittenGuard` counts the entries.
        let written = self.tasks.spawn(async move {
            let _guard = log.writing.lock().await;
            let batch = log.queue.take();
            log.write(batch).await;
        });
        let _ = written.await;
    }

    async fn write(&self, batch: Vec<LogEntry>) {
        if batch.is_empty() {
            return;
        }
        let mut unwritten = UnwrittenGuard { log: self, left: batch.len() };
        let keyring = self.context.keyring.clone();
        let prepared = blocking::run(move || {
            let prepared = batch.into_iter().map(|entry| entry.prepare(&keyring));
            prepared.unzip::<PreparedLog, PendingEntryGuard, Vec<_>, Vec<_>>()
        });
        // The guards are dropped after the commit.
        let (logs, _guards) = prepared.await;
        for command in commands(logs) {
            let count = command.len();
            let bytes = command.iter().map(PreparedLog::bytes).sum();
            let write = move |tx: &WriteTx<'_>| command.iter().try_for_each(|log| log.put(tx));
            let written = self.context.store.write_bulk_sized::<_, StoreError>(bytes, write).await;
            unwritten.left -= count;
            if let Err(error) = written {
                self.lose(count as u64, Loss::Store(error));
            }
        }
    }

    /// Counts entries that were not written.
    fn lose(&self, entries: u64, reason: Loss) {
        let mut lost = sync::lock(&self.lost);
        lost.entries += entries;
        lost.reason = Some(reason);
    }

    /// Logs the number of lost entries, at most once in [`DROP_LOG_INTERVAL`].
    fn log_dropped(&self, now: Instant) {
        let mut lost = sync::lock(&self.lost);
        let is_recent = lost.logged_at.is_some_and(|at| now.duration_since(at) < DROP_LOG_INTERVAL);
        if is_recent {
            return;
        }
        let Some(reason) = lost.reason.take() else { return };
        let entries = std::mem::take(&mut lost.entries);
        lost.logged_at = Some(now);
        warn!(entries, "dropped {entries} entries of the request log: {reason}");
    }
}

/// Counts the entries of a batch as lost if the write panics.
struct UnwrittenGuard<'a> {
    log: &'a RequestLog,
    /// Entries that are neither written nor counted.
    left: usize,
}

impl Drop for UnwrittenGuard<'_> {
    fn drop(&mut self) {
        if self.left > 0 {
            self.log.lose(self.left as u64, Loss::Store(StoreError::Panicked));
        }
    }
}

/// Divides a batch into commands of about [`COMMAND_BYTES_MAX`] bytes.
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
