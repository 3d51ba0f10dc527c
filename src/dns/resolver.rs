//! The lookups that the rest of the program uses.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use hickory_resolver::Hosts;
use hickory_resolver::proto::op::Query;
use hickory_resolver::proto::rr::{Name, RData, RecordType};
use hickory_resolver::system_conf::read_system_conf;

use super::error::{DnsError, LookupError};
use super::host;
use super::lookup::{CacheMode, LookupTimings, Lookups, complete};
use super::mx::ROOT;
use super::upstream::{Upstream, server_at};

/// Maximum number of configured servers that are used. The C library uses three.
const SERVERS_MAX: usize = 4;

/// Resolver over one or more DNS servers. Cheap to clone; clones share their caches.
#[derive(Clone)]
pub struct Resolver {
    lookups: Arc<Lookups>,
    hosts_file: Option<Arc<Hosts>>,
}

impl Resolver {
    /// Creates a resolver over the servers of the system configuration. Ignores its search list and options, because
    /// mail domains are complete names.
    ///
    /// # Errors
    ///
    /// Returns [`DnsError`] if the configuration cannot be read or contains no server.
    pub fn system() -> Result<Self, DnsError> {
        let (config, _) = read_system_conf().map_err(|error| DnsError::SystemConfig(error.to_string()))?;
        let timings = LookupTimings::default();
        let upstreams = config.name_servers.into_iter().take(SERVERS_MAX).map(|server| Upstream::new(server, &timings));
        // A missing hosts file is not an error.
        Self::from_upstreams(upstreams.collect::<Result<_, _>>()?, &timings, Hosts::from_system().ok())
    }

    /// Creates a resolver over `servers`, preferred in this order. Does not read the hosts file.
    ///
    /// # Errors
    ///
    /// Returns [`DnsError::NoServers`] if `servers` is empty.
    pub fn with_servers(servers: &[SocketAddr]) -> Result<Self, DnsError> {
        Self::with_timings(servers, &LookupTimings::default())
    }

    /// Creates a resolver over `servers` with these timings. Does not read the hosts file.
    ///
    /// # Errors
    ///
    /// Returns [`DnsError::NoServers`] if `servers` is empty.
    pub fn with_timings(servers: &[SocketAddr], timings: &LookupTimings) -> Result<Self, DnsError> {
        let upstreams = servers.iter().take(SERVERS_MAX).map(|server| Upstream::new(server_at(*server), timings));
        Self::from_upstreams(upstreams.collect::<Result<_, _>>()?, timings, None)
    }

    fn from_upstreams(
        upstreams: Vec<Upstream>,
        timings: &LookupTimings,
        hosts_file: Option<Hosts>,
    ) -> Result<Self, DnsError> {
        Ok(Self { lookups: Arc::new(Lookups::new(upstreams, timings)?), hosts_file: hosts_file.map(Arc::new) })
    }

    /// Returns the TXT records of `name`, each joined from its strings. Bypasses the cache, because record checks must
    /// see recent changes.
    ///
    /// # Errors
    ///
    /// Returns [`LookupError`].
    pub async fn txt(&self, name: &str) -> Result<Vec<String>, LookupError> {
        let records = self.lookups.records(name, RecordType::TXT, CacheMode::Bypass).await?;
        Ok(records
            .iter()
            .filter_map(|record| match record {
                RData::TXT(txt) => Some(String::from_utf8_lossy(&txt.txt_data.concat()).into_owned()),
                _ => None,
            })
            .collect())
    }

    /// Returns the MX records of `name` as preference and exchange. The exchange is in lowercase without its final dot,
    /// or `.` for the root. Bypasses the cache.
    ///
    /// # Errors
    ///
    /// Returns [`LookupError`].
    pub async fn mx(&self, name: &str) -> Result<Vec<(u16, String)>, LookupError> {
        self.mx_records(name, CacheMode::Bypass).await
    }

