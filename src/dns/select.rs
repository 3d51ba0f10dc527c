//! Second half of the routing rules: selects and orders the addresses to dial. Pure.

use std::net::IpAddr;

use super::error::LookupError;
use super::mx::{ADDRESSES_MAX, HOSTS_MAX, MxCandidate, SplitMix64, drop_own_and_later};
use super::route::{Families, MxHost, RoutePolicy, Unroutable};

/// Reason why no address of an MX set can be dialled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectError {
    /// No address was found, and at least one lookup failed temporarily.
    Temporary(String),
    /// All lookups returned answers, and no address may be dialled.
    Unroutable(Unroutable),
}

/// Selects hosts and addresses from the address lookups of the candidates. `found` is in the order of the plan.
///
/// # Errors
///
/// Returns [`SelectError`] if no address may be dialled.
pub fn select(
    mut found: Vec<(MxCandidate, Result<Vec<IpAddr>, LookupError>)>,
    policy: &RoutePolicy,
) -> Result<Vec<MxHost>, SelectError> {
    let is_own = |ip: &IpAddr| policy.own.addresses.contains(ip);
    drop_own_and_later(
        &mut found,
        |(_, addresses)| addresses.as_ref().is_ok_and(|addresses| addresses.iter().any(is_own)),
        |(candidate, _)| candidate.preference,
    );
    if found.is_empty() {
        return Err(SelectError::Unroutable(Unroutable::OwnHost));
    }

    // Another seed than in `mx::plan`, so that hosts and addresses are not shuffled in the same way.
    let mut random = SplitMix64(!policy.seed);
    let mut hosts = Vec::new();
    let mut error = SelectError::Unroutable(Unroutable::NoAddresses);
    for (candidate, addresses) in found {
        let outcome = addresses
            .map_err(SelectError::from)
            .and_then(|addresses| dialable(addresses, policy, &mut random).map_err(SelectError::Unroutable));
        match outcome {
            Ok(addresses) => hosts.push(MxHost { name: candidate.name, preference: candidate.preference, addresses }),
            Err(other) => error = higher_ranked(error, other),
        }
    }
    if hosts.is_empty() {
        return Err(error);
    }
    hosts.truncate(HOSTS_MAX);
    share_addresses(&mut hosts);
    Ok(hosts)
}

/// Filters the addresses of one host and puts them in dialling order: shuffled within a family, the families
/// alternating.
fn dialable(addresses: Vec<IpAddr>, policy: &RoutePolicy, random: &mut SplitMix64) -> Result<Vec<IpAddr>, Unroutable> {
    if addresses.is_empty() {
        return Err(Unroutable::NoAddresses);
    }
    let (mut v4, mut v6): (Vec<IpAddr>, Vec<IpAddr>) =
        addresses.into_iter().filter(|ip| policy.guard.permits(*ip)).partition(IpAddr::is_ipv4);
    if v4.is_empty() && v6.is_empty() {
        return Err(Unroutable::Guarded);
    }
    for family in [&mut v4, &mut v6] {
        // Sorted before the shuffle, so that duplicates and the order of the answer do not matter.
        family.sort_unstable();
        family.dedup();
        random.shuffle(family);
    }
    let (first, second) = match policy.families {
        Families::V4Only => (v4, Vec::new()),
        Families::V4First => (v4, v6),
        Families::V6First => (v6, v4),
        Families::V6Only => (v6, Vec::new()),
    };
    if first.is_empty() && second.is_empty() {
        return Err(Unroutable::OtherFamily);
    }
    Ok(interleave(first, second))
}

fn interleave(first: Vec<IpAddr>, second: Vec<IpAddr>) -> Vec<IpAddr> {
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut mixed = Vec::with_capacity(first.len() + second.len());
    loop {
        let before = mixed.len();
        mixed.extend(first.next());
        mixed.extend(second.next());
        if mixed.len() == before {
            return mixed;
        }
    }
}

