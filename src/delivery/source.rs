//! Source addresses: the local addresses that sessions start from.

use std::fmt::Display;
use std::net::IpAddr;
use std::sync::Arc;

use crate::store::name_hash;

/// A local address that sessions start from, with its EHLO name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub address: IpAddr,
    pub ehlo_name: String,
}

impl Source {
    /// Returns the name of a site without this address. See [`Sources::site`].
    pub(super) fn site_without<'a>(&self, site: &'a str) -> &'a str {
        site.strip_suffix(&format!(" from {}", self.address)).unwrap_or(site)
    }

    /// Returns whether sessions from this address can reach a server. Loopback reaches only loopback.
    pub(super) fn reaches(&self, server: IpAddr) -> bool {
        self.address.is_ipv4() == server.is_ipv4() && self.address.is_loopback() == server.is_loopback()
    }
}

/// The source addresses of this server. Without one, the system chooses the address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources(Arc<[Source]>);

impl Sources {
    /// Returns the list of these addresses.
    pub fn new(sources: Vec<Source>) -> Self {
        Self(sources.into())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Source> {
        self.0.iter()
    }

    /// Chooses the source address for a destination with these servers; `None` if no source address reaches a server. The
    /// destination then uses the servers that the source address reaches.
    ///
    /// IPv4 is preferred. The choice depends only on the destination, and another source address takes over no more than
    /// its part of the destinations.
    pub(super) fn choose(&self, destination: &str, servers: impl Iterator<Item = IpAddr>) -> Option<&Source> {
        let reachable = servers.filter(|server| self.iter().any(|source| source.reaches(*server)));
        let server = reachable.min_by_key(IpAddr::is_ipv6)?;
        let rank = |source: &&Source| name_hash(&format!("{destination} {}", source.address));
        self.iter().filter(|source| source.reaches(server)).max_by_key(rank)
    }

    /// Returns the name of a site for sessions from a source address. With several source addresses, each has its own
    /// sites, so that limits, pauses and volumes are those of one source address and one provider.
    pub(super) fn site(&self, site: String, source: &Source) -> String {
        if self.0.len() > 1 { site_from(&site, source.address) } else { site }
    }
}

/// Returns the name of a site with a source address, which the name may have already.
pub(super) fn site_from(site: &str, source: impl Display) -> String {
    let suffix = format!(" from {source}");
    if site.ends_with(&suffix) { site.to_owned() } else { format!("{site}{suffix}") }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn sources(addresses: &[&str]) -> Sources {
        let source = |text: &&str| Source { address: text.parse().unwrap(), ehlo_name: format!("{text}.test") };
        Sources::new(addresses.iter().map(source).collect())
    }

    fn addresses(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn chosen(sources: &Sources, destination: &str, servers: &[&str]) -> Option<String> {
        sources.choose(destination, addresses(servers).into_iter()).map(|source| source.address.to_string())
    }

    #[test]
    fn a_destination_keeps_its_source_and_a_new_one_takes_over_only_its_part() {
        let names: Vec<String> = (0..300).map(|number| format!("d{number}.example")).collect();
        let two = sources(&["192.0.2.1", "192.0.2.2"]);
        let three = sources(&["192.0.2.3", "192.0.2.2", "192.0.2.1"]);

        let of = |sources: &Sources, name: &str| chosen(sources, name, &["198.51.100.1"]).unwrap();
        let count = |address: &str| names.iter().filter(|name| of(&three, name) == address).count();
        let changed = names.iter().filter(|name| of(&two, name) != of(&three, name));
        let moved: BTreeSet<String> = changed.map(|name| of(&three, name)).collect();

        for address in ["192.0.2.1", "192.0.2.2", "192.0.2.3"] {
            assert!((60..=140).contains(&count(address)), "{address}: {}", count(address));
        }
        assert_eq!(moved, BTreeSet::from(["192.0.2.3".to_owned()]));
    }

    #[test]
    fn ipv4_is_preferred_and_loopback_reaches_only_loopback() {
        for (list, servers, expected) in [
            (&["192.0.2.1", "2001:db8::1"][..], &["2001:db8::9", "198.51.100.9"][..], Some("192.0.2.1")),
            (&["192.0.2.1", "2001:db8::1"], &["2001:db8::9", "2001:db8::8"], Some("2001:db8::1")),
            (&["2001:db8::1"], &["198.51.100.9", "2001:db8::8"], Some("2001:db8::1")),
            (&["127.0.0.2", "192.0.2.1"], &["127.0.0.1"], Some("127.0.0.2")),
            (&["127.0.0.2", "192.0.2.1"], &["198.51.100.9"], Some("192.0.2.1")),
            (&["127.0.0.2"], &["198.51.100.9"], None),
            (&["2001:db8::1"], &["198.51.100.9"], None),
            (&[], &["198.51.100.9"], None),
        ] {
            assert_eq!(chosen(&sources(list), "a.example", servers).as_deref(), expected, "{list:?} {servers:?}");
        }
    }

    #[test]
    fn a_site_has_the_source_in_its_name_if_there_are_several() {
        let (one, two) = (sources(&["192.0.2.1"]), sources(&["192.0.2.1", "2001:db8::1"]));
        let first = one.iter().next().unwrap();

        assert_eq!(one.site("google".into(), first), "google");
        assert_eq!(two.site("google".into(), first), "google from 192.0.2.1");
        assert_eq!(first.site_without("google from 192.0.2.1"), "google");
        assert_eq!(first.site_without("google"), "google");
        assert_eq!(site_from("google", first.address), "google from 192.0.2.1");
        assert_eq!(site_from("google from 192.0.2.1", first.address), "google from 192.0.2.1");
    }
}
