//! Hosts of URLs: their registered domains, and link shorteners. Pure.

use crate::base::address::DomainName;
use crate::dns::host::is_within;

/// Hosts of link shorteners, with comments.
const SHORTENERS: &str = include_str!("../../assets/link-shorteners.txt");
/// Shortener that only leads to the videos of its own company. A redirect before it hides that.
const VIDEO_SHORTENER: &str = "youtu.be";
/// Labels under which registries of countries register names, such as `co` of `example.co.uk`. There is no list of public
/// suffixes in the server. An unlisted suffix makes two names of different owners look the same.
const SECOND_LEVELS: [&str; 20] = [
    "ac", "asn", "co", "com", "edu", "go", "gob", "gov", "govt", "gouv", "id", "ltd", "mil", "ne", "net", "nom", "or",
    "org", "plc", "sch",
];
/// Endings of a name without a scheme that make it a host. Other endings are more often of a file: `report.md`.
const WORD_ENDINGS: [&str; 36] = [
    "com", "net", "org", "info", "biz", "edu", "gov", "mil", "int", "io", "dev", "app", "co", "ai", "me", "us", "uk",
    "de", "fr", "nl", "eu", "ca", "au", "in", "jp", "br", "es", "it", "ch", "at", "se", "no", "shop", "store",
    "online", "xyz",
];

/// A URL of the web.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WebUrl {
    pub(super) is_https: bool,
    pub(super) host: WebHost,
}

/// Host of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WebHost {
    /// Name in lower-case A-labels.
    Name(String),
    Address,
}

impl WebHost {
    /// Returns the name; `None` for an IP address.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            Self::Address => None,
        }
    }
}

/// Parses a URL with the scheme http or https, or without a scheme. `None` for any other URL, and for a host that is no
/// name, such as a merge field.
pub(super) fn web_url(url: &str) -> Option<WebUrl> {
    let url = url.trim_matches(|c: char| c.is_ascii_whitespace() || c.is_ascii_control());
    let (is_https, rest) = match (after(url, "https://"), after(url, "http://"), after(url, "//")) {
        (Some(rest), ..) | (None, None, Some(rest)) => (true, rest),
        (None, Some(rest), _) => (false, rest),
        (None, None, None) => return None,
    };
    Some(WebUrl { is_https, host: host_of(rest)? })
}

