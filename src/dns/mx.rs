//! First half of the routing rules: selects and sorts the MX hosts whose addresses are looked up. Pure.

use std::collections::HashMap;

use super::host;
use super::route::Unroutable;

/// Maximum number of hosts in one route. If five hosts are unreachable, a sixth is unlikely to help.
pub const HOSTS_MAX: usize = 5;
/// Maximum number of addresses in one route, over all its hosts.
pub const ADDRESSES_MAX: usize = 10;
/// Maximum number of hosts whose addresses are looked up. Twice [`HOSTS_MAX`], so that hosts without addresses do not
/// displace reachable ones. A hostile MX answer causes at most twenty queries.
pub const CANDIDATES_MAX: usize = 2 * HOSTS_MAX;

/// The exchange of a null MX record (RFC 7505 §3).
pub const ROOT: &str = ".";

/// An MX host whose addresses have not been looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MxCandidate {
    /// The published exchange, normalized. The certificate of the host is checked against this name.
    pub name: String,
    /// A lower value is tried first.
    pub preference: u16,
}

/// Next step after an MX answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MxPlan {
    /// The domain accepts no email (null MX).
    Null,
    /// Look up the addresses of these hosts. Sorted; 1 to [`CANDIDATES_MAX`] entries.
    Lookup(Vec<MxCandidate>),
    /// No record names a usable host.
    Unroutable(Unroutable),
}

/// Sorts an MX answer and applies the rules that need no addresses.
///
/// `records` contains the published preferences and exchanges. `own_names` contains the normalized names of this
/// server. Hosts of equal preference are shuffled by `seed`.
pub fn plan(records: &[(u16, String)], own_names: &[String], seed: u64) -> MxPlan {
    // RFC 7505 §3: one record, preference zero, the root.
    if let [(0, exchange)] = records
        && exchange == ROOT
    {
        return MxPlan::Null;
    }
    // A host that is listed twice counts once, at its lower preference.
    let mut best: HashMap<String, u16> = HashMap::new();
    for (preference, exchange) in records {
        let Some(name) = host::normalize(exchange) else {
            continue;
        };
        best.entry(name).and_modify(|known| *known = (*known).min(*preference)).or_insert(*preference);
    }
    if best.is_empty() {
        return MxPlan::Unroutable(Unroutable::NoAddresses);
    }
    let mut candidates: Vec<MxCandidate> =
        best.into_iter().map(|(name, preference)| MxCandidate { name, preference }).collect();
    drop_own_and_later(
        &mut candidates,
        |candidate| own_names.contains(&candidate.name),
        |candidate| candidate.preference,
    );
    if candidates.is_empty() {
        return MxPlan::Unroutable(Unroutable::OwnHost);
    }
    // Sorted by name before the shuffle, so that the result does not depend on the order of the answer.
    candidates.sort_unstable_by(|a, b| (a.preference, &a.name).cmp(&(b.preference, &b.name)));
    // RFC 5321 §5.1: "the sender-SMTP MUST randomize them to spread the load".
    let mut random = SplitMix64(seed);
    for group in candidates.chunk_by_mut(|a, b| a.preference == b.preference) {
        random.shuffle(group);
    }
    candidates.truncate(CANDIDATES_MAX);
    MxPlan::Lookup(candidates)
}

/// Removes this server from a list of hosts, and all hosts of the same or a higher preference value (RFC 5321 §5.1).
/// Such a host would send the email back to this server.
pub(super) fn drop_own_and_later<T>(list: &mut Vec<T>, is_own: impl Fn(&T) -> bool, preference: impl Fn(&T) -> u16) {
    let own = list.iter().filter(|item| is_own(item)).map(&preference).min();
    if let Some(own) = own {
        list.retain(|item| preference(item) < own);
    }
}