/// Reduces the addresses to [`ADDRESSES_MAX`] in total, round-robin over the hosts. A host with many addresses does not
/// displace the next hosts.
fn share_addresses(hosts: &mut [MxHost]) {
    let mut quotas = vec![0; hosts.len()];
    let mut left = ADDRESSES_MAX;
    loop {
        let before = left;
        for (quota, host) in quotas.iter_mut().zip(hosts.iter()) {
            if left > 0 && *quota < host.addresses.len() {
                *quota += 1;
                left -= 1;
            }
        }
        if left == before {
            break;
        }
    }
    for (quota, host) in quotas.into_iter().zip(hosts) {
        host.addresses.truncate(quota);
    }
}

/// Returns the error to report of two. A temporary error outranks a permanent one. A problem that the operator can
/// solve outranks one that only the owner of the domain can solve.
fn higher_ranked(known: SelectError, other: SelectError) -> SelectError {
    let rank = |error: &SelectError| match error {
        SelectError::Temporary(_) => 3,
        SelectError::Unroutable(Unroutable::OtherFamily) => 2,
        SelectError::Unroutable(Unroutable::Guarded) => 1,
        SelectError::Unroutable(Unroutable::NoAddresses | Unroutable::OwnHost) => 0,
    };
    if rank(&other) > rank(&known) { other } else { known }
}