    /// Returns the target of the CNAME record of `name`, in lowercase without its final dot. Bypasses the cache.
    ///
    /// # Errors
    ///
    /// Returns [`LookupError`].
    pub async fn cname(&self, name: &str) -> Result<String, LookupError> {
        let records = self.lookups.records(name, RecordType::CNAME, CacheMode::Bypass).await?;
        let target = records.iter().find_map(|record| match record {
            RData::CNAME(target) => Some(to_text(&target.0)),
            _ => None,
        });
        target.ok_or(LookupError::NoRecords)
    }

    /// Returns the names in the PTR records of `ip`. Bypasses the cache.
    ///
    /// # Errors
    ///
    /// Returns [`LookupError`].
    pub async fn ptr(&self, ip: IpAddr) -> Result<Vec<String>, LookupError> {
        let records = self.lookups.records(&Name::from(ip).to_ascii(), RecordType::PTR, CacheMode::Bypass).await?;
        Ok(records
            .iter()
            .filter_map(|record| match record {
                RData::PTR(name) => Some(to_text(&name.0)),
                _ => None,
            })
            .collect())
    }

    /// Returns the addresses of `host`, IPv4 before IPv6. `host` can be an address literal; a name is looked up in the
    /// hosts file of the system and then in the DNS. The [guard](super::Guard) has not checked the addresses.
    ///
    /// # Errors
    ///
    /// Returns [`LookupError`].
    pub async fn addresses(&self, host: &str, now_ms: i64) -> Result<Vec<IpAddr>, LookupError> {
        self.host_addresses(host, CacheMode::Use { now_ms }).await
    }

    /// Returns the same addresses as [`Resolver::addresses`]. Bypasses the caches of answers and failures.
    ///
    /// # Errors
    ///
    /// Returns [`LookupError`].
    pub async fn fresh_addresses(&self, host: &str) -> Result<Vec<IpAddr>, LookupError> {
        self.host_addresses(host, CacheMode::Bypass).await
    }

    async fn host_addresses(&self, host: &str, cache_mode: CacheMode) -> Result<Vec<IpAddr>, LookupError> {
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if let Ok(ip) = bare.parse() {
            return Ok(vec![ip]);
        }
        if let Some(addresses) = self.hosts_file_addresses(host) {
            return Ok(addresses);
        }
        self.both_families(host, cache_mode).await
    }

    /// Returns whether no server has responded to the last lookups, of several domains, or to any lookup since the
    /// start.
    pub fn is_silent(&self) -> bool {
        self.lookups.is_silent()
    }

    /// Returns whether a server has responded since the start.
    pub fn has_responded(&self) -> bool {
        self.lookups.has_responded()
    }

    /// Returns the addresses of `host` in the DNS, IPv4 before IPv6. Uses the cache. Does not read the hosts file, so
    /// that a customer URL cannot use its names. The [guard](super::Guard) has not checked the addresses.
    ///
    /// # Errors
    ///
    /// Returns [`LookupError`].
    pub async fn dns_addresses(&self, host: &str, now_ms: i64) -> Result<Vec<IpAddr>, LookupError> {
        self.both_families(host, CacheMode::Use { now_ms }).await
    }

    /// Returns the published addresses of `host`, IPv4 before IPv6. Bypasses the cache and does not read the hosts
    /// file, so the result is the same as on other hosts of the Internet.
    ///
    /// # Errors
    ///
    /// Returns [`LookupError`].
    pub async fn published_addresses(&self, host: &str) -> Result<Vec<IpAddr>, LookupError> {
        self.both_families(host, CacheMode::Bypass).await
    }

    pub(super) async fn mx_records(
        &self,
        name: &str,
        cache_mode: CacheMode,
    ) -> Result<Vec<(u16, String)>, LookupError> {
        let records = self.lookups.records(name, RecordType::MX, cache_mode).await?;
        Ok(records
            .iter()
            .filter_map(|record| match record {
                RData::MX(mx) => Some((mx.preference, to_text(&mx.exchange))),
                _ => None,
            })
            .collect())
    }

    pub(super) async fn both_families(&self, host: &str, cache_mode: CacheMode) -> Result<Vec<IpAddr>, LookupError> {
        let (v4, v6) = tokio::join!(
            self.lookups.records(host, RecordType::A, cache_mode),
            self.lookups.records(host, RecordType::AAAA, cache_mode)
        );
        join_families(v4, v6)
    }

