//! Routes of destinations, and the lookups of their transports.

use std::net::SocketAddr;

use super::*;
use crate::base::id::Id;
use crate::delivery::pattern::released_destination;
use crate::delivery::smtp::TlsPolicy;
use crate::delivery::source::Sources;
use crate::delivery::transport::{Relay, RelayResolver};
use crate::dns::Resolver;

fn relay(host: &str) -> Transport {
    let closed: SocketAddr = "127.0.0.1:9".parse().unwrap();
    Transport::Relay(Relay {
        name: None,
        host: host.to_owned(),
        port: 25,
        tls: TlsPolicy::Never,
        credentials: None,
        is_final: true,
        resolver: RelayResolver(Arc::new(Resolver::with_servers(&[closed]).unwrap())),
        sources: Sources::default(),
    })
}

fn targets(text: &str) -> RouteTargets {
    match text.split_once(',') {
        Some((first, fallback)) => RouteTargets { first: first.to_owned(), fallback: Some(fallback.to_owned()) },
        None => RouteTargets::only(text),
    }
}

/// Returns routes over three smarthosts and the mailbox. The smarthost `lost` has a name that cannot be looked up.
fn routes(rules: &[(&str, Option<Class>, &str)], default: &str, release: Option<&str>, only: &[&str]) -> Routes {
    let capture = Transport::Capture { address: "127.0.0.1:2525".parse().unwrap() };
    let transports = [("one", relay("127.0.0.1")), ("two", relay("127.0.0.2")), ("lost", relay("lost.example"))];
    let transports = transports.into_iter().chain([(CAPTURE, capture)]);
    let rule = |(pattern, class, to): &(&str, Option<Class>, &str)| RouteRule {
        pattern: pattern.parse().unwrap(),
        class: *class,
        targets: targets(to),
    };
    let rules = RouteRules {
        rules: rules.iter().map(rule).collect(),
        default: targets(default),
        release: release.map(str::to_owned),
        deliver_only: DeliverOnly::new(only.iter().map(|text| text.parse().unwrap()).collect()),
    };
    Routes::new(transports.map(|(name, transport)| (name.to_owned(), transport)).collect(), rules)
}

fn lane(destination: &str, class: Class) -> LaneKey {
    LaneKey::new(destination, class, Id::MIN)
}

/// Returns the sites of a destination: the first one, and that of the fallback.
async fn sites(routes: &Routes, destination: &str, class: Class) -> Vec<String> {
    let key = routes.table().key(destination, lane(destination, class));
    match routes.destination(key.route, destination, 0, Freshness::Cached).await.destination {
        Destination::Servers(servers) => {
            std::iter::once(&servers).chain(&servers.fallback).map(|servers| servers.site.clone()).collect()
        }
        other => vec![format!("{other:?}")],
    }
}

#[tokio::test]
async fn the_first_rule_that_matches_the_domain_and_the_class_applies() {
    use Class::{Broadcast, Transactional};
    let rules = [
        ("a.example", Some(Broadcast), "two"),
        ("a.example", None, "one,two"),
        ("*.a.example", None, "capture"),
        ("*", Some(Broadcast), "two,capture"),
    ];
    let routes = routes(&rules, "one", None, &[]);
    for (destination, class, expected) in [
        ("a.example", Broadcast, &["relay 127.0.0.2"][..]),
        ("a.example", Transactional, &["relay 127.0.0.1", "relay 127.0.0.2"]),
        ("mail.a.example", Broadcast, &["capture"]),
        ("b.example", Broadcast, &["relay 127.0.0.2", "capture"]),
        ("b.example", Transactional, &["relay 127.0.0.1"]),
    ] {
        assert_eq!(sites(&routes, destination, class).await, expected, "{destination} {class:?}");
    }
}

#[tokio::test]
async fn a_fallback_replaces_a_transport_whose_name_cannot_be_looked_up() {
    let routes = routes(&[("a.example", None, "lost,two")], "two,lost", None, &[]);

    assert_eq!(sites(&routes, "a.example", Class::Transactional).await, ["relay 127.0.0.2"]);
    assert_eq!(sites(&routes, "b.example", Class::Transactional).await, ["relay 127.0.0.2"]);
}

#[tokio::test]
async fn each_transport_that_cannot_be_looked_up_is_reported_with_the_effect() {
    let rules = [("a.example", None, "lost,two"), ("b.example", None, "two,lost"), ("c.example", None, "lost")];
    let routes = routes(&rules, "one,two", None, &[]);
    for (destination, expected) in [
        ("a.example", vec![(2, LookupEffect::Fallback)]),
        ("b.example", vec![(2, LookupEffect::NoFallback)]),
        ("c.example", vec![(2, LookupEffect::Queued)]),
        ("d.example", vec![]),
    ] {
        let key = routes.table().key(destination, lane(destination, Class::Transactional));
        let found = routes.destination(key.route, destination, 0, Freshness::Cached).await;
        assert_eq!(found.failed, expected, "{destination}");
    }
}

#[tokio::test]
async fn recipients_that_are_not_selected_are_captured_and_a_released_message_is_not() {
    let only = ["staff.example", "ada@shop.example"];
    let routes = routes(&[("shop.example", None, "two")], "one", Some("two"), &only);
    for (destination, site) in [
        ("staff.example", "relay 127.0.0.1"),
        ("shop.example", "capture"),
        ("ada@shop.example", "relay 127.0.0.2"),
        ("bob@shop.example", "capture"),
        (&released_destination("shop.example"), "relay 127.0.0.2"),
    ] {
        assert_eq!(sites(&routes, destination, Class::Transactional).await, [site], "{destination}");
    }
}

#[tokio::test]
async fn a_released_message_waits_for_the_setting() {
    let routes = routes(&[], "one", None, &[]);

    let sites = sites(&routes, &released_destination("shop.example"), Class::Transactional).await;

    assert!(sites[0].contains("Unknown") && sites[0].contains("--release"), "{sites:?}");
}

#[test]
fn the_destinations_of_the_same_smarthosts_share_a_lookup() {
    let rules = [("a.example", None, "two"), ("b.example", None, "two"), ("c.example", None, "one,two")];
    let table = routes(&rules, "one", None, &[]).table();
    let key = |destination: &str| table.key(destination, lane(destination, Class::Transactional));

    assert_eq!(key("a.example"), key("b.example"));
    assert_eq!(key("d.example"), key("e.example"));
    assert_ne!(key("a.example"), key("d.example"));
    assert_ne!(key("c.example"), key("d.example"));
    assert_ne!(key(simulated::DESTINATION), key("d.example"));
    let direct = RouteTable::single(false);
    let key = |destination: &str| direct.key(destination, lane(destination, Class::Transactional));
    assert_ne!(key("a.example"), key("b.example"));
}
