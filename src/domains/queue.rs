//! The domains that are to be checked ahead of the sweeps. A cache: what is lost with the process
//! is found again from the rows.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use crate::base::clock::TimestampMs;
use crate::base::id::{DomainId, TeamId};

/// Domains that wait at once. Beyond it they wait for a sweep.
const WAITING_MAX: usize = 1_024;

/// Domains and when each is to be checked.
#[derive(Debug, Default)]
pub(super) struct CheckQueue {
    waiting: Mutex<HashMap<(TeamId, DomainId), TimestampMs>>,
    rung: Notify,
}

impl CheckQueue {
    /// Asks for a check at `due_ms`. Several of one domain become one, at the earliest time.
    pub(super) fn push(&self, team: TeamId, id: DomainId, due_ms: TimestampMs) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() >= WAITING_MAX && !waiting.contains_key(&(team, id)) {
            return;
        }
        let due = waiting.entry((team, id)).or_insert(due_ms);
        *due = due_ms.min(*due);
        drop(waiting);
        self.rung.notify_one();
    }

    /// Takes the domain that has been due longest.
    pub(super) fn pop(&self, now_ms: TimestampMs) -> Option<(TeamId, DomainId)> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let (key, _) = waiting
            .iter()
            .map(|(key, due_ms)| (*key, *due_ms))
            .filter(|(_, due_ms)| *due_ms <= now_ms)
            .min_by_key(|(_, due_ms)| *due_ms)?;
        waiting.remove(&key);
        Some(key)
    }

    /// Waits until a domain has been added.
    pub(super) async fn notified(&self) {
        self.rung.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Id;

    #[test]
    fn a_domain_waits_once_until_its_earliest_time() {
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
    fn the_queue_is_bounded_and_still_takes_whoever_waits_already() {
        let queue = CheckQueue::default();
        let id = |number: usize| Id::from_bytes((number as u128).to_be_bytes());
        for number in 0..WAITING_MAX + 10 {
            queue.push(Id::MIN, id(number), 10);
        }
        queue.push(Id::MIN, id(0), 5);

        assert_eq!(queue.pop(5), Some((Id::MIN, id(0))));
        assert_eq!(std::iter::from_fn(|| queue.pop(10)).count(), WAITING_MAX - 1);
    }
}
