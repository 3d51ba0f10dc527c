//! Host of a URL or a `Host` header, and the hosts of the operator.

use std::net::IpAddr;

/// Returns the host of `host[:port]` in lower case, without the brackets of an IPv6 address and
/// without a trailing dot.
pub(crate) fn of_authority(authority: &str) -> String {
    let bracketed = authority.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let host = match bracketed {
        Some((host, _)) => host,
        None => authority.split_once(':').map_or(authority, |(host, _)| host),
    };
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

/// Returns the host of a base URL.
pub(crate) fn of_url(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    of_authority(rest.split('/').next().unwrap_or_default())
}

/// Returns whether a host is `localhost` or a loopback address.
fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
}

/// Hosts of the operator in lower case: that of the public URL and those of the setting, in addition to loopback.
#[derive(Debug)]
pub(crate) struct OwnHosts(Vec<String>);

impl OwnHosts {
    /// Returns the host of the public URL and the listed hosts.
    pub(crate) fn new(public_url: &str, listed: &[String]) -> Self {
        let listed = listed.iter().map(|listed| listed.to_ascii_lowercase());
        Self(std::iter::once(of_url(public_url)).chain(listed).collect())
    }

    /// Returns whether a host is one of the operator or loopback. The host is in the form of [`of_authority`].
    pub(crate) fn contains(&self, host: &str) -> bool {
        is_loopback(host) || self.0.iter().any(|own| own == host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_public_host_the_listed_hosts_and_loopback_are_of_the_operator() {
        let hosts = OwnHosts::new("https://mail.example.com", &["Box.lan".to_owned(), "192.168.1.5".to_owned()]);
        for (authority, is_own) in [
            ("mail.example.com", true),
            ("MAIL.example.com:443", true),
            ("localhost:8787", true),
            ("127.0.0.1:8787", true),
            ("[::1]:8787", true),
            ("box.lan:8787", true),
            ("192.168.1.5:8787", true),
            ("192.168.1.6:8787", false),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("mail.example.com.evil.example", false),
            ("", false),
        ] {
            assert_eq!(hosts.contains(&of_authority(authority)), is_own, "{authority}");
        }
    }

    #[test]
    fn the_host_has_no_port_brackets_or_trailing_dot() {
        for (url, host, loopback) in [
            ("http://127.0.0.1:8787", "127.0.0.1", true),
            ("http://127.9.9.9", "127.9.9.9", true),
            ("https://LocalHost.:8787/x", "localhost", true),
            ("http://[::1]:80", "::1", true),
            ("http://[::ffff:127.0.0.1]", "::ffff:127.0.0.1", true),
            ("https://Mail.example.com/base", "mail.example.com", false),
            ("http://192.168.1.5:8787", "192.168.1.5", false),
            ("http://localhost.example.com", "localhost.example.com", false),
            ("http://127.0.0.1.example.com", "127.0.0.1.example.com", false),
        ] {
            assert_eq!((of_url(url).as_str(), is_loopback(&of_url(url))), (host, loopback), "{url}");
        }
    }
}
