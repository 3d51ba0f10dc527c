//! The client of a request: its address, also behind reverse proxies, and whether it is a program on this machine.

use std::net::IpAddr;

use ipnet::IpNet;
use salvo::Request;
use salvo::http::header::HOST;
use salvo::http::uri::Authority;
use salvo::http::{HeaderMap, HeaderValue};

use super::address_limit::client_of;

/// Headers that a reverse proxy adds.
const PROXY_HEADERS: [&str; 6] =
    ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"];
/// Header in which each proxy appends the address of its client.
const FORWARDED_FOR: &str = "x-forwarded-for";
/// Addresses of that header that are examined, from the last one.
const HOPS_MAX: usize = 32;

/// Returns the address at the other end of the connection.
pub(crate) fn peer_address(req: &Request) -> Option<IpAddr> {
    req.remote_addr().clone().into_std().map(|address| address.ip().to_canonical())
}

/// Returns whether an address is that of a trusted proxy.
pub(crate) fn is_trusted(address: IpAddr, trusted_proxies: &[IpNet]) -> bool {
    trusted_proxies.iter().any(|range| range.contains(&address))
}

/// Returns the address of the client: the last one in `X-Forwarded-For` that is no trusted proxy, or the peer if it is no
/// trusted proxy.
pub(crate) fn client_address(peer: IpAddr, headers: &HeaderMap, trusted_proxies: &[IpNet]) -> IpAddr {
    let mut client = peer;
    // RFC 9110 §5.3: several lines of one field name form one list.
    let lines: Vec<&str> = headers.get_all(FORWARDED_FOR).iter().filter_map(|line| line.to_str().ok()).collect();
    let hops = lines.iter().rev().flat_map(|line| line.rsplit(',')).take(HOPS_MAX);
    for hop in hops {
        if !is_trusted(client, trusted_proxies) {
            break;
        }
        // The address before a hop that cannot be parsed is unknown.
        let Ok(address) = hop.trim().parse::<IpAddr>() else { break };
        client = address.to_canonical();
    }
    client
}

/// Returns the network of a client for limits: the address itself, or the /64 network of an IPv6 address.
pub(crate) fn network_of(address: IpAddr) -> IpAddr {
    client_of(address)
}

/// Returns whether a request comes from a program on this machine. A reverse proxy on this machine forwards the requests
/// of others, and the page of a browser on this machine has another host.
pub(crate) fn is_local(peer: IpAddr, headers: &HeaderMap, trusted_proxies: &[IpNet]) -> bool {
    let peer = peer.to_canonical();
    peer.is_loopback()
        && !is_trusted(peer, trusted_proxies)
        && !PROXY_HEADERS.iter().any(|name| headers.contains_key(*name))
        && headers.get(HOST).is_none_or(is_loopback_host)
}

fn is_loopback_host(host: &HeaderValue) -> bool {
    let Ok(authority) = Authority::try_from(host.as_bytes()) else { return false };
    let host = authority.host();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use salvo::http::HeaderName;

    use super::*;

    fn headers(headers: &[(&'static str, &'static str)]) -> HeaderMap {
        let header = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        let mut map = HeaderMap::new();
        for (name, value) in headers.iter().map(header) {
            map.append(name, value);
        }
        map
    }

    #[test]
    fn a_program_on_this_machine_has_a_loopback_address_and_no_proxy() {
        for (peer, given, expected) in [
            ("127.0.0.1", &[][..], true),
            ("127.0.0.1", &[("host", "127.0.0.1:8787")], true),
            ("::1", &[("host", "[::1]:8787")], true),
            ("::ffff:127.0.0.1", &[("host", "LocalHost")], true),
            ("192.0.2.1", &[("host", "127.0.0.1")], false),
            ("10.0.0.1", &[], false),
            // A trusted proxy.
            ("127.0.0.2", &[("host", "127.0.0.1")], false),
            ("127.0.0.1", &[("x-forwarded-for", "192.0.2.1")], false),
            ("127.0.0.1", &[("x-real-ip", "127.0.0.1")], false),
            ("127.0.0.1", &[("forwarded", "for=192.0.2.1")], false),
            ("127.0.0.1", &[("via", "1.1 proxy")], false),
            ("127.0.0.1", &[("host", "mail.example.com")], false),
            ("127.0.0.1", &[("host", "localhost.example.com")], false),
        ] {
            let proxies = ["127.0.0.2/32".parse().unwrap()];
            assert_eq!(is_local(peer.parse().unwrap(), &headers(given), &proxies), expected, "{peer} {given:?}");
        }
    }

    #[test]
    fn the_client_is_the_last_address_that_is_no_trusted_proxy() {
        for (peer, given, expected) in [
            ("192.0.2.1", &[][..], "192.0.2.1"),
            // The peer is no proxy and cannot name another address.
            ("192.0.2.1", &[("x-forwarded-for", "198.51.100.1")], "192.0.2.1"),
            ("10.0.0.1", &[("x-forwarded-for", "198.51.100.1")], "198.51.100.1"),
            ("10.0.0.1", &[("x-forwarded-for", "203.0.113.9, 198.51.100.1 ,10.0.0.2")], "198.51.100.1"),
            ("10.0.0.1", &[("x-forwarded-for", "198.51.100.1"), ("x-forwarded-for", "10.0.0.2")], "198.51.100.1"),
            ("10.0.0.1", &[("x-forwarded-for", "::ffff:198.51.100.1")], "198.51.100.1"),
            ("10.0.0.1", &[("x-forwarded-for", "198.51.100.1, unknown")], "10.0.0.1"),
            ("10.0.0.1", &[("x-forwarded-for", "10.0.0.3")], "10.0.0.3"),
            ("10.0.0.1", &[], "10.0.0.1"),
        ] {
            let proxies = ["10.0.0.0/8".parse().unwrap()];
            let client = client_address(peer.parse().unwrap(), &headers(given), &proxies);
            assert_eq!(client.to_string(), expected, "{peer} {given:?}");
        }
    }
}
