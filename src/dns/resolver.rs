//! The questions the program asks of the DNS.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use hickory_resolver::Hosts;
use hickory_resolver::proto::op::Query;
use hickory_resolver::proto::rr::{Name, RData, RecordType};
use hickory_resolver::system_conf::read_system_conf;

use super::error::{DnsError, LookupError};
use super::host;
use super::lookup::{CacheMode, Lookups, Timings, complete};
use super::mx::ROOT;
use super::upstream::{Upstream, server_at};

/// Servers used of those configured; the C library stops at three.
const SERVERS_MAX: usize = 4;

/// Resolves names over one or more DNS servers. Cheap to clone; clones share their memory.
#[derive(Clone)]
pub struct Resolver {
    lookups: Arc<Lookups>,
    hosts_file: Option<Arc<Hosts>>,
}

impl Resolver {
    /// Makes a resolver over the servers in the system's configuration. Its search list and
    /// options are ignored: mail domains are complete names.
    ///
    /// # Errors
    ///
    /// When the configuration cannot be read or names no server.
    pub fn system() -> Result<Self, DnsError> {
        let (config, _) = read_system_conf().map_err(|error| DnsError::SystemConfig(error.to_string()))?;
        let timings = Timings::default();
        let upstreams = config.name_servers.into_iter().take(SERVERS_MAX).map(|server| Upstream::new(server, &timings));
        // A machine without a hosts file is no failure.
        Self::over(upstreams.collect::<Result<_, _>>()?, &timings, Hosts::from_system().ok())
    }

    /// Makes a resolver over `servers`, asked in this order. The hosts file is not read.
    ///
    /// # Errors
    ///
    /// When `servers` is empty.
    pub fn with_servers(servers: &[SocketAddr]) -> Result<Self, DnsError> {
        Self::with_timings(servers, &Timings::default())
    }

    /// Makes a resolver over `servers` with other timings than the default ones.
    ///
    /// # Errors
    ///
    /// When `servers` is empty.
    pub fn with_timings(servers: &[SocketAddr], timings: &Timings) -> Result<Self, DnsError> {
        let upstreams = servers.iter().take(SERVERS_MAX).map(|server| Upstream::new(server_at(*server), timings));
        Self::over(upstreams.collect::<Result<_, _>>()?, timings, None)
    }

    fn over(upstreams: Vec<Upstream>, timings: &Timings, hosts_file: Option<Hosts>) -> Result<Self, DnsError> {
        Ok(Self { lookups: Arc::new(Lookups::over(upstreams, timings)?), hosts_file: hosts_file.map(Arc::new) })
    }

    /// Returns the TXT records of `name`, each joined from its strings. Asks afresh: this is for
    /// checks of records that somebody may have changed a moment ago.
    ///
    /// # Errors
    ///
    /// [`LookupError`].
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

    /// Returns the MX records of `name` as preference and exchange, the exchange in lowercase
    /// without its final dot, or `.` for the root. Asks afresh.
    ///
    /// # Errors
    ///
    /// [`LookupError`].
    pub async fn mx(&self, name: &str) -> Result<Vec<(u16, String)>, LookupError> {
        self.mx_records(name, CacheMode::Bypass).await
    }

    /// Returns the target of the alias at `name`, in lowercase without its final dot. Asks afresh.
    ///
    /// # Errors
    ///
    /// [`LookupError`].
    pub async fn cname(&self, name: &str) -> Result<String, LookupError> {
        let records = self.lookups.records(name, RecordType::CNAME, CacheMode::Bypass).await?;
        let target = records.iter().find_map(|record| match record {
            RData::CNAME(target) => Some(to_text(&target.0)),
            _ => None,
        });
        target.ok_or(LookupError::NoRecords)
    }

    /// Returns the names that `ip` points back to. Asks afresh.
    ///
    /// # Errors
    ///
    /// [`LookupError`].
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

    /// Returns the addresses of `host`, IPv4 before IPv6: an address in itself, or from the
    /// system's hosts file, or from the DNS. For hosts that an operator or a customer named;
    /// nothing has passed the [guard](super::Guard) yet.
    ///
    /// # Errors
    ///
    /// [`LookupError`].
    pub async fn addresses(&self, host: &str, now_ms: i64) -> Result<Vec<IpAddr>, LookupError> {
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if let Ok(ip) = bare.parse() {
            return Ok(vec![ip]);
        }
        if let Some(addresses) = self.hosts_file_addresses(host) {
            return Ok(addresses);
        }
        self.both_families(host, CacheMode::Use { now_ms }).await
    }

    /// Returns the addresses that the DNS gives for `host`, IPv4 before IPv6, remembered answers
    /// among them. Never reads the hosts file: a stranger's URL learns nothing of this machine's
    /// neighbours. Nothing has passed the [guard](super::Guard) yet.
    ///
    /// # Errors
    ///
    /// [`LookupError`].
    pub async fn dns_addresses(&self, host: &str, now_ms: i64) -> Result<Vec<IpAddr>, LookupError> {
        self.both_families(host, CacheMode::Use { now_ms }).await
    }

    /// Returns the addresses that the DNS gives for `host`, IPv4 before IPv6. Asks afresh, and
    /// never reads the hosts file: this is what the rest of the world sees.
    ///
    /// # Errors
    ///
    /// [`LookupError`].
    pub async fn published_addresses(&self, host: &str) -> Result<Vec<IpAddr>, LookupError> {
        self.both_families(host, CacheMode::Bypass).await
    }

    pub(super) async fn mx_records(&self, name: &str, memory: CacheMode) -> Result<Vec<(u16, String)>, LookupError> {
        let records = self.lookups.records(name, RecordType::MX, memory).await?;
        Ok(records
            .iter()
            .filter_map(|record| match record {
                RData::MX(mx) => Some((mx.preference, to_text(&mx.exchange))),
                _ => None,
            })
            .collect())
    }

    pub(super) async fn both_families(&self, host: &str, memory: CacheMode) -> Result<Vec<IpAddr>, LookupError> {
        let (v4, v6) = tokio::join!(
            self.lookups.records(host, RecordType::A, memory),
            self.lookups.records(host, RecordType::AAAA, memory)
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

/// Joins what the two address lookups brought. One family that is found is an answer; without
/// one, a failed lookup outweighs an empty one.
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

/// Writes a name from an answer in lowercase without the final dot. Odd octets come out escaped,
/// which no normalized name holds.
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
        f.debug_struct("Resolver").field("servers", &self.lookups.servers()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hickory_resolver::proto::rr::rdata::A;

    #[test]
    fn one_family_is_enough_and_a_failure_outweighs_an_empty_answer() {
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
    async fn the_system_resolver_knows_this_machine_without_asking_anybody() {
        // A machine without a resolver configuration says so, and there is nothing to ask.
        let Ok(resolver) = Resolver::system() else {
            return;
        };
        let addresses = resolver.addresses("localhost", 0).await.unwrap();
        assert!(addresses.iter().all(IpAddr::is_loopback), "{addresses:?}");
    }

    #[test]
    fn names_from_answers_are_lowercase_and_odd_octets_stay_escaped() {
        assert_eq!(to_text(&Name::root()), ".");
        assert_eq!(to_text(&Name::from_ascii("MX.Example.COM.").unwrap()), "mx.example.com");
        let odd = Name::from_labels([b"a.b".as_slice(), b"example"]).unwrap();
        assert_eq!(host::normalize(&to_text(&odd)), None);
    }
}
