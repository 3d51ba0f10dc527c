//! What was counted before, for as long as the audience stands as it stood.

use std::collections::HashMap;

use sha2::{Digest as _, Sha256};

use super::resolve::SegmentRule;
use crate::base::id::{SegmentId, TeamId};

/// A rule in a few bytes, because filters may be long and many are remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct RuleFingerprint {
    segment: SegmentId,
    filter: [u8; 32],
}

impl RuleFingerprint {
    pub(super) fn of(rule: &SegmentRule) -> Self {
        let filter = serde_json::to_vec(&rule.filter).expect("a filter is plain data");
        Self { segment: rule.segment, filter: Sha256::digest(filter).into() }
    }
}

/// One value a segment, of the rule and the revision it was made for. The least recently used goes
/// when there are too many.
pub(super) struct RevisionCache<V> {
    max: usize,
    uses: u64,
    entries: HashMap<(TeamId, SegmentId), Entry<V>>,
}

struct Entry<V> {
    print: RuleFingerprint,
    revision: u64,
    value: V,
    used: u64,
}

impl<V: Clone> RevisionCache<V> {
    /// Returns a memory of up to `max` segments.
    pub(super) fn new(max: usize) -> Self {
        Self { max, uses: 0, entries: HashMap::new() }
    }

    /// Returns what is remembered of the rule, unless the audience has changed since.
    pub(super) fn get(&mut self, team: TeamId, print: RuleFingerprint, revision: u64) -> Option<V> {
        let entry = self.entries.get_mut(&(team, print.segment))?;
        if entry.print != print || entry.revision != revision {
            return None;
        }
        self.uses += 1;
        entry.used = self.uses;
        Some(entry.value.clone())
    }

    pub(super) fn insert(&mut self, team: TeamId, print: RuleFingerprint, revision: u64, value: V) {
        let key = (team, print.segment);
        if self.entries.len() >= self.max && !self.entries.contains_key(&key) {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| *key);
            oldest.map(|oldest| self.entries.remove(&oldest));
        }
        self.uses += 1;
        self.entries.insert(key, Entry { print, revision, value, used: self.uses });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Id;
    use crate::segments::filter::{ConditionText, Filter, Match};

    const TEAM: TeamId = Id::MIN;

    fn print(segment: u8, plan: &str) -> RuleFingerprint {
        let condition =
            ConditionText { field: "property:plan".into(), op: "equals".into(), value: Some(plan.to_owned()) };
        let filter = Some(Filter::parse(Match::All, vec![condition]).unwrap());
        RuleFingerprint::of(&SegmentRule { segment: Id::from_bytes([segment; 16]), filter })
    }

    #[test]
    fn a_number_is_remembered_for_its_team_its_rule_and_its_revision() {
        let mut memory = RevisionCache::new(8);
        memory.insert(TEAM, print(1, "pro"), 7, 42);

        assert_eq!(memory.get(TEAM, print(1, "pro"), 7), Some(42));
        assert_eq!(memory.get(Id::MAX, print(1, "pro"), 7), None);
        assert_eq!(memory.get(TEAM, print(2, "pro"), 7), None);
        assert_eq!(memory.get(TEAM, print(1, "free"), 7), None);
        assert_eq!(memory.get(TEAM, print(1, "pro"), 8), None);
        memory.insert(TEAM, print(1, "free"), 8, 43);
        assert_eq!(memory.get(TEAM, print(1, "free"), 8), Some(43));
        assert_eq!(memory.get(TEAM, print(1, "pro"), 7), None);
    }

    #[test]
    fn the_least_recently_used_goes() {
        let mut memory = RevisionCache::new(2);
        memory.insert(TEAM, print(1, "pro"), 0, 1);
        memory.insert(TEAM, print(2, "pro"), 0, 2);
        memory.get(TEAM, print(1, "pro"), 0);

        memory.insert(TEAM, print(3, "pro"), 0, 3);

        let recalled = [1, 2, 3].map(|segment| memory.get(TEAM, print(segment, "pro"), 0));
        assert_eq!(recalled, [Some(1), None, Some(3)]);
    }
}
