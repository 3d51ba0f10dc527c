//! Counts of segments, each valid for one rule and one revision of the audience.

use std::collections::HashMap;

use sha2::{Digest as _, Sha256};

use super::scan::SegmentRule;
use crate::base::id::{SegmentId, TeamId};

/// Maximum number of cached counts, at some 150 bytes each.
const COUNTS_MAX: usize = 4_096;

/// A rule in 48 bytes: a filter can have 50 KB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RuleFingerprint {
    segment: SegmentId,
    /// SHA-256 of the filter.
    filter: [u8; 32],
}

impl RuleFingerprint {
    /// Returns the fingerprint of a rule.
    pub(super) fn of(rule: &SegmentRule) -> Self {
        let filter = serde_json::to_vec(&rule.filter).expect("a filter is plain data");
        Self { segment: rule.segment, filter: Sha256::digest(filter).into() }
    }
}

/// The last count of each segment.
#[derive(Default)]
pub(super) struct CountCache {
    counts: HashMap<(TeamId, SegmentId), CachedCount>,
}

struct CachedCount {
    fingerprint: RuleFingerprint,
    /// Revision of the audience before the count.
    revision: u64,
    contacts: u64,
}

impl CountCache {
    /// Returns the count of the rule for a request that read `revision` when it arrived. `None` if the cache has no
    /// count that started at this revision or a later one.
    ///
    /// A later revision means that the count started after the request arrived: the request waited.
    pub(super) fn get(&self, team: TeamId, fingerprint: RuleFingerprint, revision: u64) -> Option<u64> {
        let cached = self.counts.get(&(team, fingerprint.segment))?;
        (cached.fingerprint == fingerprint && cached.revision >= revision).then_some(cached.contacts)
    }

    /// Stores a count that started at `revision`. A full cache drops the count of any one segment.
    pub(super) fn insert(&mut self, team: TeamId, fingerprint: RuleFingerprint, revision: u64, contacts: u64) {
        let key = (team, fingerprint.segment);
        if self.counts.len() >= COUNTS_MAX
            && !self.counts.contains_key(&key)
            && let Some(other) = self.counts.keys().next().copied()
        {
            self.counts.remove(&other);
        }
        self.counts.insert(key, CachedCount { fingerprint, revision, contacts });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Id;
    use crate::segments::filter::{ConditionText, Filter, Match};

    const TEAM: TeamId = Id::MIN;

    fn fingerprint(segment: u8, plan: &str) -> RuleFingerprint {
        let condition =
            ConditionText { field: "property:plan".into(), op: "equals".into(), value: Some(plan.to_owned()) };
        let filter = Some(Filter::parse(Match::All, vec![condition]).unwrap());
        RuleFingerprint::of(&SegmentRule { segment: Id::from_bytes([segment; 16]), filter })
    }

    #[test]
    fn a_count_is_valid_for_its_team_its_rule_and_its_revision() {
        let mut cache = CountCache::default();
        cache.insert(TEAM, fingerprint(1, "pro"), 7, 42);

        assert_eq!(cache.get(TEAM, fingerprint(1, "pro"), 7), Some(42));
        assert_eq!(cache.get(Id::MAX, fingerprint(1, "pro"), 7), None);
        assert_eq!(cache.get(TEAM, fingerprint(2, "pro"), 7), None);
        assert_eq!(cache.get(TEAM, fingerprint(1, "free"), 7), None);
        assert_eq!(cache.get(TEAM, fingerprint(1, "pro"), 8), None);
        assert_eq!(cache.get(TEAM, fingerprint(1, "pro"), 6), Some(42), "the request waited for the count");
        cache.insert(TEAM, fingerprint(1, "free"), 8, 43);
        assert_eq!(cache.get(TEAM, fingerprint(1, "free"), 8), Some(43));
        assert_eq!(cache.get(TEAM, fingerprint(1, "pro"), 7), None);
    }

    #[test]
    fn a_full_cache_takes_a_new_count_and_stays_full() {
        let mut cache = CountCache::default();
        let rule = fingerprint(1, "pro");
        for segment in 0..=COUNTS_MAX {
            let segment = Id::from_bytes((segment as u128).to_be_bytes());
            cache.insert(TEAM, RuleFingerprint { segment, ..rule }, 0, 1);
        }
        let last = Id::from_bytes((COUNTS_MAX as u128).to_be_bytes());

        assert_eq!(cache.counts.len(), COUNTS_MAX);
        assert_eq!(cache.get(TEAM, RuleFingerprint { segment: last, ..rule }, 0), Some(1));
    }
}
