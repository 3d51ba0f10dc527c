//! Routes and record checks with the authoritative server.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::sync::Arc;

use hickory_resolver::proto::rr::RecordType;
use hickory_server::net::xfer::Protocol;

use super::authority::Authority;
use super::{NOW_MS, policy, resolver};
use crate::dns::{
    Dmarc, DnsMatch, DnsRecord, Families, LookupError, MailRoute, OwnHost, Resolver, RoutePolicy, Unroutable,
};

const ZONE: &str = include_str!("zone.txt");

/// Formats a route: `site: [preference name address address] ...` or its status.
fn line(route: &MailRoute) -> String {
    let MailRoute::Hosts { site, hosts } = route else {
        return route.status().unwrap().to_owned();
    };
    let mut line = format!("{site}:");
    for host in hosts {
        let addresses: Vec<String> = host.addresses.iter().map(IpAddr::to_string).collect();
        write!(line, " [{} {} {}]", host.preference, host.name, addresses.join(" ")).unwrap();
    }
    line
}

#[tokio::test]
async fn every_type_of_domain_has_its_route() {
    let authority = Authority::serving(ZONE).await;
    let resolver = resolver(authority.address);
    for (domain, want) in [
        ("Implicit.Example.", "implicit.example: [0 implicit.example 192.0.2.10 2001:db8::10]"),
        ("aliased.example", "aliased.example: [10 mail.aliased.example 192.0.2.20]"),
        // The end of this chain is cached from the case above, its CNAME records are not.
        ("two.aliased.example", "two.aliased.example: [0 two.aliased.example 192.0.2.20]"),
        ("aliased-too.example", "aliased.example: [10 second.aliased.example 192.0.2.20]"),
        ("half-broken.example", "mx.example: [20 c.mx.example 192.0.2.3]"),
        ("mostly-servfail.example", "mx.example: [20 c.mx.example 192.0.2.3]"),
        ("to-no-aaaa.example", "mx.example: [10 no-aaaa.mx.example 192.0.2.41]"),
        ("null.example", "5.1.10"),
        ("absent.example", "5.1.2"),
        ("dangling.example", "5.1.2"),
        ("not a domain", "5.1.2"),
        ("[192.0.2.1]", "5.1.2"),
        ("192.0.2.1", "5.1.2"),
        ("empty.example", "5.4.4"),
        ("broken.example", "5.4.4"),
        ("literal.example", "5.4.4"),
        ("inside.example", "5.4.4"),
        ("to-servfail.example", "4.4.3"),
        ("servfail.example", "4.4.3"),
        ("refused.example", "4.4.3"),
        ("silent.example", "4.4.3"),
        ("referral.example", "4.4.3"),
    ] {
        let route = resolver.route(domain, NOW_MS, &policy()).await;
        assert_eq!(line(&route), want, "{domain}: {route:?}");
    }
    assert_eq!(authority.query_count("192.0.2.99", RecordType::A), 0, "an address in an MX record is not looked up");
    assert_eq!(authority.query_count("broken.example", RecordType::A), 0, "the address of the domain is not looked up");
    assert_eq!(authority.query_count("null.example", RecordType::A), 0, "a null MX ends the lookup");
}

#[tokio::test]
async fn hosts_are_sorted_by_preference_and_shuffled_within_one() {
    let authority = Authority::serving(ZONE).await;
    let resolver = resolver(authority.address);
    let a = "[10 a.mx.example 192.0.2.1 2001:db8::1]";
    let b = "[10 b.mx.example 192.0.2.2]";
    let c = "[20 c.mx.example 192.0.2.3]";
    let (mut a_first, mut b_first) = (0, 0);
    for seed in 0..20 {
        for domain in ["ordered.example", "alias-of-domain.example"] {
            let policy = RoutePolicy { seed, ..policy() };
            let route = line(&resolver.route(domain, NOW_MS, &policy).await);
            let (_, hosts) = route.split_once(": ").unwrap();
            if hosts == format!("{a} {b} {c}") {
                a_first += 1;
            } else if hosts == format!("{b} {a} {c}") {
                b_first += 1;
            } else {
                panic!("{route}");
            }
        }
    }
    assert!(a_first > 0 && b_first > 0, "{a_first} and {b_first}");
    assert_eq!(authority.query_count("ordered.example", RecordType::MX), 1, "forty routes, one query");
}

#[tokio::test]
async fn blocked_addresses_and_own_hosts_are_reported() {
    let authority = Authority::serving(ZONE).await;
    let resolver = resolver(authority.address);

    let guarded = resolver.route("inside.example", NOW_MS, &policy()).await;
    assert_eq!(guarded, MailRoute::NoAddresses(Unroutable::Guarded));

    let named = |name: &str| OwnHost { names: vec![name.to_owned()], addresses: Vec::new() };
    let at = |ip: &str| OwnHost { names: Vec::new(), addresses: vec![ip.parse().unwrap()] };
    for (own, want) in [
        (named("b.mx.example"), "mx.example: [5 a.mx.example 192.0.2.1]"),
        (at("192.0.2.2"), "mx.example: [5 a.mx.example 192.0.2.1]"),
        (named("c.mx.example"), "mx.example: [5 a.mx.example 192.0.2.1] [10 b.mx.example 192.0.2.2]"),
        (named("a.mx.example"), "5.4.6"),
        (at("192.0.2.1"), "5.4.6"),
    ] {
        let policy = RoutePolicy { own: Arc::new(own.clone()), families: Families::V4Only, ..policy() };
        assert_eq!(line(&resolver.route("own.example", NOW_MS, &policy).await), want, "{own:?}");
    }
    let policy = RoutePolicy { own: Arc::new(named("implicit.example")), ..policy() };
    let route = resolver.route("implicit.example", NOW_MS, &policy).await;
    assert_eq!(route, MailRoute::NoAddresses(Unroutable::OwnHost));
}