    fn hosts_file_addresses(&self, host: &str) -> Option<Vec<IpAddr>> {
        let hosts = self.hosts_file.as_ref()?;
        let name = complete(&host::normalize(host)?).ok()?;
        let addresses: Vec<IpAddr> = [RecordType::A, RecordType::AAAA]
            .into_iter()
            .filter_map(|kind| hosts.lookup_static_host(&Query::query(name.clone(), kind)))
            .flat_map(|lookup| lookup.answers().iter().filter_map(|record| record.data.ip_addr()).collect::<Vec<_>>())
            .collect();
        (!addresses.is_empty()).then_some(addresses)
    }
}

/// Joins the results of the two address lookups. One family with addresses is sufficient. Without any address, a failed
/// lookup outranks an empty one.
fn join_families(
    v4: Result<Vec<RData>, LookupError>,
    v6: Result<Vec<RData>, LookupError>,
) -> Result<Vec<IpAddr>, LookupError> {
    let error = match (&v4, &v6) {
        (Err(LookupError::Temporary(reason)), _) | (_, Err(LookupError::Temporary(reason))) => {
            LookupError::Temporary(reason.clone())
        }
        (Err(LookupError::NoSuchName), Err(LookupError::NoSuchName)) => LookupError::NoSuchName,
        _ => LookupError::NoRecords,
    };
    let records = [v4, v6].into_iter().flatten().flatten();
    let addresses: Vec<IpAddr> = records.filter_map(|record| record.ip_addr()).collect();
    if addresses.is_empty() { Err(error) } else { Ok(addresses) }
}

/// Returns a name of an answer in lowercase without the final dot. Unusual octets stay escaped. No normalized name
/// contains escapes.
fn to_text(name: &Name) -> String {
    if name.is_root() {
        return ROOT.to_owned();
    }
    let mut text = name.to_ascii().to_ascii_lowercase();
    if text.ends_with('.') {
        text.pop();
    }
    text
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolver").field("servers", &self.lookups.server_count()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hickory_resolver::proto::rr::rdata::A;

    #[test]
    fn one_family_is_sufficient_and_a_failure_outranks_an_empty_answer() {
        let found = || Ok(vec![RData::A(A::new(192, 0, 2, 1))]);
        let failed = || Err(LookupError::Temporary("SERVFAIL".to_owned()));
        let address: IpAddr = [192, 0, 2, 1].into();

        assert_eq!(join_families(found(), failed()), Ok(vec![address]));
        assert_eq!(join_families(failed(), found()), Ok(vec![address]));
        assert_eq!(
            join_families(Err(LookupError::NoRecords), failed()),
            Err(LookupError::Temporary("SERVFAIL".to_owned()))
        );
        assert_eq!(
            join_families(Err(LookupError::NoSuchName), Err(LookupError::NoSuchName)),
            Err(LookupError::NoSuchName)
        );
        assert_eq!(
            join_families(Err(LookupError::NoRecords), Err(LookupError::NoSuchName)),
            Err(LookupError::NoRecords)
        );
    }

    #[test]
    fn a_resolver_needs_a_server() {
        assert_eq!(Resolver::with_servers(&[]).err(), Some(DnsError::NoServers));
    }

    #[tokio::test]
    async fn the_system_resolver_resolves_localhost_without_the_dns() {
        // Without a DNS configuration of the system, there is no resolver to test.
        let Ok(resolver) = Resolver::system() else {
            return;
        };
        let addresses = resolver.addresses("localhost", 0).await.unwrap();
        assert!(addresses.iter().all(IpAddr::is_loopback), "{addresses:?}");
    }

    #[test]
    fn names_of_answers_are_lowercase_and_unusual_octets_stay_escaped() {
        assert_eq!(to_text(&Name::root()), ".");
        assert_eq!(to_text(&Name::from_ascii("MX.Example.COM.").unwrap()), "mx.example.com");
        let odd = Name::from_labels([b"a.b".as_slice(), b"example"]).unwrap();
        assert_eq!(host::normalize(&to_text(&odd)), None);
    }
}
