//! The transports: direct delivery to MX hosts, relay through a smarthost, or capture in the built-in
//! mailbox. Each returns the servers of a destination.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;

use super::smtp::{Credentials, RequiredTls, TlsPolicy};
use crate::base::clock::TimestampMs;
use crate::base::random;
use crate::dns::{Freshness, MxHost, Resolver, Route, RoutePolicy, Unroutable};

/// Delivery mode.
#[derive(Clone)]
pub enum Transport {
    /// Delivery to the MX hosts of each destination.
    Direct(Direct),
    /// Delivery of all mail to one smarthost.
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
    /// Addresses that may be connected to, and the names of this server.
    pub policy: RoutePolicy,
    /// Port of the MX hosts: 25, another one only in tests.
    pub port: u16,
    /// Hosts and recipient domains that get no email in clear text.
    pub required_tls: RequiredTls,
}

/// Relay through a smarthost.
#[derive(Clone, Debug)]
pub struct Relay {
    /// Host name, which the certificate is verified against.
    pub host: String,
    pub port: u16,
    pub tls: TlsPolicy,
    pub credentials: Option<Credentials>,
    /// Whether the smarthost serves the recipients itself, so that its acceptance is the delivery.
    pub is_final: bool,
    pub resolver: RelayResolver,
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
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Servers {
    /// Name of the site, the key of its lane. All destinations of a site share sessions and cooldown.
    pub(super) site: String,
    /// Hosts in the order of preference.
    pub(super) hosts: Vec<MailHost>,
    pub(super) credentials: Option<Credentials>,
    /// Whether the acceptance of the servers is the delivery.
    pub(super) is_final: bool,
}

/// A server with its addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MailHost {
    pub(super) name: String,
    pub(super) tls: TlsPolicy,
    pub(super) addresses: Vec<SocketAddr>,
}

impl MailHost {
    /// Returns the name under which the failures of the host are recorded. A host without working TLS fails only for
    /// the destinations that require it, so that these have a record of their own. A host name contains no space.
    pub(super) fn health_name(&self) -> Cow<'_, str> {
        match self.tls {
            TlsPolicy::Required { .. } => Cow::Owned(format!("{} with TLS", self.name)),
            TlsPolicy::Never | TlsPolicy::Opportunistic | TlsPolicy::Implicit { .. } => Cow::Borrowed(&self.name),
        }
    }
}

impl Transport {
    /// Returns the servers of a domain. The deadlines of the resolver bound its time.
    pub(super) async fn destination(&self, domain: &str, now_ms: TimestampMs, freshness: Freshness) -> Destination {
        match self {
            Self::Direct(direct) => direct.destination(domain, now_ms, freshness).await,
            Self::Relay(relay) => relay.destination(now_ms).await,
            Self::Capture { address } => Destination::Servers(Arc::new(Servers {
                site: "capture".into(),
                hosts: vec![MailHost { name: "localhost".into(), tls: TlsPolicy::Never, addresses: vec![*address] }],
                credentials: None,
                is_final: true,
            })),
        }
    }

    /// Returns whether every destination has the same servers.
    pub(super) fn is_single(&self) -> bool {
        !matches!(self, Self::Direct(_))
    }
}

impl Direct {
    async fn destination(&self, domain: &str, now_ms: TimestampMs, freshness: Freshness) -> Destination {
        let policy = RoutePolicy { seed: random::number(), freshness, ..self.policy.clone() };
        let route = self.resolver.route(domain, now_ms, &policy).await;
        let no_route = NoRoute { status: route.status().unwrap_or("5.4.4"), message: route.to_string() };
        match route {
            Route::Hosts { site, hosts } => {
                let hosts = hosts.into_iter().map(|host| self.host(domain, host)).collect();
                Destination::Servers(Arc::new(Servers { site: site.name, hosts, credentials: None, is_final: true }))
            }
            Route::Temporary { reason } => Destination::Unknown { reason },
            Route::NullMx => Destination::Undeliverable(no_route),
            Route::NoSuchDomain | Route::NoAddresses(Unroutable::NoAddresses) => {
                Destination::Missing { no_route, freshness }
            }
            Route::NoAddresses(Unroutable::Guarded | Unroutable::OtherFamily | Unroutable::OwnHost) => {
                Destination::Unroutable(no_route)
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
    async fn destination(&self, now_ms: TimestampMs) -> Destination {
        match self.resolver.0.addresses(&self.host, now_ms).await {
            Ok(addresses) => Destination::Servers(Arc::new(Servers {
                site: format!("relay {}", self.host),
                hosts: vec![MailHost {
                    name: self.host.clone(),
                    tls: self.tls,
                    addresses: addresses.into_iter().map(|ip| SocketAddr::new(ip, self.port)).collect(),
                }],
                credentials: self.credentials.clone(),
                is_final: self.is_final,
            })),
            // Every DNS failure defers: the operator can correct the name of the smarthost.
            Err(error) => Destination::Unknown { reason: format!("the relay {} has no address: {error}", self.host) },
        }
    }
}
