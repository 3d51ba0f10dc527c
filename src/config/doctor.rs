//! Settings of the checks of `ringmail doctor`, and the resolver.

use std::sync::Arc;

use super::{Config, DeliveryConfig, RelayTls};
use crate::dns::{DnsError, Guard, Resolver, RoutePolicy};
use crate::doctor::{CheckedDelivery, DoctorSettings};

impl Config {
    /// Returns the resolver over the DNS servers of the settings, or of the system.
    ///
    /// # Errors
    /// [`DnsError`].
    pub fn resolver(&self) -> Result<Resolver, DnsError> {
        if self.resolvers.is_empty() { Resolver::system() } else { Resolver::with_servers(&self.resolvers) }
    }

    /// Returns the settings of the checks.
    pub fn doctor_settings(&self) -> DoctorSettings {
        let delivery = match &self.delivery {
            DeliveryConfig::Capture => CheckedDelivery::Capture,
            DeliveryConfig::Direct => CheckedDelivery::Direct {
                port: self.smtp_port,
                policy: RoutePolicy {
                    guard: Arc::new(Guard::allowing(self.allowed_addresses.clone())),
                    ..RoutePolicy::default()
                },
            },
            DeliveryConfig::Relay(relay) => CheckedDelivery::Relay {
                host: relay.host.clone(),
                port: relay.port,
                has_greeting: relay.tls != RelayTls::Implicit,
            },
        };
        DoctorSettings {
            delivery,
            hostname: self.hostname.name.as_str().to_owned(),
            hostname_is_local: self.hostname.is_local(),
            public_url: self.public_url.clone(),
            data_dir: self.data_dir.clone(),
            master_key_file: self.master_key_file.clone(),
            disk_reserve_bytes: self.disk_reserve_bytes,
            sessions_max: self.sessions_max,
            queue_age_max: self.queue_age_max,
        }
    }
}
