//! The questions the program asks of the DNS, and what it remembers of the answers.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hickory_resolver::Hosts;
use hickory_resolver::proto::op::Query;
use hickory_resolver::proto::rr::{Name, RData, RecordType};
use hickory_resolver::system_conf::read_system_conf;
use tokio::sync::Semaphore;

use super::error::{DnsError, LookupError};
use super::failures::{FailureCache, Question};
use super::host;
use super::mx::ROOT;
use super::upstream::{Miss, Upstream, server_at};

/// Questions under way at once; more wait, and give up after one timeout. Enough for every
/// delivery session to ask, and a bound on sockets.
pub(super) const IN_FLIGHT_MAX: usize = 256;
/// Servers used of those configured; the C library stops at three.
const SERVERS_MAX: usize = 4;

/// Resolves names over one or more DNS servers. Cheap to clone; clones share their memory.
#[derive(Clone)]
pub struct Resolver {
    shared: Arc<Shared>,
}

struct Shared {
    upstreams: Vec<Upstream>,
    /// The server asked first. It moves on when a server is silent, so that a dead one costs one
    /// timeout and not one for each lookup.
    preferred: AtomicUsize,
    tries: usize,
    timeout: Duration,
    failures: Mutex<FailureCache>,
    permits: Semaphore,
    hosts_file: Option<Hosts>,
}

/// How long to wait, and how long to remember.
#[derive(Clone, Debug)]
pub struct Timings {
    /// For one try of one lookup.
    pub timeout: Duration,
    /// Tries of one lookup, each at the next server when there is one.
    pub tries: usize,
    /// Bounds on the lifetime of answers.
    pub positive_ttl: RangeInclusive<Duration>,
    /// Bounds on the lifetime of "no such name" and "no such record".
    pub negative_ttl: RangeInclusive<Duration>,
}

impl Default for Timings {
    fn default() -> Self {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        Self {
            timeout: Duration::from_secs(5),
            tries: 2,
            positive_ttl: minutes(1)..=minutes(24 * 60),
            negative_ttl: minutes(1)..=minutes(60),
        }
    }
}

