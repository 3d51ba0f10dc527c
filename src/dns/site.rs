//! The receiving site of an MX set: the unit of connection limits and cooldown.
//!
//! Thousands of domains share the servers of one provider, so limits per domain would not work. The name of a site is
//! the provider or the registrable domain that all hosts of the MX set share. A set without a common name is a site of
//! its own, named after the domain. Otherwise, an attacker could list a provider's host first and an own host second.
//! The replies of the own host would put the provider in cooldown.

use std::fmt;

use super::host;

/// A receiving site: the key of a delivery lane.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site {
    /// Short name of a provider, or a domain name. Names of providers contain no dot.
    pub name: String,
    /// Provider whose shaping rules apply. Also set for a mixed set, from its first host.
    pub provider: Option<&'static str>,
}

impl Site {
    /// Returns the site of `domain` with these MX hosts and their preferences. Names must be normalized. The order of
    /// `hosts` does not matter.
    pub fn of(domain: &str, hosts: &[(u16, String)]) -> Self {
        // `min` orders by preference and name, so the result does not depend on the order of the answer.
        let Some((_, first)) = hosts.iter().min() else {
            return Self { name: domain.to_owned(), provider: provider_of(domain) };
        };
        let name = site_name(first);
        let is_shared = hosts.iter().all(|(_, host)| site_name(host) == name);
        Self { name: if is_shared { name.to_owned() } else { domain.to_owned() }, provider: provider_of(first) }
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

fn site_name(host: &str) -> &str {
    provider_of(host).unwrap_or_else(|| registrable(host))
}

/// Returns the name of the provider that operates an MX host; `None` for a host of another operator. The host name must
/// be normalized.
pub(crate) fn provider_of(host: &str) -> Option<&'static str> {
    PROVIDERS.iter().find(|(suffix, _)| host::is_within(host, suffix)).map(|(_, name)| *name)
}

/// Returns whether a provider has this name.
#[cfg(test)]
pub(crate) fn is_provider(name: &str) -> bool {
    PROVIDERS.iter().any(|(_, known)| *known == name)
}

/// Returns the registrable domain of `host`, estimated without the public suffix list. If the estimate is wrong, lanes
/// are merged or split, or the API shows record names relative to another parent.
pub(crate) fn registrable(host: &str) -> &str {
    let mut dots = host.rmatch_indices('.').map(|(at, _)| at);
    let (Some(top), Some(second)) = (dots.next(), dots.next()) else {
        return host;
    };
    let country = host.len() - top - 1 == 2;
    let middle = &host[second + 1..top];
    if country && SECOND_LEVEL.contains(&middle) {
        return dots.next().map_or(host, |third| &host[third + 1..]);
    }
    &host[second + 1..]
}

/// Second-level labels under which registries of country codes register domains.
const SECOND_LEVEL: &[&str] = &[
    "ac", "co", "com", "edu", "go", "gob", "gov", "gouv", "ltd", "me", "mil", "ne", "net", "nhs", "nom", "or", "org",
    "plc", "sch",
];

/// Suffixes of MX hosts with their provider. A narrower suffix precedes a wider one.
const PROVIDERS: &[(&str, &str)] = &[
    ("google.com", "google"),
    ("googlemail.com", "google"),
    ("olc.protection.outlook.com", "outlook"),
    ("hotmail.com", "outlook"),
    ("protection.outlook.com", "office365"),
    ("mx.microsoft", "office365"),
    ("mail.yahoo.co.jp", "yahoo_japan"),
    ("yahoodns.net", "yahoo"),
    ("icloud.com", "apple"),
    ("apple.com", "apple"),
    ("prodigy.net", "att"),
    ("comcast.net", "comcast"),
    ("charter.net", "charter"),
    ("cox.net", "cox"),
    ("orange.fr", "orange"),
    ("wanadoo.fr", "orange"),
    ("free.fr", "free"),
    ("sfr.fr", "sfr"),
    ("laposte.net", "laposte"),
    ("ovh.net", "ovh"),
    ("gandi.net", "gandi"),
    ("gmx.net", "united_internet"),
    ("web.de", "united_internet"),
    ("kundenserver.de", "united_internet"),
    ("ionos.com", "united_internet"),
    ("ionos.de", "united_internet"),
    ("t-online.de", "t_online"),
    ("libero.it", "libero"),
    ("aruba.it", "aruba"),
    ("seznam.cz", "seznam"),
    ("wp.pl", "wp"),
    ("onet.pl", "onet"),
    ("yandex.net", "yandex"),
    ("yandex.ru", "yandex"),
    ("mail.ru", "mail_ru"),
    ("qq.com", "tencent"),
    ("netease.com", "netease"),
    ("163.com", "netease"),
    ("naver.com", "naver"),
    ("daum.net", "kakao"),
    ("zoho.com", "zoho"),
    ("zoho.eu", "zoho"),
    ("zoho.in", "zoho"),
    ("protonmail.ch", "proton"),
    ("messagingengine.com", "fastmail"),
    ("emailsrv.com", "rackspace"),
    ("secureserver.net", "godaddy"),
    ("registrar-servers.com", "namecheap"),
    ("privateemail.com", "namecheap"),
    ("mx.cloudflare.net", "cloudflare"),
    ("amazonaws.com", "amazon"),
    ("awsapps.com", "amazon"),
    ("pphosted.com", "proofpoint"),
    ("ppe-hosted.com", "proofpoint"),
    ("mimecast.com", "mimecast"),
    ("barracudanetworks.com", "barracuda"),
    ("messagelabs.com", "broadcom"),
    ("iphmx.com", "cisco"),
    ("trendmicro.com", "trend_micro"),
    ("trendmicro.eu", "trend_micro"),
    ("antispamcloud.com", "spamexperts"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Answer = &'static [(u16, &'static str)];

