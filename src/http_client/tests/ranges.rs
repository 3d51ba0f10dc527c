//! Every blocked address range, as a literal and behind a name.

use std::fmt::Write as _;
use std::net::IpAddr;

use crate::dns::BlockedAddress::{self, *};
use crate::dns::tests::authority::Authority;

use super::receiver::{Receiver, Step};
use super::{CustomerUrl, RequestError, SOA, Trap, UrlPolicy, client, client_of, policy, post, session_at, timeouts};
use crate::http_client::UrlError;

/// One address of every blocked range, with the reason.
const BLOCKED: &[(&str, BlockedAddress)] = &[
    ("0.0.0.0", Unspecified),
    ("10.1.2.3", Private),
    ("100.64.0.1", CarrierNat),
    ("127.0.0.1", Loopback),
    ("127.255.255.254", Loopback),
    ("169.254.169.254", LinkLocal),
    ("172.16.0.1", Private),
    ("192.0.0.8", Reserved),
    ("192.0.2.1", Documentation),
    ("192.31.196.1", Reserved),
    ("192.52.193.1", Reserved),
    ("192.88.99.1", Reserved),
    ("192.168.1.1", Private),
    ("192.175.48.1", Reserved),
    ("198.18.0.1", Benchmarking),
    ("198.51.100.1", Documentation),
    ("203.0.113.1", Documentation),
    ("224.0.0.1", Multicast),
    ("239.255.255.250", Multicast),
    ("240.0.0.1", Reserved),
    ("255.255.255.255", Reserved),
    ("::", Unspecified),
    ("::1", Loopback),
    ("::7f00:1", EmbedsIpv4),
    ("::ffff:127.0.0.1", EmbedsIpv4),
    ("::ffff:8.8.8.8", EmbedsIpv4),
    ("::ffff:0:7f00:1", EmbedsIpv4),
    ("64:ff9b::7f00:1", EmbedsIpv4),
    ("64:ff9b:1::7f00:1", EmbedsIpv4),
    ("100::1", Reserved),
    ("2001::1", EmbedsIpv4),
    ("2001:2::1", Benchmarking),
    ("2001:20::1", Reserved),
    ("2001:db8::1", Documentation),
    ("2002:7f00:1::", EmbedsIpv4),
    ("2620:4f:8000::1", Reserved),
    ("3ffe::1", Reserved),
    ("3fff::1", Documentation),
    ("4000::1", Reserved),
    ("5f00::1", Reserved),
    ("fc00::1", UniqueLocal),
    ("fd12:3456::1", UniqueLocal),
    ("fe80::1", LinkLocal),
    ("fec0::1", SiteLocal),
    ("ff02::1", Multicast),
];

fn literal(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

#[test]
fn a_url_with_a_blocked_address_is_rejected() {
    for (ip, reason) in BLOCKED {
        let host = literal(ip.parse().unwrap());
        for (url, policy) in [
            (format!("https://{host}/hook"), UrlPolicy::default()),
            (format!("https://{host}:8443"), policy(&[])),
            (format!("http://{host}/"), policy(&[])),
        ] {
            assert_eq!(CustomerUrl::parse(&url, &policy), Err(UrlError::Blocked(*reason)), "{url}");
        }
    }
}

#[tokio::test]
async fn a_name_with_a_blocked_address_gets_no_connection() {
    let mut zone = SOA.to_owned();
    for (at, (ip, _)) in BLOCKED.iter().enumerate() {
        let kind = if ip.parse::<IpAddr>().unwrap().is_ipv4() { "A" } else { "AAAA" };
        writeln!(zone, "r{at} IN {kind} {ip}").unwrap();
        writeln!(zone, "alias{at} IN CNAME r{at}").unwrap();
    }
    let authority = Authority::serving(&zone).await;
    for policy in [UrlPolicy::default(), policy(&[])] {
        let client = client_of(&authority, policy, timeouts());
        for (at, (ip, reason)) in BLOCKED.iter().enumerate() {
            for name in ["r", "alias"] {
                let mut session = session_at(&client, &format!("https://{name}{at}.example/hook"));
                assert_eq!(post(&mut session).await, Err(RequestError::Blocked(*reason)), "{name}{at}: {ip}");
            }
        }
    }
}

#[tokio::test]
async fn of_several_addresses_only_the_permitted_ones_are_tried() {
    let receiver = Receiver::at("127.0.0.2", [&[Step::ReadRequest, Step::Write("HTTP/1.1 204 No Content\r\n\r\n")]]);
    let trap = Trap::at("127.0.0.1", receiver.port()).unwrap();
    let zone = format!("{SOA}mixed IN A 127.0.0.1\nmixed IN A 127.0.0.2\nmixed IN AAAA ::1\n");
    let authority = Authority::serving(&zone).await;
    let client = client_of(&authority, policy(&["127.0.0.2"]), timeouts());

    let mut session = session_at(&client, &format!("http://mixed.example:{}/", receiver.port()));
    let response = post(&mut session).await.unwrap();

    assert_eq!(response.status, 204);
    trap.assert_no_connection();
    assert_eq!(receiver.requests().len(), 1);
}

#[tokio::test]
async fn a_failed_connection_leaves_time_for_the_next_address() {
    let receiver = Receiver::at("127.0.0.2", [&[Step::ReadRequest, Step::Write("HTTP/1.1 204 No Content\r\n\r\n")]]);
    let zone = format!("{SOA}two IN A 127.0.0.3\ntwo IN A 127.0.0.2\n");
    let authority = Authority::serving(&zone).await;
    let client = client_of(&authority, policy(&["127.0.0.0/8"]), timeouts());

    let mut session = session_at(&client, &format!("http://two.example:{}/", receiver.port()));

    assert_eq!(post(&mut session).await.unwrap().status, 204);
}

#[tokio::test]
async fn localhost_is_the_loopback_and_is_checked_by_the_guard() {
    let receiver = Receiver::new([&[Step::ReadRequest, Step::Write("HTTP/1.1 204 No Content\r\n\r\n")]]);
    let url = format!("http://app.localhost:{}/", receiver.port());

    let mut blocked = session_at(&client(policy(&[]), timeouts()), &url);
    assert_eq!(post(&mut blocked).await, Err(RequestError::Blocked(Loopback)));
    let mut allowed = session_at(&client(policy(&["127.0.0.1"]), timeouts()), &url);
    assert_eq!(post(&mut allowed).await.unwrap().status, 204);

    let requests = receiver.requests();
    assert!(requests[0].head.contains(&format!("host: app.localhost:{}\r\n", allowed.url().port())), "{requests:?}");
}
