//! The transports: direct delivery to MX hosts, relay through a smarthost, or capture in the built-in
//! mailbox. Each returns the servers of a destination.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;

use super::network::{Ipv6State, OwnNetwork};
use super::smtp::{Credentials, RequiredTls, TlsPolicy};
use super::source::{Source, Sources, site_from};
use crate::base::clock::TimestampMs;
use crate::base::random;
use crate::dns::{Freshness, Guard, MailRoute, MxHost, Resolver, RoutePolicy, Unroutable};

/// Port of mail servers.
const SMTP_PORT: u16 = 25;

/// A way to deliver mail.
#[derive(Clone)]
pub enum Transport {
    /// Delivery to the MX hosts of each destination.
    Direct(Direct),
    /// Delivery through one smarthost.
    Relay(Relay),
    /// Delivery into the built-in mailbox, over SMTP on loopback.
    Capture {
        /// Address of the mailbox listener.
        address: SocketAddr,
    },
}

/// Direct delivery to MX hosts.
#[derive(Clone)]
pub struct Direct {
    pub resolver: Arc<Resolver>,
    /// Addresses that may be connected to.
    pub guard: Arc<Guard>,
    /// Names, source addresses and IPv6 of this server.
    pub network: Arc<OwnNetwork>,
    /// Port of the MX hosts: 25, another one only in tests.
    pub port: u16,
    /// Hosts and recipient domains that get no email in clear text.
    pub required_tls: RequiredTls,
}

/// Relay through a smarthost.
#[derive(Clone, Debug)]
pub struct Relay {
    /// Name in the settings; `None` for the smarthost of `--relay`.
    pub name: Option<String>,
    /// Host name, which the certificate is verified against.
    pub host: String,
    pub port: u16,
    pub tls: TlsPolicy,
    pub credentials: Option<Credentials>,
    /// Whether the smarthost serves the recipients itself, so that its acceptance is the delivery.
    pub is_final: bool,
    pub resolver: RelayResolver,
    pub sources: Sources,
}

/// Resolver of the smarthost's addresses. Its `Debug` output is only its name.
#[derive(Clone)]
pub struct RelayResolver(pub Arc<Resolver>);

impl std::fmt::Debug for RelayResolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RelayResolver")
    }
}

/// Result of resolving a destination.
#[derive(Clone, Debug)]
pub(super) enum Destination {
    Servers(Arc<Servers>),
    /// The destination accepts no mail. Permanent.
    Undeliverable(NoRoute),
    /// The domain or the addresses of its servers do not exist. Permanent if a second lookup confirms it.
    Missing {
        no_route: NoRoute,
        freshness: Freshness,
    },
    /// This server does not connect to the servers of the destination. Permanent, and not caused by the recipient.
    Unroutable(NoRoute),
    /// The lookup failed temporarily.
    Unknown {
        reason: String,
    },
}

/// Reason why a destination has no servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NoRoute {
    /// Permanent enhanced status code (RFC 3463).
    pub(super) status: &'static str,
    /// Fragment of a sentence.
    pub(super) message: String,
}

/// The servers of a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Servers {
    /// Name of the site, the key of its lane. All destinations of a site share sessions and cooldown. With several
    /// source addresses, it contains the source address.
    pub(super) site: String,
    /// Hosts in the order of preference.
    pub(super) hosts: Vec<MailHost>,
    /// Address that sessions start from; `None` if the system chooses it.
    pub(super) source: Option<Source>,
    pub(super) credentials: Option<Credentials>,
    /// Whether the acceptance of the servers is the delivery.
    pub(super) is_final: bool,
    /// Number of the transport in the routes.
    pub(super) transport: usize,
    /// Whether all destinations of the transport have these servers.
    pub(super) is_shared: bool,
    /// Servers of the second transport of the route, which are used while no host of these can be connected to.
    pub(super) fallback: Option<Arc<Servers>>,
}

impl Servers {
    /// Returns whether this host is one of the servers.
    pub(super) fn has(&self, host: &str) -> bool {
        self.hosts.iter().any(|known| known.name == host)
    }

    /// Returns the servers with this host before the others.
    pub(super) fn starting_with(&self, host: &str) -> Self {
        let (first, others): (Vec<_>, Vec<_>) = self.hosts.iter().cloned().partition(|known| known.name == host);
        Self { hosts: first.into_iter().chain(others).collect(), ..self.clone() }
    }
}