#[tokio::test]
async fn a_loop_of_cname_records_has_no_route() {
    let authority = Authority::serving(ZONE).await;
    let route = resolver(authority.address).route("loop.example", NOW_MS, &policy()).await;
    assert!(
        matches!(route, MailRoute::NoAddresses(Unroutable::NoAddresses) | MailRoute::Temporary { .. }),
        "{route:?}"
    );
}

#[tokio::test]
async fn the_second_server_is_used_if_the_first_does_not_respond_usably() {
    let (first, second) = (Authority::serving(ZONE).await, Authority::serving(ZONE).await);
    second.heal();
    let resolver = Resolver::with_timings(&[first.address, second.address], &super::timings()).unwrap();

    for domain in ["servfail.example", "refused.example", "silent.example"] {
        let route = resolver.route(domain, NOW_MS, &policy()).await;
        assert!(matches!(route, MailRoute::Hosts { .. }), "{domain}: {route:?}");
    }
    let before = first.query_count("ordered.example", RecordType::MX);
    resolver.route("ordered.example", NOW_MS, &policy()).await;
    assert_eq!(
        first.query_count("ordered.example", RecordType::MX),
        before,
        "after a timeout the other server is preferred"
    );
}

#[tokio::test]
async fn published_records_are_returned_and_checked() {
    let authority = Authority::serving(ZONE).await;
    let resolver = resolver(authority.address);

    assert_eq!(resolver.txt("spf.example").await, Ok(vec!["v=spf1 a:Mail.example ~all".to_owned()]));
    assert_eq!(resolver.mx("return.example").await, Ok(vec![(10, "mail.example".to_owned())]));
    assert_eq!(resolver.mx("null.example").await, Ok(vec![(0, ".".to_owned())]));
    assert_eq!(resolver.cname("track.example").await, Ok("track.host.example".to_owned()));
    assert_eq!(resolver.txt("absent.example").await, Err(LookupError::NoSuchName));
    assert_eq!(resolver.txt("null.example").await, Err(LookupError::NoRecords));
    assert!(matches!(resolver.ptr([192, 0, 2, 1].into()).await, Err(LookupError::Temporary(_))), "not in the zone");
    assert_eq!(
        resolver.addresses("a.mx.example", NOW_MS).await,
        Ok(vec!["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()])
    );
    assert_eq!(resolver.addresses("[2001:db8::5]", NOW_MS).await, Ok(vec!["2001:db8::5".parse().unwrap()]));
    assert_eq!(resolver.published_addresses("192.0.2.1").await, Err(LookupError::NoSuchName));

    let name = |label: &str| format!("{label}.example");
    for (expected, want) in [
        (DnsRecord::Txt { name: name("spf"), value: "v=spf1 a:Mail.example ~all".to_owned() }, DnsMatch::Found),
        (DnsRecord::Txt { name: name("spf"), value: "v=spf1 -all".to_owned() }, DnsMatch::Mismatch),
        (DnsRecord::Txt { name: name("absent"), value: "v=spf1 -all".to_owned() }, DnsMatch::Missing),
        (DnsRecord::Txt { name: name("servfail"), value: "v=spf1 -all".to_owned() }, DnsMatch::Unknown),
        (DnsRecord::Mx { name: name("return"), priority: 10, host: "mail.example.".to_owned() }, DnsMatch::Found),
        (DnsRecord::Cname { name: name("track"), target: "track.host.example".to_owned() }, DnsMatch::Found),
    ] {
        let verdict = resolver.check(&expected).await;
        assert_eq!(verdict.live, want, "{expected:?}: {verdict:?}");
    }
}

#[tokio::test]
async fn an_answer_too_long_for_udp_uses_tcp() {
    // Six keys of 300 octets exceed the advertised UDP payload size of 1,232 octets.
    let mut zone = ZONE.to_owned();
    for key in 0..6 {
        writeln!(zone, "big IN TXT \"{key}{}\" \"{}\"", "x".repeat(250), "y".repeat(50)).unwrap();
    }
    let authority = Authority::serving(&zone).await;

    let texts = resolver(authority.address).txt("big.example").await.unwrap();

    assert_eq!(texts.len(), 6);
    assert!(texts.iter().all(|text| text.len() == 301));
    assert_eq!(authority.query_count_over("big.example", RecordType::TXT, Protocol::Tcp), 1);
}

#[tokio::test]
async fn a_dmarc_policy_is_inherited_from_a_parent() {
    let authority = Authority::serving(ZONE).await;
    let resolver = resolver(authority.address);
    let inherited = Dmarc { policy: "quarantine", inherited_from: Some("parent.example".to_owned()) };

    assert_eq!(resolver.dmarc("own.parent.example").await, Ok(Some(Dmarc { policy: "none", inherited_from: None })));
    assert_eq!(resolver.dmarc("send.parent.example").await, Ok(Some(inherited)));
    assert_eq!(resolver.dmarc("ordered.example").await, Ok(None));
}

#[tokio::test]
async fn an_unreachable_server_is_a_temporary_failure() {
    let stopped = Authority::serving(ZONE).await.address;
    let route = resolver(stopped).route("ordered.example", NOW_MS, &policy()).await;
    assert!(matches!(route, MailRoute::Temporary { .. }), "{route:?}");
}

#[tokio::test]
async fn servers_are_silent_after_the_first_lookup_without_a_response() {
    let closed = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let resolver = resolver(closed);
    assert!(!resolver.is_silent());

    resolver.dns_addresses("mail.one.example", NOW_MS).await.unwrap_err();

    assert!(resolver.is_silent() && !resolver.has_responded());
}
