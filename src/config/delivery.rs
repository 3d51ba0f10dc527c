//! Settings of the delivery engine.

use std::net::SocketAddr;
use std::sync::Arc;

use clap::ValueEnum;

use super::{Config, DeliveryConfig, QueueConfig, RelayTls, RelayUrl};
use crate::delivery::smtp::{Credentials, Timeouts, TlsConfigs, TlsPolicy, Verification};
use crate::delivery::{
    self, CAPTURE, DIRECT, Direct, Flow, OwnNetwork, RELAY, Relay, RelayResolver, RouteRules, RouteTargets, Routes,
    Source, Sources, Transport,
};
use crate::dns::{Guard, Resolver};
use crate::notices;
use crate::preferences::PreferenceLinks;

/// Delivery mode as clap parses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum DeliveryMode {
    /// Store every email in the built-in mailbox; no email leaves the machine.
    Capture,
    /// Deliver to the MX hosts of each recipient domain.
    Direct,
    /// Deliver through the smarthost of --relay.
    Relay,
}

impl Config {
    /// Returns the settings of the engine. `capture` is the address of the built-in mailbox.
    pub fn delivery_settings(
        &self,
        resolver: &Arc<Resolver>,
        capture: SocketAddr,
        links: PreferenceLinks,
    ) -> delivery::EngineSettings {
        delivery::EngineSettings {
            hostname: self.hostname.name.as_str().to_owned(),
            routes: self.routes(resolver, capture),
            schedule: self.retries.clone(),
            sessions_max: self.sessions_max,
            rates: self.rates.clone(),
            timeouts: Timeouts::default(),
            tls: TlsConfigs::new(),
            flow: match self.queue {
                QueueConfig::Run => Flow::Open,
                QueueConfig::Hold => Flow::Held,
            },
            links,
            record_refusal: notices::record_domain_refusal,
        }
    }

    /// Returns the state of IPv6 and the own addresses of this server, which direct delivery uses.
    pub fn own_network(&self, resolver: &Arc<Resolver>) -> Arc<OwnNetwork> {
        let hostname = self.hostname.name.as_str().to_owned();
        OwnNetwork::new(Arc::clone(resolver), hostname, self.sources(), self.routes.ipv6)
    }

    fn sources(&self) -> Sources {
        let source = |source: &super::SourceConfig| Source {
            address: source.address,
            ehlo_name: source.name.as_ref().unwrap_or(&self.hostname.name).as_str().to_owned(),
        };
        Sources::new(self.routes.sources.iter().map(source).collect())
    }

    /// Returns the rules that select the transport of a recipient.
    pub(super) fn route_rules(&self) -> RouteRules {
        let default = match &self.delivery {
            DeliveryConfig::Capture => CAPTURE,
            DeliveryConfig::Direct => DIRECT,
            DeliveryConfig::Relay(_) => RELAY,
        };
        RouteRules {
            rules: self.routes.rules.clone(),
            default: RouteTargets::only(default),
            release: self.routes.release.clone(),
            deliver_only: self.routes.deliver_only.clone(),
        }
    }

    fn routes(&self, resolver: &Arc<Resolver>, capture: SocketAddr) -> Routes {
        let rules = self.route_rules();
        let mut transports = vec![(CAPTURE.to_owned(), Transport::Capture { address: capture })];
        if rules.names().any(|name| name == DIRECT) {
            let direct = Direct {
                resolver: Arc::clone(resolver),
                guard: Arc::new(Guard::allowing(self.allowed_addresses.clone())),
                network: self.own_network(resolver),
                port: self.smtp_port,
                required_tls: self.required_tls.clone(),
            };
            transports.push((DIRECT.to_owned(), Transport::Direct(direct)));
        }
        let sources = self.sources();
        transports.extend(self.routes.smarthosts.iter().map(|(name, url)| {
            let resolver = RelayResolver(Arc::clone(resolver));
            (name.clone(), Transport::Relay(relay(name, url, resolver, sources.clone())))
        }));
        Routes::new(transports, rules)
    }
}

/// Returns the smarthost with a URL.
fn relay(name: &str, url: &RelayUrl, resolver: RelayResolver, sources: Sources) -> Relay {
    Relay {
        name: (name != RELAY).then(|| name.to_owned()),
        host: url.host.clone(),
        port: url.port,
        tls: match url.tls {
            RelayTls::Never => TlsPolicy::Never,
            RelayTls::Opportunistic => TlsPolicy::Opportunistic,
            RelayTls::Required => TlsPolicy::Required { verify: Verification::WebPki },
            RelayTls::Implicit => TlsPolicy::Implicit { verify: Verification::WebPki },
        },
        credentials: url.credentials.as_ref().map(|credentials| Credentials::Password {
            username: credentials.user.clone(),
            password: credentials.password.reveal().to_owned(),
        }),
        is_final: url.is_final,
        resolver,
        sources,
    }
}
