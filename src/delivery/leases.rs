//! The leases of this node, each with its holder: a worker, or the task that stores the outcome of the group.
//!
//! If a worker panics, the lease stays stored without a holder. The reconciliation finds it here and requeues its
//! group. Leases of nodes that have ended are found in the table (`queue::recover`).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use super::queue::Claimed;
use crate::base::id::EmailId;
use crate::base::sync;

type LeaseKey = (EmailId, u16);

/// Holder of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    /// Number of a running worker.
    Worker(u64),
    /// A task that stores the outcome of the group, and does not end with the worker.
    Settling,
    /// The lease is abandoned.
    None,
}

/// The leases of this node, by email and group.
#[derive(Debug, Default)]
pub(super) struct LeaseTracker(Mutex<Leases>);

#[derive(Debug, Default)]
struct Leases {
    workers: u64,
    by_key: HashMap<LeaseKey, (Holder, Arc<Claimed>)>,
}

impl LeaseTracker {
    /// Returns a new number for a worker.
    pub(super) fn start_worker(&self) -> u64 {
        let mut leases = self.lock();
        leases.workers += 1;
        leases.workers
    }

    /// Returns the number of leases.
    pub(super) fn count(&self) -> usize {
        self.lock().by_key.len()
    }

    /// Records the leases that a worker has claimed.
    pub(super) fn record<'a>(&self, worker: u64, claimed: impl IntoIterator<Item = &'a Arc<Claimed>>) {
        let mut leases = self.lock();
        for group in claimed {
            leases.by_key.insert(lease_key(group), (Holder::Worker(worker), Arc::clone(group)));
        }
    }

    /// Removes a lease whose settlement is committed, or can never be. Another worker may have leased the group again since
    /// that commit; its lease has another due time and stays.
    pub(super) fn settled(&self, claimed: &Claimed) {
        let mut leases = self.lock();
        if leases.by_key.get(&lease_key(claimed)).is_some_and(|(_, known)| known.key == claimed.key) {
            leases.by_key.remove(&lease_key(claimed));
        }
    }

    /// Gives the lease of a worker to the task that stores its outcome.
    pub(super) fn begin_settling(&self, claimed: &Claimed) {
        self.change(claimed, |holder| *holder = Holder::Settling);
    }

    /// Marks the lease of a task that has ended as abandoned, unless it was settled.
    pub(super) fn end_settling(&self, claimed: &Claimed) {
        self.change(claimed, |holder| {
            if *holder == Holder::Settling {
                *holder = Holder::None;
            }
        });
    }

    /// Changes the holder of a lease, unless another worker has leased the group again.
    fn change(&self, claimed: &Claimed, change: impl FnOnce(&mut Holder)) {
        if let Some((holder, known)) = self.lock().by_key.get_mut(&lease_key(claimed))
            && known.key == claimed.key
        {
            change(holder);
        }
    }

    /// Marks the leases of an ended worker as abandoned. The next reconciliation requeues them.
    pub(super) fn end_worker(&self, worker: u64) {
        for (holder, _) in self.lock().by_key.values_mut() {
            if *holder == Holder::Worker(worker) {
                *holder = Holder::None;
            }
        }
    }

    /// Returns whether this node holds the lease of a group.
    pub(super) fn holds(&self, email: EmailId, group: u16) -> bool {
        self.lock().by_key.contains_key(&(email, group))
    }

    /// Returns whether this node holds no lease.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().by_key.is_empty()
    }

    /// Returns the abandoned leases. They stay here until they are settled.
    pub(super) fn abandoned(&self) -> Vec<Arc<Claimed>> {
        let leases = self.lock();
        let abandoned = leases.by_key.values().filter(|(holder, _)| *holder == Holder::None);
        abandoned.map(|(_, claimed)| Arc::clone(claimed)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Leases> {
        sync::lock(&self.0)
    }
}

fn lease_key(claimed: &Claimed) -> LeaseKey {
    (claimed.key.email, claimed.key.group)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Id;
    use crate::delivery::queue::{DueKey, LaneKey};
    use crate::delivery::rows::{Class, DueRow};
    use crate::emails::{EmailRow, LastEvent};

    fn claimed(group: u16, due_ms: i64) -> Arc<Claimed> {
        let lane = LaneKey::new("example.com", Class::Transactional, Id::MIN);
        Arc::new(Claimed {
            key: DueKey { lane, due_ms, email: Id::MIN, group },
            due: DueRow::fresh(Id::MIN, "example.com".into(), due_ms),
            row: EmailRow::example(Vec::new(), LastEvent::Sent),
            recipients: Vec::new(),
        })
    }

    #[test]
    fn the_lease_of_an_outcome_that_is_being_stored_outlives_its_worker() {
        let tracker = LeaseTracker::default();
        let (storing, failed, waiting) = (claimed(1, 1), claimed(2, 1), claimed(3, 1));
        tracker.record(1, &[Arc::clone(&storing), Arc::clone(&failed), Arc::clone(&waiting)]);
        tracker.begin_settling(&storing);
        tracker.begin_settling(&failed);

        tracker.end_worker(1);
        tracker.end_settling(&failed);

        let mut abandoned: Vec<u16> = tracker.abandoned().iter().map(|claimed| claimed.key.group).collect();
        abandoned.sort_unstable();
        assert_eq!(abandoned, [2, 3]);
        tracker.settled(&storing);
        tracker.end_settling(&storing);
        assert_eq!(tracker.count(), 2);
    }

    #[test]
    fn a_settled_lease_does_not_remove_the_next_one_of_its_group() {
        let tracker = LeaseTracker::default();
        let (first, second) = (claimed(0, 1), claimed(0, 2));
        tracker.record(1, &[Arc::clone(&first)]);
        tracker.record(2, &[Arc::clone(&second)]);

        tracker.settled(&first);
        assert_eq!(tracker.count(), 1);

        tracker.settled(&second);
        assert!(tracker.is_empty());
    }
}
