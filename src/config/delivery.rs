//! Settings of the delivery engine.

use std::net::SocketAddr;
use std::sync::Arc;

use clap::ValueEnum;

use super::{Config, DeliveryConfig, QueueConfig, RelayTls};
use crate::delivery::smtp::{Timeouts, TlsConfigs, TlsPolicy, Verification};
use crate::delivery::{self, Direct, Flow, Relay, RelayResolver, RetrySchedule, Transport};
use crate::dns::{Guard, OwnHost, Resolver, RoutePolicy};
use crate::preferences::Links;

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
        links: Links,
    ) -> delivery::EngineSettings {
        let hostname = self.hostname.name.as_str().to_owned();
        let transport = match &self.delivery {
            DeliveryConfig::Capture => Transport::Capture { address: capture },
            DeliveryConfig::Direct => Transport::Direct(Direct {
                resolver: Arc::clone(resolver),
                policy: RoutePolicy {
                    guard: Arc::new(Guard::allowing(self.allowed_addresses.clone())),
                    own: Arc::new(OwnHost { names: vec![hostname.clone()], addresses: Vec::new() }),
                    ..RoutePolicy::default()
                },
                port: self.smtp_port,
                required_tls: self.required_tls.clone(),
            }),
            DeliveryConfig::Relay(relay) => Transport::Relay(Relay {
                host: relay.host.clone(),
                port: relay.port,
                tls: match relay.tls {
                    RelayTls::Never => TlsPolicy::Never,
                    RelayTls::Opportunistic => TlsPolicy::Opportunistic,
                    RelayTls::Required => TlsPolicy::Required { verify: Verification::WebPki },
                    RelayTls::Implicit => TlsPolicy::Implicit { verify: Verification::WebPki },
                },
                credentials: relay.credentials.as_ref().map(|credentials| delivery::smtp::Credentials::Password {
                    username: credentials.user.clone(),
                    password: credentials.password.reveal().to_owned(),
                }),
                is_final: relay.is_final,
                resolver: RelayResolver(Arc::clone(resolver)),
            }),
        };
        delivery::EngineSettings {
            hostname,
            transport,
            schedule: RetrySchedule {
                delays: self.retry_delays.clone(),
                expire_after: self.expire_after,
                confirm_after: self.confirm_after,
            },
            sessions_max: self.sessions_max,
            rates: self.rates.clone(),
            timeouts: Timeouts::default(),
            tls: TlsConfigs::new(),
            flow: match self.queue {
                QueueConfig::Run => Flow::Open,
                QueueConfig::Hold => Flow::Held,
            },
            links,
        }
    }
}
