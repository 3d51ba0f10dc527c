//! The rules of mail routing, first half: which MX hosts to ask about, and in which order. Pure.

use std::collections::HashMap;

use super::host;
use super::route::Unroutable;

/// Hosts in one route. Who cannot be reached on five will not be reached on the sixth.
pub const HOSTS_MAX: usize = 5;
/// Addresses in one route, over all its hosts.
pub const ADDRESSES_MAX: usize = 10;
/// Hosts whose addresses are looked up: twice what is kept, so that dead names do not hide live
/// ones, and few enough that one hostile answer causes only twenty questions.
pub const CANDIDATES_MAX: usize = 2 * HOSTS_MAX;

/// The name by which a null MX record says "no mail" (RFC 7505 §3).
pub const ROOT: &str = ".";

/// An MX host whose addresses are not known yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MxCandidate {
    /// The exchange as published, normalized: the name a certificate is checked against.
    pub name: String,
    /// Lower is asked first.
    pub preference: u16,
}

/// What an MX answer asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MxPlan {
    /// The domain takes no mail.
    Null,
    /// Look these up; sorted, at least one, at most [`CANDIDATES_MAX`].
    Ask(Vec<MxCandidate>),
    /// No record leads anywhere.
    Dead(Unroutable),
}

/// Orders an MX answer and applies the rules that need no addresses.
///
/// `records` are preferences and exchanges as they came, `own_names` the normalized names this
/// server goes by.
pub fn plan(records: &[(u16, String)], own_names: &[String], seed: u64) -> MxPlan {
    // RFC 7505 §3: one record, preference zero, the root.
    if let [(0, exchange)] = records
        && exchange == ROOT
    {
        return MxPlan::Null;
    }
    // The same host twice counts once, at its better preference.
    let mut best: HashMap<String, u16> = HashMap::new();
    for (preference, exchange) in records {
        let Some(name) = host::normalize(exchange) else {
            continue;
        };
        best.entry(name).and_modify(|known| *known = (*known).min(*preference)).or_insert(*preference);
    }
    if best.is_empty() {
        return MxPlan::Dead(Unroutable::NoAddresses);
    }
    let mut targets: Vec<MxCandidate> =
        best.into_iter().map(|(name, preference)| MxCandidate { name, preference }).collect();
    drop_from_own(&mut targets, |target| own_names.contains(&target.name), |target| target.preference);
    if targets.is_empty() {
        return MxPlan::Dead(Unroutable::OwnHost);
    }
    // By name first, so that the order depends on the seed and not on the order of the answer.
    targets.sort_unstable_by(|a, b| (a.preference, &a.name).cmp(&(b.preference, &b.name)));
    // RFC 5321 §5.1: "the sender-SMTP MUST randomize them to spread the load".
    let mut random = SplitMix64(seed);
    for group in targets.chunk_by_mut(|a, b| a.preference == b.preference) {
        random.shuffle(group);
    }
    targets.truncate(CANDIDATES_MAX);
    MxPlan::Ask(targets)
}

/// RFC 5321 §5.1: when one of the hosts is ourselves, it and everything at its preference or
/// behind it is dropped; whoever is behind us would send the mail back here.
pub(super) fn drop_from_own<T>(list: &mut Vec<T>, is_own: impl Fn(&T) -> bool, preference: impl Fn(&T) -> u16) {
    let own = list.iter().filter(|item| is_own(item)).map(&preference).min();
    if let Some(own) = own {
        list.retain(|item| preference(item) < own);
    }
}

/// Steele and others' generator: a few lines, no dependency, and good enough to spread load.
pub(super) struct SplitMix64(pub(super) u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Fisher and Yates; the bias of the remainder is far below what load can show.
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

    fn asked(list: &[(u16, &str)], own: &[&str], seed: u64) -> Result<Vec<String>, MxPlan> {
        let own: Vec<String> = own.iter().map(|name| (*name).to_owned()).collect();
        match plan(&records(list), &own, seed) {
            MxPlan::Ask(targets) => Ok(targets.into_iter().map(|target| target.name).collect()),
            other => Err(other),
        }
    }

    #[test]
    fn an_mx_answer_becomes_a_plan() {
        let dead = |why| Err(MxPlan::Dead(why));
        let names = |list: &[&str]| Ok(list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        let cases: &[(Answer, Result<Vec<String>, MxPlan>)] = &[
            (
                &[(20, "b.example"), (10, "A.example."), (30, "c.example")],
                names(&["a.example", "b.example", "c.example"]),
            ),
            (&[(0, ".")], Err(MxPlan::Null)),
            // Not a null MX by the letter, and no way to anywhere: dead, and never the A record.
            (&[(10, ".")], dead(Unroutable::NoAddresses)),
            (&[(0, "."), (10, "a.example")], names(&["a.example"])),
            (&[(10, "192.0.2.1")], dead(Unroutable::NoAddresses)),
            (&[(10, "a\\.b.example"), (20, "a.example")], names(&["a.example"])),
            (&[(20, "a.example"), (10, "b.example"), (5, "a.example")], names(&["a.example", "b.example"])),
            (&[], dead(Unroutable::NoAddresses)),
            // Our own name takes everything at its preference and behind it along.
            (&[(5, "a.example"), (10, "own.example"), (10, "b.example"), (20, "c.example")], names(&["a.example"])),
            (&[(10, "own.example"), (20, "c.example")], dead(Unroutable::OwnHost)),
        ];
        for (answer, want) in cases {
            assert_eq!(asked(answer, &["own.example"], 1), *want, "{answer:?}");
        }
    }

    #[test]
    fn equal_preferences_are_shuffled_by_the_seed_alone() {
        let set = [(10, "a.example"), (10, "b.example"), (10, "c.example"), (20, "d.example")];
        let mut reversed = set;
        reversed.reverse();
        let mut firsts = std::collections::HashSet::new();
        for seed in 0..50 {
            let order = asked(&set, &[], seed).unwrap();
            assert_eq!(order[3], "d.example");
            assert_eq!(Ok(order.clone()), asked(&reversed, &[], seed));
            firsts.insert(order[0].clone());
        }
        assert_eq!(firsts.len(), 3);
    }

    proptest! {
        #[test]
        fn a_plan_is_sorted_bounded_and_free_of_ourselves(
            set in proptest::collection::vec((0u16..4, "[a-z.\\\\]{0,3}(\\.example)?\\.?"), 0..60),
            seed: u64,
        ) {
            if let MxPlan::Ask(targets) = plan(&set, &["a.example".to_owned()], seed) {
                prop_assert!(!targets.is_empty() && targets.len() <= CANDIDATES_MAX);
                prop_assert!(targets.is_sorted_by_key(|target| target.preference));
                for target in &targets {
                    prop_assert!(target.name != "a.example");
                    prop_assert_eq!(host::normalize(&target.name), Some(target.name.clone()));
                }
            }
        }
    }
}