/// The SplitMix64 generator of Steele, Lea and Flood. Sufficient for spreading load, and needs no dependency.
pub(super) struct SplitMix64(pub(super) u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Shuffles by Fisher and Yates. The bias of the remainder is negligible for spreading load.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.next() % (last as u64 + 1);
            items.swap(last, usize::try_from(other).expect("below a length"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Answer = &'static [(u16, &'static str)];

    fn records(list: &[(u16, &str)]) -> Vec<(u16, String)> {
        list.iter().map(|(preference, host)| (*preference, (*host).to_owned())).collect()
    }

    fn candidate_names(list: &[(u16, &str)], own: &[&str], seed: u64) -> Result<Vec<String>, MxPlan> {
        let own: Vec<String> = own.iter().map(|name| (*name).to_owned()).collect();
        match plan(&records(list), &own, seed) {
            MxPlan::Lookup(candidates) => Ok(candidates.into_iter().map(|candidate| candidate.name).collect()),
            other => Err(other),
        }
    }

    #[test]
    fn an_mx_answer_results_in_a_plan() {
        let unroutable = |reason| Err(MxPlan::Unroutable(reason));
        let names = |list: &[&str]| Ok(list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        let cases: &[(Answer, Result<Vec<String>, MxPlan>)] = &[
            (
                &[(20, "b.example"), (10, "A.example."), (30, "c.example")],
                names(&["a.example", "b.example", "c.example"]),
            ),
            (&[(0, ".")], Err(MxPlan::Null)),
            // Not a null MX, because its preference is not zero. It is unroutable, and the A record is not used.
            (&[(10, ".")], unroutable(Unroutable::NoAddresses)),
            (&[(0, "."), (10, "a.example")], names(&["a.example"])),
            (&[(10, "192.0.2.1")], unroutable(Unroutable::NoAddresses)),
            (&[(10, "a\\.b.example"), (20, "a.example")], names(&["a.example"])),
            (&[(20, "a.example"), (10, "b.example"), (5, "a.example")], names(&["a.example", "b.example"])),
            (&[], unroutable(Unroutable::NoAddresses)),
            // The name of this server removes all hosts of the same or a higher preference value.
            (&[(5, "a.example"), (10, "own.example"), (10, "b.example"), (20, "c.example")], names(&["a.example"])),
            (&[(10, "own.example"), (20, "c.example")], unroutable(Unroutable::OwnHost)),
        ];
        for (answer, want) in cases {
            assert_eq!(candidate_names(answer, &["own.example"], 1), *want, "{answer:?}");
        }
    }

    #[test]
    fn hosts_of_equal_preference_are_shuffled_by_the_seed() {
        let set = [(10, "a.example"), (10, "b.example"), (10, "c.example"), (20, "d.example")];
        let mut reversed = set;
        reversed.reverse();
        let mut firsts = std::collections::HashSet::new();
        for seed in 0..50 {
            let order = candidate_names(&set, &[], seed).unwrap();
            assert_eq!(order[3], "d.example");
            assert_eq!(Ok(order.clone()), candidate_names(&reversed, &[], seed));
            firsts.insert(order[0].clone());
        }
        assert_eq!(firsts.len(), 3);
    }

    proptest! {
        #[test]
        fn a_plan_is_sorted_and_bounded_and_omits_this_server(
            set in proptest::collection::vec((0u16..4, "[a-z.\\\\]{0,3}(\\.example)?\\.?"), 0..60),
            seed: u64,
        ) {
            if let MxPlan::Lookup(candidates) = plan(&set, &["a.example".to_owned()], seed) {
                prop_assert!(!candidates.is_empty() && candidates.len() <= CANDIDATES_MAX);
                prop_assert!(candidates.is_sorted_by_key(|candidate| candidate.preference));
                for candidate in &candidates {
                    prop_assert!(candidate.name != "a.example");
                    prop_assert_eq!(host::normalize(&candidate.name), Some(candidate.name.clone()));
                }
            }
        }
    }
}
