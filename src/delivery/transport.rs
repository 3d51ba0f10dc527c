//! Where mail goes: to the recipients' servers, to a smarthost, or into the built-in mailbox.

use std::net::SocketAddr;
use std::sync::Arc;

use super::smtp::{Credentials, TlsPolicy};
use crate::base::clock::TimestampMs;
use crate::base::random;
use crate::dns::{Freshness, MxHost, Resolver, Route, RoutePolicy};

/// How mail leaves.
#[derive(Clone)]
pub enum Transport {
    /// To the MX hosts of each recipient's domain.
    Direct(Direct),
    /// To one server that delivers for us.
    Relay(Relay),
    /// Into the built-in mailbox, through a real SMTP conversation over loopback.
    Capture {
        /// Where the mailbox listens.
        address: SocketAddr,
    },
}

/// Direct delivery.
#[derive(Clone)]
pub struct Direct {
    /// Finds the MX hosts.
    pub resolver: Arc<Resolver>,
    /// Which hosts may be dialled, and our own names.
    pub policy: RoutePolicy,
    /// The receivers' port: 25, but for tests.
    pub port: u16,
}

/// A smarthost.
#[derive(Clone, Debug)]
pub struct Relay {
    /// Its name, which its certificate is verified against.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// What is done about TLS.
    pub tls: TlsPolicy,
    /// What it asks for.
    pub credentials: Option<Credentials>,
    /// Finds its addresses.
    pub resolver: RelayResolver,
}

/// Finds a smarthost's addresses.
#[derive(Clone)]
pub struct RelayResolver(pub Arc<Resolver>);

impl std::fmt::Debug for RelayResolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RelayResolver")
    }
}

/// Where the mail of one destination goes.
#[derive(Clone, Debug)]
pub(super) enum Destination {
    /// To these servers, in order; the site is the lane.
    Servers(Arc<Servers>),
    /// Nowhere, for good.
    Undeliverable {
        /// The enhanced status code.
        status: &'static str,
        /// Why.
        message: String,
    },
    /// Nowhere for the moment.
    Unknown {
        /// Why.
        reason: String,
    },
    /// The name of the destination does not exist; for good, once that has been confirmed.
    Vanished,
}

/// The servers of a destination.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Servers {
    /// The lane: everything for one site shares its sessions and its troubles.
    pub(super) site: String,
    /// Name and addresses, best first.
    pub(super) hosts: Vec<MailHost>,
    pub(super) tls: TlsPolicy,
    pub(super) credentials: Option<Credentials>,
}

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MailHost {
    pub(super) name: String,
    pub(super) addresses: Vec<SocketAddr>,
}

impl Transport {
    /// Finds where the mail of `domain` goes. Bounded by the resolver's own deadlines.
    pub(super) async fn destination(&self, domain: &str, now_ms: TimestampMs, freshness: Freshness) -> Destination {
        match self {
            Self::Direct(direct) => direct.destination(domain, now_ms, freshness).await,
            Self::Relay(relay) => relay.destination(now_ms).await,
            Self::Capture { address } => Destination::Servers(Arc::new(Servers {
                site: "capture".into(),
                hosts: vec![MailHost { name: "localhost".into(), addresses: vec![*address] }],
                tls: TlsPolicy::Never,
                credentials: None,
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
        let status = route.status().unwrap_or("5.4.4");
        match route {
            Route::Hosts { site, hosts } => {
                let hosts = hosts.into_iter().map(|host| self.host(host)).collect();
                Destination::Servers(Arc::new(Servers {
                    site: site.name,
                    hosts,
                    tls: TlsPolicy::Opportunistic,
                    credentials: None,
                }))
            }
            Route::NoSuchDomain => Destination::Vanished,
            Route::Temporary { reason } => Destination::Unknown { reason },
            route @ (Route::NullMx | Route::NoAddresses(_)) => {
                Destination::Undeliverable { status, message: route.to_string() }
            }
        }
    }

    fn host(&self, host: MxHost) -> MailHost {
        let addresses = host.addresses.into_iter().map(|ip| SocketAddr::new(ip, self.port)).collect();
        MailHost { name: host.name, addresses }
    }
}

impl Relay {
    async fn destination(&self, now_ms: TimestampMs) -> Destination {
        match self.resolver.0.addresses(&self.host, now_ms).await {
            Ok(addresses) => Destination::Servers(Arc::new(Servers {
                site: format!("relay {}", self.host),
                hosts: vec![MailHost {
                    name: self.host.clone(),
                    addresses: addresses.into_iter().map(|ip| SocketAddr::new(ip, self.port)).collect(),
                }],
                tls: self.tls,
                credentials: self.credentials.clone(),
            })),
            // Whatever the name servers say of our own smarthost, its mail waits.
            Err(error) => Destination::Unknown { reason: format!("the relay {} has no address: {error}", self.host) },
        }
    }
}
