//! The targets that were requested recently, in memory. A further request of such a target is read first. Most of them
//! have no consequence and must not fill the queue of the writer.
//!
//! Each process knows its own requests. The memory decides only whether a read comes first.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::mem;
use std::sync::Mutex;

use super::record::Hit;
use crate::base::sync;

/// Number of targets of a generation. The memory has two generations, with about 18 bytes a target.
const TARGETS_MAX: usize = 16_384;

/// Hashes of the targets: those of the current generation and of the one before.
#[derive(Debug, Default)]
pub(super) struct RecentTargets {
    hasher: RandomState,
    generations: Mutex<Generations>,
}

#[derive(Debug, Default)]
struct Generations {
    current: HashSet<u64>,
    previous: HashSet<u64>,
}

impl RecentTargets {
    /// Adds the target of a hit. Returns whether the same recipient requested it recently.
    pub(super) fn add(&self, hit: &Hit) -> bool {
        let hash = self.hasher.hash_one((hit.email, hit.group, &hit.target));
        let mut generations = sync::lock(&self.generations);
        if generations.current.len() == TARGETS_MAX {
            generations.previous = mem::take(&mut generations.current);
        }
        let is_new = generations.current.insert(hash);
        !is_new || generations.previous.contains(&hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::TimestampMs;
    use crate::base::id::{EmailId, Id};
    use crate::engagement::HitTarget;

    fn hit(email: EmailId, group: u16, target: HitTarget) -> Hit {
        Hit {
            team: Id::MIN,
            email,
            group,
            target,
            ip_address: String::new(),
            user_agent: String::new(),
            is_prefetch: false,
            at_ms: 0,
        }
    }

    #[test]
    fn a_target_belongs_to_a_recipient() {
        let targets = RecentTargets::default();
        let link = |link: &str| HitTarget::Link(link.into());

        for target in [HitTarget::Pixel, link("a"), link("b")] {
            for (email, group) in [(Id::MIN, 0), (Id::MIN, 1), (Id::MAX, 0)] {
                assert!(!targets.add(&hit(email, group, target.clone())));
                assert!(targets.add(&hit(email, group, target.clone())));
            }
        }
    }

    #[test]
    fn the_last_targets_are_known_and_their_number_is_bounded() {
        let targets = RecentTargets::default();
        let at = |at_ms: usize| hit(EmailId::first_at(at_ms as TimestampMs), 0, HitTarget::Pixel);
        for at_ms in 0..3 * TARGETS_MAX {
            assert!(!targets.add(&at(at_ms)));
        }

        assert!(targets.add(&at(2 * TARGETS_MAX)));
        assert!(!targets.add(&at(0)));
        let generations = sync::lock(&targets.generations);
        assert!(generations.current.len().max(generations.previous.len()) <= TARGETS_MAX);
    }
}