/// Returns the rest of `text` after a prefix in any letter case.
fn after<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let start = text.get(..prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

/// Returns the host at the start of a URL without its scheme.
fn host_of(rest: &str) -> Option<WebHost> {
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if host.starts_with('[') {
        return Some(WebHost::Address);
    }
    let host = host.split(':').next().unwrap_or_default();
    let last = host.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    // The WHATWG URL standard reads a host whose last label is a number as an IPv4 address.
    let is_number = |label: &str| !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit());
    let is_hexadecimal = |label: &str| {
        label
            .strip_prefix(['0'])
            .and_then(|rest| rest.strip_prefix(['x', 'X']))
            .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    if is_number(last) || is_hexadecimal(last) {
        return Some(WebHost::Address);
    }
    DomainName::parse(host).ok().map(|name| WebHost::Name(name.as_str().to_owned()))
}

/// Returns the host that a visible text names, if the whole text is a URL or a host.
pub(super) fn named_host(text: &str) -> Option<String> {
    let text = text.trim();
    if text.contains(|c: char| c.is_whitespace() || c == '@') {
        return None;
    }
    if let Some(url) = web_url(text) {
        return url.host.name().map(str::to_owned);
    }
    let Some(WebHost::Name(name)) = host_of(text) else { return None };
    let has_www = after(text, "www.").is_some();
    let ending = name.rsplit('.').next().unwrap_or_default();
    // A word in capitals with a dot is more often a product, such as ASP.NET.
    let is_word = WORD_ENDINGS.contains(&ending) && !text.chars().skip(1).any(char::is_uppercase);
    (has_www || is_word).then_some(name)
}

/// Returns the registered domain of a host, as far as its labels show it.
pub(super) fn registrable(host: &str) -> &str {
    let mut dots = host.rmatch_indices('.').map(|(at, _)| at);
    let (Some(first), Some(second)) = (dots.next(), dots.next()) else { return host };
    let (country, label) = (&host[first + 1..], &host[second + 1..first]);
    if country.len() == 2 && SECOND_LEVELS.contains(&label) {
        return dots.next().map_or(host, |third| &host[third + 1..]);
    }
    &host[second + 1..]
}

/// Returns whether two hosts belong to one registered domain.
pub(super) fn is_same_organization(one: &str, other: &str) -> bool {
    registrable(one) == registrable(other)
}

/// Returns whether a host belongs to the registered domain of a sender. `organization` is the parent domain that publishes
/// the sender's DMARC policy (RFC 9989 §4.10.2).
pub(super) fn is_of_sender(host: &str, sender: &str, organization: Option<&str>) -> bool {
    is_same_organization(host, sender) || organization.is_some_and(|organization| is_within(host, organization))
}

/// Returns whether a host is a link shortener. `youtu.be` is one only behind a redirect of click tracking.
pub(super) fn is_shortener(host: &str, tracks_clicks: bool) -> bool {
    let host = host.strip_prefix("www.").unwrap_or(host);
    (tracks_clicks && host == VIDEO_SHORTENER) || SHORTENERS.lines().any(|line| line == host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(host: &str) -> Option<WebHost> {
        Some(WebHost::Name(host.to_owned()))
    }

    #[test]
    fn a_url_has_the_host_that_a_browser_connects_to() {
        for (url, expected) in [
            ("https://Example.COM/a?b#c", name("example.com")),
            (" HTTP://user:pass@shop.example.com:8080/", name("shop.example.com")),
            ("//cdn.example.net/x.png", name("cdn.example.net")),
            ("https://trusted.example@evil.example/", name("evil.example")),
            ("https://evil.example\\@trusted.example/", name("evil.example")),
            ("http://192.0.2.1/", Some(WebHost::Address)),
            ("http://3221225985/", Some(WebHost::Address)),
            ("http://0xC0000201", Some(WebHost::Address)),
            ("http://[2001:db8::1]/", Some(WebHost::Address)),
            ("https://bücher.example/", name("xn--bcher-kva.example")),
            ("https://{{{HOST}}}/", None),
            ("{{{UNSUBSCRIBE_URL}}}", None),
            ("mailto:ada@example.com", None),
            ("/path", None),
            ("https://", None),
            ("https://localhost/", None),
            ("é", None),
        ] {
            assert_eq!(web_url(url).map(|url| url.host), expected, "{url}");
        }
    }

    #[test]
    fn only_a_whole_text_that_looks_like_a_host_names_one() {
        for (text, expected) in [
            ("https://example.com/account", Some("example.com")),
            ("www.example.museum", Some("www.example.museum")),
            ("example.com", Some("example.com")),
            ("Example.com/login", Some("example.com")),
            ("Visit example.com", None),
            ("ada@example.com", None),
            ("ASP.NET", None),
            ("README.md", None),
            ("Version 1.2", None),
            ("12.50", None),
            ("", None),
        ] {
            assert_eq!(named_host(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn the_registered_domain_has_two_labels_or_three_below_a_country() {
        for (host, expected) in [
            ("example.com", "example.com"),
            ("a.b.example.com", "example.com"),
            ("shop.example.co.uk", "example.co.uk"),
            ("example.co.uk", "example.co.uk"),
            ("co.uk", "co.uk"),
            ("a.example.de", "example.de"),
            ("localhost", "localhost"),
        ] {
            assert_eq!(registrable(host), expected, "{host}");
        }
    }

    #[test]
    fn the_organizational_domain_of_the_policy_counts_too() {
        assert!(is_of_sender("www.example.com", "mail.example.com", None));
        assert!(is_of_sender("www.shop.city.kawasaki.jp", "mail.shop.city.kawasaki.jp", Some("shop.city.kawasaki.jp")));
        assert!(!is_of_sender("example.net", "example.com", Some("example.com")));
    }

    #[test]
    fn shorteners_are_listed_once_in_order_and_videos_only_behind_tracking() {
        let hosts: Vec<&str> = SHORTENERS.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(hosts.is_sorted_by(|one, next| one < next), "{hosts:?}");
        assert!(hosts.iter().all(|host| DomainName::parse(host).is_ok_and(|name| name.as_str() == *host)));
        for (host, tracks_clicks, expected) in [
            ("bit.ly", false, true),
            ("www.tinyurl.com", false, true),
            ("not-bit.ly", false, false),
            ("youtu.be", false, false),
            ("youtu.be", true, true),
            ("# Hosts", false, false),
        ] {
            assert_eq!(is_shortener(host, tracks_clicks), expected, "{host}");
        }
    }
}
