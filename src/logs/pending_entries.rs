//! Requests that are not in the log yet.
//!
//! An erasure scans the log once, up to an entry. Before the scan, it waits until the log contains each
//! request in progress: such a request can have read the address.

use std::sync::{Arc, Mutex};

use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::base::sync;

/// Requests in progress and entries in the queue of the log. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct PendingEntries(Arc<Mutex<Generations>>);

#[derive(Debug, Default)]
struct Generations {
    /// Requests since the last snapshot.
    current: TaskTracker,
    /// Requests before the last snapshot, one tracker for each snapshot that is not written.
    earlier: Vec<TaskTracker>,
}

/// Marks a request as pending until its entry is committed or dropped.
#[derive(Debug)]
pub struct PendingEntryGuard {
    _token: TaskTrackerToken,
}

/// The requests that were pending at one moment.
#[derive(Clone, Debug)]
pub(crate) struct PendingSnapshot(Vec<TaskTracker>);

impl PendingEntries {
    /// Marks a request as pending until the guard is dropped.
    pub fn begin(&self) -> PendingEntryGuard {
        PendingEntryGuard { _token: sync::lock(&self.0).current.token() }
    }

    /// Returns the requests that are pending now.
    pub(crate) fn snapshot(&self) -> PendingSnapshot {
        let mut generations = sync::lock(&self.0);
        generations.earlier.retain(|generation| !generation.is_empty());
        if !generations.current.is_empty() {
            let generation = std::mem::take(&mut generations.current);
            generations.earlier.push(generation);
        }
        PendingSnapshot(generations.earlier.clone())
    }
}

impl PendingSnapshot {
    /// Returns whether the entry of each of these requests has been committed or dropped.
    pub(crate) fn is_written(&self) -> bool {
        self.0.iter().all(TaskTracker::is_empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_contains_the_earlier_requests_and_no_later_ones() {
        let pending = PendingEntries::default();
        assert!(pending.snapshot().is_written());

        let first = pending.begin();
        let one = pending.snapshot();
        let second = pending.begin();
        let two = pending.snapshot();
        let third = pending.begin();
        drop(second);
        assert!(!one.is_written() && !two.is_written());
        drop(first);

        assert!(one.is_written() && two.is_written());
        assert!(!pending.snapshot().is_written());
        drop(third);
        assert!(pending.snapshot().is_written());
        assert!(pending.0.lock().unwrap().earlier.is_empty());
    }
}
