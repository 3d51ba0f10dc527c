//! Which requests have not reached the store.
//!
//! An erasure goes through the log once. It must not do so while a request that saw the address is
//! still under way or in the queue: what is written behind its back would stay.

use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// The requests that are under way or in the queue of the log. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct PendingEntries(Arc<Mutex<Phases>>);

#[derive(Debug, Default)]
struct Phases {
    /// Those that began since the last barrier.
    present: TaskTracker,
    /// Those that began before the last barrier or one of those before it, while there are any.
    earlier: Vec<TaskTracker>,
}

/// Says that a request has begun, until its entry is written or dropped.
#[derive(Debug)]
pub struct PendingEntryGuard {
    _token: TaskTrackerToken,
}

/// The requests that had begun at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Barrier(Vec<TaskTracker>);

impl PendingEntries {
    /// Notes that a request begins.
    pub fn begin(&self) -> PendingEntryGuard {
        PendingEntryGuard { _token: self.0.lock().unwrap_or_else(PoisonError::into_inner).present.token() }
    }

    /// Returns the requests that have begun and are not written.
    pub(crate) fn barrier(&self) -> Barrier {
        let mut phases = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        phases.earlier.retain(|phase| !phase.is_empty());
        if !phases.present.is_empty() {
            let phase = std::mem::take(&mut phases.present);
            phases.earlier.push(phase);
        }
        Barrier(phases.earlier.clone())
    }
}

impl Barrier {
    /// Returns whether all of them are written or dropped. A request that takes long takes this long too.
    pub(crate) fn is_passed(&self) -> bool {
        self.0.iter().all(TaskTracker::is_empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_waits_for_what_began_before_it_and_for_nothing_else() {
        let unwritten = PendingEntries::default();
        assert!(unwritten.barrier().is_passed());

        let first = unwritten.begin();
        let one = unwritten.barrier();
        let second = unwritten.begin();
        let two = unwritten.barrier();
        let third = unwritten.begin();
        drop(second);
        assert!(!one.is_passed() && !two.is_passed());
        drop(first);

        assert!(one.is_passed() && two.is_passed());
        assert!(!unwritten.barrier().is_passed());
        drop(third);
        assert!(unwritten.barrier().is_passed());
        assert!(unwritten.0.lock().unwrap().earlier.is_empty());
    }
}
