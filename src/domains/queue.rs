//! Queue of domains to check before the next sweep. The queue is in memory only: after a restart, a sweep finds the
//! domains from their rows. Its times are of the monotonic clock.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::base::id::{DomainId, TeamId};
use crate::base::sync;
use crate::base::wakeup::Wakeup;

/// Maximum number of queued domains. Further domains are checked by a sweep.
const QUEUE_MAX: usize = 1_024;

/// Domains with the time of their next check.
#[derive(Debug, Default)]
pub(super) struct CheckQueue {
    due_times: Mutex<HashMap<(TeamId, DomainId), i64>>,
    /// Notified when a domain is queued.
    pub(super) added: Wakeup,
}

impl CheckQueue {
    /// Queues a check at `due_ms`. Several checks of one domain are merged into one at the earliest time. If the queue
    /// is full, a new domain is not queued.
    pub(super) fn push(&self, team: TeamId, id: DomainId, due_ms: i64) {
        let mut due_times = sync::lock(&self.due_times);
        if due_times.len() >= QUEUE_MAX && !due_times.contains_key(&(team, id)) {
            return;
        }
        let due = due_times.entry((team, id)).or_insert(due_ms);
        *due = due_ms.min(*due);
        drop(due_times);
        self.added.notify();
    }

    /// Removes and returns the domain with the earliest due time; `None` if no domain is due.
    pub(super) fn pop(&self, now_ms: i64) -> Option<(TeamId, DomainId)> {
        let mut due_times = sync::lock(&self.due_times);
        let (key, _) = due_times
            .iter()
            .map(|(key, due_ms)| (*key, *due_ms))
            .filter(|(_, due_ms)| *due_ms <= now_ms)
            .min_by_key(|(_, due_ms)| *due_ms)?;
        due_times.remove(&key);
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Id;

    #[test]
    fn a_domain_is_queued_once_at_its_earliest_time() {
        let queue = CheckQueue::default();
        let (team, one, other) = (Id::MIN, Id::MIN, Id::MAX);

        queue.push(team, one, 30);
        queue.push(team, other, 20);
        queue.push(team, one, 10);
        queue.push(team, one, 40);

        assert_eq!(queue.pop(9), None);
        assert_eq!(queue.pop(25), Some((team, one)));
        assert_eq!(queue.pop(25), Some((team, other)));
        assert_eq!(queue.pop(i64::MAX), None);
    }

    #[test]
    fn a_full_queue_still_updates_its_domains() {
        let queue = CheckQueue::default();
        let id = |number: usize| Id::from_bytes((number as u128).to_be_bytes());
        for number in 0..QUEUE_MAX + 10 {
            queue.push(Id::MIN, id(number), 10);
        }
        queue.push(Id::MIN, id(0), 5);

        assert_eq!(queue.pop(5), Some((Id::MIN, id(0))));
        assert_eq!(std::iter::from_fn(|| queue.pop(10)).count(), QUEUE_MAX - 1);
    }
}