/// Whether a lookup may use what is remembered, and may be remembered itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    Use { now_ms: i64 },
    Skip,
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
        if upstreams.is_empty() {
            return Err(DnsError::NoServers);
        }
        Ok(Self {
            shared: Arc::new(Shared {
                upstreams,
                preferred: AtomicUsize::new(0),
                tries: timings.tries.max(1),
                timeout: timings.timeout,
                failures: Mutex::new(FailureCache::default()),
                permits: Semaphore::new(IN_FLIGHT_MAX),
                hosts_file,
            }),
        })
    }

    /// Returns the TXT records of `name`, each joined from its strings. Asks afresh: this is for
    /// checks of records that somebody may have changed a moment ago.
    ///
    /// # Errors
    ///
    /// [`LookupError`].
    pub async fn txt(&self, name: &str) -> Result<Vec<String>, LookupError> {
        let records = self.lookup(name, RecordType::TXT, Memory::Skip).await?;
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
        self.mx_records(name, Memory::Skip).await
    }

    /// Returns the target of the alias at `name`, in lowercase without its final dot. Asks afresh.
    ///
    /// # Errors
    ///
    /// [`LookupError`].
    pub async fn cname(&self, name: &str) -> Result<String, LookupError> {
        let records = self.lookup(name, RecordType::CNAME, Memory::Skip).await?;
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
        let records = self.lookup(&Name::from(ip).to_ascii(), RecordType::PTR, Memory::Skip).await?;
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
        self.both_families(host, Memory::Use { now_ms }).await
    }

    /// Returns the addresses that the DNS gives for `host`, IPv4 before IPv6. Asks afresh, and
    /// never reads the hosts file: this is what the rest of the world sees.
    ///
    /// # Errors
    ///
    /// [`LookupError`].
    pub async fn published_addresses(&self, host: &str) -> Result<Vec<IpAddr>, LookupError> {
        self.both_families(host, Memory::Skip).await
    }

    pub(super) async fn mx_records(&self, name: &str, memory: Memory) -> Result<Vec<(u16, String)>, LookupError> {
        let records = self.lookup(name, RecordType::MX, memory).await?;
        Ok(records
            .iter()
            .filter_map(|record| match record {
                RData::MX(mx) => Some((mx.preference, to_text(&mx.exchange))),
                _ => None,
            })
            .collect())
    }

    pub(super) async fn both_families(&self, host: &str, memory: Memory) -> Result<Vec<IpAddr>, LookupError> {
        let (v4, v6) =
            tokio::join!(self.lookup(host, RecordType::A, memory), self.lookup(host, RecordType::AAAA, memory));
        join_families(v4, v6)
    }

    fn hosts_file_addresses(&self, host: &str) -> Option<Vec<IpAddr>> {
        let hosts = self.shared.hosts_file.as_ref()?;
        let name = complete(&host::normalize(host)?).ok()?;
        let addresses: Vec<IpAddr> = [RecordType::A, RecordType::AAAA]
            .into_iter()
            .filter_map(|kind| hosts.lookup_static_host(&Query::query(name.clone(), kind)))
            .flat_map(|lookup| lookup.answers().iter().filter_map(|record| record.data.ip_addr()).collect::<Vec<_>>())
            .collect();
        (!addresses.is_empty()).then_some(addresses)
    }

    async fn lookup(&self, name: &str, kind: RecordType, memory: Memory) -> Result<Vec<RData>, LookupError> {
        let name = host::normalize(name).ok_or(LookupError::NoSuchName)?;
        let question: Question = (name, kind);
        let Memory::Use { now_ms } = memory else {
            return self.ask(&question, memory).await.map_err(|miss| describe(&question, miss));
        };

        if let Some(reason) = self.failures().reason(&question, now_ms) {
            return Err(LookupError::Temporary(format!("{reason}, a moment ago")));
        }
        // A duration, not a date: when the failure is known the window starts.
        let began = tokio::time::Instant::now();
        let answer = self.ask(&question, memory).await;
        let ended_ms = now_ms.saturating_add(i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX));
        match answer {
            Ok(records) => {
                self.failures().forget(&question);
                Ok(records)
            }
            Err(miss) => {
                let overloaded = miss == Miss::Overloaded;
                let error = describe(&question, miss);
                match &error {
                    LookupError::Temporary(_) if overloaded => {}
                    LookupError::Temporary(reason) => {
                        self.failures().record(question, now_ms, ended_ms, reason.clone());
                    }
                    LookupError::NoSuchName | LookupError::NoRecords => self.failures().forget(&question),
                }
                Err(error)
            }
        }
    }

    /// Asks one server after the other until one says something final.
    async fn ask(&self, (name, kind): &Question, memory: Memory) -> Result<Vec<RData>, Miss> {
        let name = complete(name).map_err(|_| Miss::NoSuchName)?;
        let shared = &*self.shared;
        let Ok(Ok(_permit)) = tokio::time::timeout(shared.timeout, shared.permits.acquire()).await else {
            return Err(Miss::Overloaded);
        };
        let mut last = Miss::Overloaded;
        // How many servers said something useless about this name; the next in line may know.
        let mut passed_over = 0;
        for _ in 0..shared.tries {
            let at = shared.preferred.load(Ordering::Relaxed);
            let upstream = &shared.upstreams[(at + passed_over) % shared.upstreams.len()];
            match upstream.ask(&name, *kind, memory).await {
                Err(Miss::Silent(reason)) => {
                    let next = (at + 1) % shared.upstreams.len();
                    // Whoever comes second leaves the first one's step alone.
                    let _ = shared.preferred.compare_exchange(at, next, Ordering::Relaxed, Ordering::Relaxed);
                    last = Miss::Silent(reason);
                }
                Err(miss @ Miss::Unusable(_)) => {
                    passed_over += 1;
                    last = miss;
                }
                answer => return answer,
            }
        }
        Err(last)
    }

    fn failures(&self) -> MutexGuard<'_, FailureCache> {
        // The map is whole between any two statements, so a panic elsewhere does not spoil it.
        self.shared.failures.lock().unwrap_or_else(PoisonError::into_inner)
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

fn describe((name, kind): &Question, miss: Miss) -> LookupError {
    match miss {
        Miss::NoSuchName => LookupError::NoSuchName,
        Miss::NoRecords => LookupError::NoRecords,
        Miss::Unusable(reason) | Miss::Silent(reason) => LookupError::Temporary(format!("{kind} {name}: {reason}")),
        Miss::Overloaded => LookupError::Temporary(format!("{kind} {name}: too many lookups at once")),
    }
}

/// Makes a complete name of a normalized one, so that no search list applies.
fn complete(name: &str) -> Result<Name, hickory_resolver::proto::ProtoError> {
    let mut name = Name::from_ascii(name)?;
    name.set_fqdn(true);
    Ok(name)
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
        f.debug_struct("Resolver").field("servers", &self.shared.upstreams.len()).finish_non_exhaustive()
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