    fn hosts(list: &[(u16, &str)]) -> Vec<(u16, String)> {
        list.iter().map(|(preference, host)| (*preference, (*host).to_owned())).collect()
    }

    #[test]
    fn a_site_is_named_after_the_common_name_of_its_hosts() {
        let cases: &[(Answer, &str, Option<&str>)] = &[
            (&[(5, "gmail-smtp-in.l.google.com"), (10, "alt1.gmail-smtp-in.l.google.com")], "google", Some("google")),
            (&[(1, "aspmx.l.google.com"), (10, "aspmx2.googlemail.com")], "google", Some("google")),
            (&[(2, "hotmail-com.olc.protection.outlook.com")], "outlook", Some("outlook")),
            (&[(0, "contoso-com.mail.protection.outlook.com")], "office365", Some("office365")),
            (&[(0, "contoso-com.p-v1.mx.microsoft")], "office365", Some("office365")),
            (&[(1, "mta5.am0.yahoodns.net"), (1, "mta6.am0.yahoodns.net")], "yahoo", Some("yahoo")),
            (&[(10, "mx01.mail.icloud.com"), (10, "mx02.mail.icloud.com")], "apple", Some("apple")),
            (&[(10, "mx1.hoster.example"), (20, "mx2.hoster.example")], "hoster.example", None),
            (&[(10, "a.mail.hoster.co.uk")], "hoster.co.uk", None),
            // A mixed set is a site of its own, with the rules of its first provider.
            (&[(10, "aspmx.l.google.com"), (20, "mx.evil.example")], "shop.example", Some("google")),
            (&[(10, "mx.a.example"), (10, "mx.b.example")], "shop.example", None),
            // A suffix matches only at a label boundary.
            (&[(10, "mx.google.com.evil.example")], "evil.example", None),
            (&[(10, "mx.notgoogle.com")], "notgoogle.com", None),
            (&[], "shop.example", None),
        ];
        for (set, name, provider) in cases {
            let site = Site::of("shop.example", &hosts(set));
            assert_eq!((site.name.as_str(), site.provider), (*name, *provider), "{set:?}");
        }
    }

    #[test]
    fn the_registrable_domain_is_estimated() {
        for (host, want) in [
            ("mx.example.com", "example.com"),
            ("example.com", "example.com"),
            ("localhost", "localhost"),
            ("a.b.co.uk", "b.co.uk"),
            ("b.co.uk", "b.co.uk"),
            ("co.uk", "co.uk"),
            ("x.com.au", "x.com.au"),
            ("mx.x.de", "x.de"),
            ("a.com.example", "com.example"),
        ] {
            assert_eq!(registrable(host), want, "{host}");
        }
    }

    #[test]
    fn provider_suffixes_are_normalized_and_reachable() {
        for (at, (suffix, name)) in PROVIDERS.iter().enumerate() {
            assert_eq!(host::normalize(suffix).as_deref(), Some(*suffix));
            assert!(!name.contains('.'));
            let shadowed = PROVIDERS[..at].iter().any(|(earlier, _)| host::is_within(suffix, earlier));
            assert!(!shadowed, "{suffix} can never match");
        }
    }

    proptest! {
        #[test]
        fn a_site_does_not_depend_on_the_order_of_the_answer(
            mut set in proptest::collection::vec((0u16..3, "[a-c]\\.(google\\.com|x\\.example|y\\.co\\.uk)"), 0..6)
        ) {
            let forward = Site::of("d.example", &set);
            set.reverse();
            prop_assert_eq!(forward, Site::of("d.example", &set));
        }
    }
}