/// A server with its addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MailHost {
    pub(super) name: String,
    pub(super) tls: TlsPolicy,
    pub(super) addresses: Vec<SocketAddr>,
}

impl MailHost {
    /// Returns the name under which the failures of the host are recorded.
    pub(super) fn health_name(&self) -> Cow<'_, str> {
        let port = self.addresses.first().map_or(SMTP_PORT, SocketAddr::port);
        health_name(&self.name, port, matches!(self.tls, TlsPolicy::Required { .. }))
    }
}

/// Returns the name under which the failures of a host are recorded. Each port has a record of its own, because two
/// smarthosts can be ports of one host. A host without working TLS fails only for the destinations that require it, so that
/// these have one too. A host name contains no colon and no space.
pub(super) fn health_name(host: &str, port: u16, requires_tls: bool) -> Cow<'_, str> {
    let with_tls = if requires_tls { " with TLS" } else { "" };
    match (port, with_tls) {
        (SMTP_PORT, "") => Cow::Borrowed(host),
        (SMTP_PORT, _) => Cow::Owned(format!("{host}{with_tls}")),
        (port, _) => Cow::Owned(format!("{host}:{port}{with_tls}")),
    }
}

impl Transport {
    /// Returns the servers of a domain. The deadlines of the resolver bound its time. `number` is that of the transport
    /// in the routes.
    pub(super) async fn destination(
        &self,
        number: usize,
        domain: &str,
        now_ms: TimestampMs,
        freshness: Freshness,
    ) -> Destination {
        let servers = match self {
            Self::Direct(direct) => direct.servers(domain, now_ms, freshness).await,
            Self::Relay(relay) => relay.servers(now_ms, freshness).await,
            Self::Capture { address } => Ok(capture(*address)),
        };
        match servers {
            Ok(servers) => Destination::Servers(Arc::new(Servers { transport: number, ..servers })),
            Err(destination) => destination,
        }
    }

    /// Returns whether every destination has the same servers.
    pub(super) fn is_shared(&self) -> bool {
        !matches!(self, Self::Direct(_))
    }
}

/// Returns the servers of the built-in mailbox.
fn capture(address: SocketAddr) -> Servers {
    let host = MailHost { name: "localhost".into(), tls: TlsPolicy::Never, addresses: vec![address] };
    Servers { is_shared: true, ..Servers::new("capture".into(), vec![host]) }
}

impl Servers {
    /// Returns servers whose acceptance is the delivery, without a source address.
    pub(super) fn new(site: String, hosts: Vec<MailHost>) -> Self {
        Self {
            site,
            hosts,
            source: None,
            credentials: None,
            is_final: true,
            transport: 0,
            is_shared: false,
            fallback: None,
        }
    }

    /// Returns those of these servers and their fallback that belong to the destination. The servers of a smarthost and of
    /// the built-in mailbox belong to all destinations.
    pub(super) fn of_destination(self: &Arc<Self>) -> Option<&Arc<Self>> {
        std::iter::once(self).chain(&self.fallback).find(|servers| !servers.is_shared)
    }

    /// Returns the name of the site without its source address, which the settings of the operator name.
    pub(super) fn site_without_source(&self) -> &str {
        let Some(source) = &self.source else { return &self.site };
        source.site_without(&self.site)
    }

    /// Returns the configured source address as text; `None` if the system chooses it.
    pub(super) fn source_address(&self) -> Option<String> {
        self.source.as_ref().map(|source| source.address.to_string())
    }

    /// Returns the name under which the messages of the site are counted for the warm-up plan. It has the source address
    /// also if only one is configured, so that a changed address starts a new plan.
    pub(super) fn warm_up_site(&self) -> Cow<'_, str> {
        match &self.source {
            Some(source) => Cow::Owned(site_from(&self.site, source.address)),
            None => Cow::Borrowed(&self.site),
        }
    }

    /// Returns the servers that a source address reaches, with this address. Returns all if none reaches a server.
    fn sent_from(mut self, sources: &Sources, destination: &str) -> Self {
        let servers = self.hosts.iter().flat_map(|host| &host.addresses).map(SocketAddr::ip);
        let Some(source) = sources.choose(destination, servers) else { return self };
        for host in &mut self.hosts {
            host.addresses.retain(|address| source.reaches(address.ip()));
        }
        self.hosts.retain(|host| !host.addresses.is_empty());
        Self { site: sources.site(self.site, source), source: Some(source.clone()), ..self }
    }
}

