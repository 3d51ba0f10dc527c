//! Host of a URL or a `Host` header.

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
pub(crate) fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

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