impl From<LookupError> for SelectError {
    fn from(error: LookupError) -> Self {
        match error {
            LookupError::Temporary(reason) => Self::Temporary(reason),
            LookupError::NoSuchName | LookupError::NoRecords => Self::Unroutable(Unroutable::NoAddresses),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dns::{Guard, OwnHost};
    use proptest::prelude::*;

    fn found(list: &[(u16, &str, &[&str])]) -> Vec<(MxCandidate, Result<Vec<IpAddr>, LookupError>)> {
        list.iter()
            .map(|(preference, name, addresses)| {
                let addresses: Vec<IpAddr> = addresses.iter().map(|ip| ip.parse().unwrap()).collect();
                let addresses = if addresses.is_empty() { Err(LookupError::NoRecords) } else { Ok(addresses) };
                (MxCandidate { name: (*name).to_owned(), preference: *preference }, addresses)
            })
            .collect()
    }

    fn names(hosts: &[MxHost]) -> Vec<&str> {
        hosts.iter().map(|host| host.name.as_str()).collect()
    }

    #[test]
    fn families_alternate_and_the_policy_selects_the_first() {
        let hosts = || found(&[(10, "a.example", &["8.8.8.1", "2a00::1", "8.8.8.2", "8.8.8.1"])]);
        let families = |families| {
            let policy = RoutePolicy { families, ..RoutePolicy::default() };
            let hosts = select(hosts(), &policy).unwrap();
            hosts[0].addresses.iter().map(IpAddr::is_ipv4).collect::<Vec<_>>()
        };
        assert_eq!(families(Families::V4First), [true, false, true]);
        assert_eq!(families(Families::V6First), [false, true, true]);
        assert_eq!(families(Families::V4Only), [true, true]);
        assert_eq!(families(Families::V6Only), [false]);
    }

    #[test]
    fn the_highest_ranked_error_is_returned() {
        let temporary = || {
            (
                MxCandidate { name: "t.example".to_owned(), preference: 9 },
                Err(LookupError::Temporary("SERVFAIL".to_owned())),
            )
        };
        let v4_only = RoutePolicy { families: Families::V4Only, ..RoutePolicy::default() };
        let error = |mut list: Vec<_>, temporarily: bool| {
            if temporarily {
                list.push(temporary());
            }
            select(list, &v4_only).unwrap_err()
        };

        let empty: (u16, &str, &[&str]) = (10, "a.example", &[]);
        let guarded: (u16, &str, &[&str]) = (10, "b.example", &["127.0.0.1", "10.0.0.1", "::1"]);
        let other_family: (u16, &str, &[&str]) = (10, "c.example", &["2a00::1"]);
        assert_eq!(error(found(&[empty]), false), SelectError::Unroutable(Unroutable::NoAddresses));
        assert_eq!(error(found(&[empty, guarded]), false), SelectError::Unroutable(Unroutable::Guarded));
        assert_eq!(error(found(&[guarded, other_family]), false), SelectError::Unroutable(Unroutable::OtherFamily));
        assert_eq!(error(found(&[empty, guarded]), true), SelectError::Temporary("SERVFAIL".to_owned()));
    }

    #[test]
    fn a_host_without_addresses_does_not_hide_the_next_one() {
        let list = found(&[
            (10, "dead.example", &[]),
            (20, "inside.example", &["10.0.0.1"]),
            (30, "live.example", &["8.8.8.8"]),
        ]);
        assert_eq!(names(&select(list, &RoutePolicy::default()).unwrap()), ["live.example"]);
    }

    #[test]
    fn an_own_address_removes_all_hosts_of_the_same_or_a_higher_preference() {
        let own = OwnHost { addresses: vec!["8.8.8.8".parse().unwrap()], ..OwnHost::default() };
        let policy = RoutePolicy { own: own.into(), ..RoutePolicy::default() };
        let list =
            found(&[(5, "a.example", &["9.9.9.9"]), (10, "b.example", &["8.8.8.8"]), (20, "c.example", &["9.9.9.10"])]);
        assert_eq!(names(&select(list, &policy).unwrap()), ["a.example"]);

        let list = found(&[(10, "b.example", &["8.8.8.8"]), (20, "c.example", &["9.9.9.10"])]);
        assert_eq!(select(list, &policy), Err(SelectError::Unroutable(Unroutable::OwnHost)));
    }

    #[test]
    fn a_host_with_many_addresses_does_not_displace_the_next() {
        let many: Vec<String> = (1..=20).map(|last| format!("8.8.8.{last}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let list = found(&[
            (10, "a.example", &many),
            (20, "b.example", &["9.9.9.9"]),
            (30, "c.example", &["9.9.9.8", "9.9.9.7"]),
        ]);
        let hosts = select(list, &RoutePolicy::default()).unwrap();
        assert_eq!(hosts.iter().map(|host| host.addresses.len()).collect::<Vec<_>>(), [7, 1, 2]);
    }

    fn any_ip() -> impl Strategy<Value = IpAddr> {
        prop_oneof![
            any::<u32>().prop_map(|bits| IpAddr::V4(bits.into())),
            any::<u128>().prop_map(|bits| IpAddr::V6(bits.into())),
            Just("127.0.0.1".parse().unwrap()),
            Just("8.8.8.8".parse().unwrap()),
            Just("2a00::1".parse().unwrap()),
        ]
    }

    proptest! {
        #[test]
        fn a_route_contains_permitted_addresses_within_its_bounds(
            lists in proptest::collection::vec((0u16..4, proptest::collection::vec(any_ip(), 0..20)), 1..12),
            seed: u64,
        ) {
            let mut list: Vec<_> = lists
                .into_iter()
                .enumerate()
                .map(|(at, (preference, addresses))| (MxCandidate { name: format!("h{at}.example"), preference }, Ok(addresses)))
                .collect();
            list.sort_by_key(|(candidate, _)| candidate.preference);
            let policy = RoutePolicy { seed, ..RoutePolicy::default() };
            if let Ok(hosts) = select(list, &policy) {
                prop_assert!(!hosts.is_empty() && hosts.len() <= HOSTS_MAX);
                prop_assert!(hosts.iter().map(|host| host.addresses.len()).sum::<usize>() <= ADDRESSES_MAX);
                prop_assert!(hosts.is_sorted_by_key(|host| host.preference));
                for host in &hosts {
                    prop_assert!(!host.addresses.is_empty());
                    prop_assert!(host.addresses.iter().all(|ip| Guard::default().permits(*ip)));
                }
            }
        }
    }
}
