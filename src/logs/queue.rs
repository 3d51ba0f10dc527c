//! Entries that wait for the worker, limited by number and bytes.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use super::entry::LogEntry;
use crate::base::sync;

/// Entries in the queue: a few tenths of a second of requests at the full rate of two cores.
pub(super) const ENTRIES_MAX: usize = 4_096;
/// Bytes of the entries in the queue, with their bodies.
pub(super) const BYTES_MAX: usize = 16 << 20;
/// Entries in one batch: few enough not to delay an accept in the same commit.
pub(super) const BATCH_MAX: usize = 64;

/// Result of adding an entry. It decides whether to notify the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PushResult {
    /// The queue was empty.
    First,
    /// The queue contains exactly one whole batch.
    Batch,
    /// The queue contains another number of entries.
    Behind,
    /// The queue was full, and the entry was dropped.
    Dropped,
}

/// The queue of the log, oldest entry first.
#[derive(Default)]
pub(super) struct LogQueue(Mutex<QueuedEntries>);

#[derive(Default)]
struct QueuedEntries {
    entries: VecDeque<LogEntry>,
    bytes: usize,
}

impl LogQueue {
    /// Adds an entry, or drops it if the queue is full.
    pub(super) fn push(&self, entry: LogEntry) -> PushResult {
        let bytes = entry.bytes();
        let mut waiting = self.lock();
        if waiting.entries.len() >= ENTRIES_MAX || waiting.bytes + bytes > BYTES_MAX {
            // Releases the lock before the entry is freed.
            drop(waiting);
            return PushResult::Dropped;
        }
        waiting.bytes += bytes;
        waiting.entries.push_back(entry);
        match waiting.entries.len() {
            1 => PushResult::First,
            BATCH_MAX => PushResult::Batch,
            _ => PushResult::Behind,
        }
    }

    /// Removes and returns one batch, oldest entry first.
    pub(super) fn take(&self) -> Vec<LogEntry> {
        let mut waiting = self.lock();
        let count = waiting.entries.len().min(BATCH_MAX);
        let batch: Vec<LogEntry> = waiting.entries.drain(..count).collect();
        waiting.bytes -= batch.iter().map(LogEntry::bytes).sum::<usize>();
        batch
    }

    pub(super) fn len(&self) -> usize {
        self.lock().entries.len()
    }

    fn lock(&self) -> MutexGuard<'_, QueuedEntries> {
        sync::lock(&self.0)
    }
}