impl Direct {
    /// # Errors
    /// The destination, if it has no servers.
    async fn servers(&self, domain: &str, now_ms: TimestampMs, freshness: Freshness) -> Result<Servers, Destination> {
        let state = self.network.state().await;
        let Some(families) = self.network.families(&state.ipv6) else {
            return Err(Destination::Unknown { reason: format!("no source address can be used: {}", state.ipv6) });
        };
        let policy =
            RoutePolicy { seed: random::number(), families, freshness, guard: Arc::clone(&self.guard), own: state.own };
        let route = self.resolver.route(domain, now_ms, &policy).await;
        let no_route = NoRoute { status: route.status().unwrap_or("5.4.4"), message: route.to_string() };
        match route {
            MailRoute::Hosts { site, hosts } => {
                let hosts = hosts.into_iter().map(|host| self.host(domain, host)).collect();
                Ok(Servers::new(site.name, hosts).sent_from(self.network.sources(), domain))
            }
            MailRoute::Temporary { reason } => Err(Destination::Unknown { reason }),
            MailRoute::NullMx => Err(Destination::Undeliverable(no_route)),
            MailRoute::NoSuchDomain | MailRoute::NoAddresses(Unroutable::NoAddresses) => {
                Err(Destination::Missing { no_route, freshness })
            }
            // The hosts have IPv6 addresses only, and the reverse DNS of this server is not known yet.
            MailRoute::NoAddresses(Unroutable::OtherFamily) if matches!(state.ipv6, Ipv6State::Unknown { .. }) => {
                Err(Destination::Unknown { reason: format!("{}. {}", no_route.message, state.ipv6) })
            }
            MailRoute::NoAddresses(Unroutable::Guarded | Unroutable::OtherFamily | Unroutable::OwnHost) => {
                Err(Destination::Unroutable(no_route))
            }
        }
    }

    fn host(&self, domain: &str, host: MxHost) -> MailHost {
        let addresses = host.addresses.into_iter().map(|ip| SocketAddr::new(ip, self.port)).collect();
        let tls = self.required_tls.policy(domain, &host.name);
        MailHost { name: host.name, tls, addresses }
    }
}

impl Relay {
    /// Returns the setting that names the smarthost, for messages.
    pub(super) fn setting(&self) -> String {
        self.name.as_ref().map_or_else(|| "--relay".to_owned(), |name| format!("--smarthost {name}"))
    }

    /// # Errors
    /// The destination, if the smarthost has no address.
    async fn servers(&self, now_ms: TimestampMs, freshness: Freshness) -> Result<Servers, Destination> {
        let addresses = match freshness {
            Freshness::Cached => self.resolver.0.addresses(&self.host, now_ms).await,
            Freshness::Fresh => self.resolver.0.fresh_addresses(&self.host).await,
        };
        // Every DNS failure defers: the operator can correct the name of the smarthost.
        let addresses = addresses.map_err(|error| Destination::Unknown {
            reason: format!("the relay {} has no address: {error}", self.host),
        })?;
        let host = MailHost {
            name: self.host.clone(),
            tls: self.tls,
            addresses: addresses.into_iter().map(|ip| SocketAddr::new(ip, self.port)).collect(),
        };
        let servers = Servers {
            credentials: self.credentials.clone(),
            is_final: self.is_final,
            is_shared: true,
            ..Servers::new(format!("relay {}", self.name.as_deref().unwrap_or(&self.host)), vec![host])
        };
        Ok(servers.sent_from(&self.sources, &self.host))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_can_start_with_another_host() {
        let host = |name: &str| MailHost { name: name.into(), tls: TlsPolicy::Never, addresses: Vec::new() };
        let hosts = ["a", "b", "c"].map(host).to_vec();
        let servers = Servers::new("site".into(), hosts);

        let reordered = servers.starting_with("b");

        let names: Vec<&str> = reordered.hosts.iter().map(|host| host.name.as_str()).collect();
        assert_eq!((names, servers.has("b"), servers.has("d")), (vec!["b", "a", "c"], true, false));
    }
}
