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

/// The result of looking up a destination over its route.
#[derive(Clone, Debug)]
pub(super) struct RouteLookup {
    pub(super) destination: Destination,
    /// Numbers of the transports whose lookup failed temporarily, with the effect for the operator.
    pub(super) failed: Vec<(usize, LookupEffect)>,
}

impl RouteLookup {
    /// Returns the result of a lookup that no transport made.
    pub(super) fn unknown(reason: String) -> Self {
        Self { destination: Destination::Unknown { reason }, failed: Vec::new() }
    }
}

/// Effect of the failed lookup of a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LookupEffect {
    /// Groups wait for the next lookup.
    Queued,
    /// Groups use the fallback.
    Fallback,
    /// Groups have no fallback.
    NoFallback,
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
    ) -> RouteLookup {
        let domain = domain_of(destination);
        let TransportChain { first, fallback, .. } = self.table.chains[route.0];
        let Some(first) = first else {
            let reason = "a released message needs a transport: set --release direct or the name of a smarthost";
            return RouteLookup::unknown(reason.to_owned());
        };
        let lookup = |number: usize| self.transport(number).destination(number, domain, now_ms, freshness);
        let is_unknown = |destination: &Destination| matches!(destination, Destination::Unknown { .. });
        let Some(fallback) = fallback else {
            let destination = lookup(first).await;
            let failed = is_unknown(&destination).then_some((first, LookupEffect::Queued));
            return RouteLookup { destination, failed: failed.into_iter().collect() };
        };
        let found = tokio::join!(lookup(first), lookup(fallback));
        let has_fallback = matches!(found.1, Destination::Servers(_));
        let mut failed = Vec::new();
        if is_unknown(&found.0) {
            failed.push((first, if has_fallback { LookupEffect::Fallback } else { LookupEffect::Queued }));
        }
        if is_unknown(&found.1) {
            let is_queued = is_unknown(&found.0);
            failed.push((fallback, if is_queued { LookupEffect::Queued } else { LookupEffect::NoFallback }));
        }
        let destination = match found {
            (Destination::Servers(servers), Destination::Servers(fallback)) => {
                Destination::Servers(Arc::new(Servers { fallback: Some(fallback), ..Servers::clone(&servers) }))
            }
            (Destination::Unknown { .. }, Destination::Servers(fallback)) => Destination::Servers(fallback),
            (first, _) => first,
        };
        RouteLookup { destination, failed }
    }
}

#[cfg(test)]
mod tests;
