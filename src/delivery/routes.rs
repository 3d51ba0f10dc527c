//! Routes: which transport delivers to a destination.
//!
//! A route is a function of the destination and the class, so that all groups of a lane have the same one. The first
//! matching rule applies, or else the default. A route has one transport and may have a second one as its fallback. The
//! fallback is used in two cases: no host of the first transport can be connected to, or its name cannot be looked up.
//! A refusal is not such a case.

use std::sync::Arc;

use super::network::OwnNetwork;
use super::pattern::{DeliverOnly, RecipientPattern, domain_of, is_released};
use super::queue::{DestinationHash, LaneKey};
use super::rows::Class;
use super::simulated;
use super::transport::{Destination, Servers, Transport};
use crate::base::clock::TimestampMs;
use crate::dns::Freshness;

/// Name of direct delivery in a route.
pub const DIRECT: &str = "direct";
/// Name of the built-in mailbox in a route.
pub const CAPTURE: &str = "capture";
/// Name of the smarthost of `--relay` in a route.
pub const RELAY: &str = "relay";

/// The transports of a route by name, in the order in which they are tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteTargets {
    pub first: String,
    pub fallback: Option<String>,
}

impl RouteTargets {
    /// Returns one transport without a fallback.
    pub fn only(name: &str) -> Self {
        Self { first: name.to_owned(), fallback: None }
    }

    /// Returns the names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.first).chain(&self.fallback).map(String::as_str)
    }
}

/// A rule: the route of the recipients that a pattern selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteRule {
    pub pattern: RecipientPattern,
    /// Class of the email; `None` for every class.
    pub class: Option<Class>,
    pub targets: RouteTargets,
}

/// All routes by name.
#[derive(Clone, Debug)]
pub struct RouteRules {
    pub rules: Vec<RouteRule>,
    pub default: RouteTargets,
    /// Transport of released messages; `None` if none can be released.
    pub release: Option<String>,
    pub deliver_only: DeliverOnly,
}

impl RouteRules {
    /// Returns the names of all transports that a route uses.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let targets = self.rules.iter().map(|rule| &rule.targets).chain([&self.default]);
        targets.flat_map(RouteTargets::names).chain(self.release.as_deref())
    }
}

/// Number of a route in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RouteId(usize);

/// The destinations that share one lookup: one destination, or all of a route whose servers are the same for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RouteKey {
    pub(super) route: RouteId,
    /// Zero if the destinations share the lookup.
    destination: DestinationHash,
}

/// Numbers of the transports of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TransportChain {
    /// `None` if the setting is missing.
    first: Option<usize>,
    fallback: Option<usize>,
    is_shared: bool,
}

/// The routes without their transports.
#[derive(Clone, Debug)]
pub(super) struct RouteTable {
    rules: Vec<(RecipientPattern, Option<Class>, RouteId)>,
    chains: Vec<TransportChain>,
    default: RouteId,
    capture: RouteId,
    release: RouteId,
    deliver_only: DeliverOnly,
}

impl RouteTable {
    /// Returns the key of the lookup for a lane.
    pub(super) fn key(&self, destination: &str, lane: LaneKey) -> RouteKey {
        let route = self.route(destination, lane.class);
        let is_shared = self.chains[route.0].is_shared && destination != simulated::DESTINATION;
        RouteKey { route, destination: if is_shared { [0; 16] } else { lane.destination } }
    }

    /// Returns the route of a destination.
    fn route(&self, destination: &str, class: Class) -> RouteId {
        if is_released(destination) {
            return self.release;
        }
        if !self.deliver_only.includes(destination) {
            return self.capture;
        }
        let domain = domain_of(destination);
        let matches =
            |pattern: &RecipientPattern, of: Option<Class>| pattern.matches(domain) && of.is_none_or(|of| of == class);
        let rule = self.rules.iter().find(|(pattern, of, _)| matches(pattern, *of));
        rule.map_or(self.default, |(_, _, route)| *route)
    }

    /// Returns the number of a chain, after adding it if it is new.
    fn id(&mut self, chain: TransportChain) -> RouteId {
        let known = self.chains.iter().position(|other| *other == chain);
        RouteId(known.unwrap_or_else(|| {
            self.chains.push(chain);
            self.chains.len() - 1
        }))
    }

