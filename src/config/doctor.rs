//! Settings of the checks of `ringmail doctor`, and the resolver.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use super::{Config, RelayTls, RelayUrl};
use crate::base::address::DomainName;
use crate::delivery::{DIRECT, RELAY};
use crate::dns::{DnsError, Guard, Resolver, RoutePolicy};
use crate::doctor::{CheckedDelivery, CheckedDirect, CheckedName, CheckedSmarthost, DoctorSettings};

impl Config {
    /// Returns the resolver over the DNS servers of the settings, or of the system.
    pub fn resolver(&self) -> Result<Resolver, DnsError> {
        if self.resolvers.is_empty() { Resolver::system() } else { Resolver::with_servers(&self.resolvers) }
    }

    /// Returns the settings of the checks.
    pub fn doctor_settings(&self) -> DoctorSettings {
        let rules = self.route_rules();
        let targets: BTreeSet<&str> = rules.names().collect();
        let direct = targets.contains(DIRECT).then(|| CheckedDirect {
            port: self.smtp_port,
            policy: RoutePolicy {
                guard: Arc::new(Guard::allowing(self.allowed_addresses.clone())),
                ..RoutePolicy::default()
            },
            ehlo_names: self.ehlo_names(),
        });
        let is_used = |(name, _): &(&String, &RelayUrl)| targets.contains(name.as_str());
        let smarthosts = self.routes.smarthosts.iter().filter(is_used).map(|(name, url)| CheckedSmarthost {
            name: (name != RELAY).then(|| name.clone()),
            host: url.host.clone(),
            port: url.port,
            has_greeting: url.tls != RelayTls::Implicit,
        });
        let delivery = CheckedDelivery { direct, smarthosts: smarthosts.collect(), has_links: self.delivers() };
        DoctorSettings {
            delivery,
            public_url: self.public_url.clone(),
            data_dir: self.data_dir.clone(),
            master_key_file: self.master_key_file.clone(),
            disk_reserve: self.disk_reserve,
            sessions_max: self.sessions_max,
            queue_age_max: self.queue_age_max,
        }
    }

    /// Returns the EHLO names of direct delivery, each once.
    fn ehlo_names(&self) -> Vec<CheckedName> {
        let own = self.hostname.name.as_str();
        let mut names: Vec<CheckedName> = Vec::new();
        for source in &self.routes.sources {
            let name = source.name.as_ref().map_or(own, DomainName::as_str);
            match names.iter_mut().find(|other| other.name == name) {
                Some(known) => known.sources.push(source.address),
                None => names.push(self.checked_name(name, vec![source.address])),
            }
        }
        if names.is_empty() { vec![self.checked_name(own, Vec::new())] } else { names }
    }

    fn checked_name(&self, name: &str, sources: Vec<IpAddr>) -> CheckedName {
        let is_local = self.hostname.is_local() && name == self.hostname.name.as_str();
        CheckedName { name: name.to_owned(), is_local, sources }
    }
}
