//! What waits to be written: bounded by entries and by bytes, and what has no room is counted.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::entry::Entry;

/// Entries that may wait: some tenths of a second of all that two cores answer.
pub(super) const ENTRIES_MAX: usize = 4_096;
/// Bytes that the waiting entries may hold, their bodies among them.
pub(super) const BYTES_MAX: usize = 16 << 20;
/// Entries that are written at once: as many as an accept that is committed with them does not notice.
pub(super) const BATCH_MAX: usize = 64;

/// What became of an entry, as far as the worker has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    /// It is the first one that waits.
    First,
    /// With it there are as many as are written at once.
    Batch,
    /// It waits behind others.
    Behind,
    /// There was no room for it.
    Dropped,
}

/// The entries that wait.
#[derive(Default)]
pub(super) struct Queue(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    entries: VecDeque<Entry>,
    bytes: usize,
}

impl Queue {
    pub(super) fn push(&self, entry: Entry) -> Pushed {
        let bytes = entry.bytes();
        let mut waiting = self.lock();
        if waiting.entries.len() >= ENTRIES_MAX || waiting.bytes + bytes > BYTES_MAX {
            // The entry is freed after the lock.
            drop(waiting);
            return Pushed::Dropped;
        }
        waiting.bytes += bytes;
        waiting.entries.push_back(entry);
        match waiting.entries.len() {
            1 => Pushed::First,
            BATCH_MAX => Pushed::Batch,
            _ => Pushed::Behind,
        }
    }

    /// Takes what is written at once, oldest first.
    pub(super) fn take(&self) -> Vec<Entry> {
        let mut waiting = self.lock();
        let count = waiting.entries.len().min(BATCH_MAX);
        let batch: Vec<Entry> = waiting.entries.drain(..count).collect();
        waiting.bytes -= batch.iter().map(Entry::bytes).sum::<usize>();
        batch
    }

    pub(super) fn len(&self) -> usize {
        self.lock().entries.len()
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