    /// Returns a table with one route for all destinations.
    #[cfg(test)]
    pub(super) fn single(is_shared: bool) -> Arc<Self> {
        Arc::new(Self {
            rules: Vec::new(),
            chains: vec![TransportChain { first: Some(0), fallback: None, is_shared }],
            default: RouteId(0),
            capture: RouteId(0),
            release: RouteId(0),
            deliver_only: DeliverOnly::default(),
        })
    }
}

/// The routes with their transports.
#[derive(Clone)]
pub struct Routes {
    table: Arc<RouteTable>,
    transports: Vec<Transport>,
}

impl Routes {
    /// Returns the routes over these named transports. [`CAPTURE`] must be one of them, and so must each name in the
    /// rules: the settings check that.
    pub fn new(transports: Vec<(String, Transport)>, rules: RouteRules) -> Self {
        let position = |name: &str| {
            let position = transports.iter().position(|(other, _)| other == name);
            position.unwrap_or_else(|| unreachable!("the settings check that the transport {name} exists"))
        };
        let chain = |targets: &RouteTargets| {
            let (first, fallback) = (position(&targets.first), targets.fallback.as_deref().map(position));
            let is_shared = std::iter::once(first).chain(fallback).all(|number| transports[number].1.is_shared());
            TransportChain { first: Some(first), fallback, is_shared }
        };
        let RouteRules { rules, default, release, deliver_only } = rules;
        let mut table = RouteTable {
            rules: Vec::new(),
            chains: Vec::new(),
            default: RouteId(0),
            capture: RouteId(0),
            release: RouteId(0),
            deliver_only,
        };
        table.default = table.id(chain(&default));
        table.capture = table.id(chain(&RouteTargets::only(CAPTURE)));
        table.release = match release {
            Some(name) => table.id(chain(&RouteTargets::only(&name))),
            None => table.id(TransportChain { first: None, fallback: None, is_shared: true }),
        };
        for RouteRule { pattern, class, targets } in rules {
            let route = table.id(chain(&targets));
            table.rules.push((pattern, class, route));
        }
        Self { table: Arc::new(table), transports: transports.into_iter().map(|(_, transport)| transport).collect() }
    }

    /// Returns one route, to the mailbox at an address.
    #[cfg(test)]
    pub(super) fn captured(address: std::net::SocketAddr) -> Self {
        let rules = RouteRules {
            rules: Vec::new(),
            default: RouteTargets::only(CAPTURE),
            release: None,
            deliver_only: DeliverOnly::default(),
        };
        Self::new(vec![(CAPTURE.to_owned(), Transport::Capture { address })], rules)
    }

    pub(super) fn table(&self) -> Arc<RouteTable> {
        Arc::clone(&self.table)
    }

    /// Returns the transport with this number.
    pub(super) fn transport(&self, number: usize) -> &Transport {
        &self.transports[number]
    }

    /// Returns the first transport of a route; `None` if the setting is missing.
    pub(super) fn first_of(&self, route: RouteId) -> Option<&Transport> {
        self.table.chains[route.0].first.map(|number| self.transport(number))
    }

    /// Returns the addresses of this server; `None` without direct delivery.
    pub(super) fn network(&self) -> Option<&Arc<OwnNetwork>> {
        self.transports.iter().find_map(|transport| match transport {
            Transport::Direct(direct) => Some(&direct.network),
            Transport::Relay(_) | Transport::Capture { .. } => None,
        })
    }

    /// Returns the servers of a destination, and those of the fallback. The deadlines of the resolver bound its time.
    pub(super) async fn destination(
        &self,
        route: RouteId,
        destination: &str,
        now_ms: TimestampMs,
        freshness: Freshness,
    ) -> Destination {
        let domain = domain_of(destination);
        let TransportChain { first, fallback, .. } = self.table.chains[route.0];
        let Some(first) = first else {
            let reason = "a released message needs a transport: set --release direct or the name of a smarthost";
            return Destination::Unknown { reason: reason.to_owned() };
        };
        let lookup = |number: usize| self.transport(number).destination(number, domain, now_ms, freshness);
        let Some(fallback) = fallback else { return lookup(first).await };
        match tokio::join!(lookup(first), lookup(fallback)) {
            (Destination::Servers(servers), Destination::Servers(fallback)) => {
                Destination::Servers(Arc::new(Servers { fallback: Some(fallback), ..Servers::clone(&servers) }))
            }
            (Destination::Unknown { .. }, Destination::Servers(fallback)) => Destination::Servers(fallback),
            (first, _) => first,
        }
    }
}

#[cfg(test)]
mod tests {
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
        match routes.destination(key.route, destination, 0, Freshness::Cached).await {
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
}
