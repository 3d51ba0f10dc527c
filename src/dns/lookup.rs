//! One lookup over several DNS servers: choice of the server, retries, and the cache of failed questions.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use hickory_resolver::proto::rr::{Name, RData, RecordType};
use tokio::sync::Semaphore;

use super::error::{DnsError, LookupError};
use super::failures::{FailureCache, Question};
use super::host;
use super::site::registrable;
use super::upstream::{QueryError, Upstream};
use crate::base::sync;

/// Maximum number of queries in flight. A further query waits for at most one timeout and then fails. The bound
/// limits sockets and is high enough for a query by every delivery session.
pub(super) const IN_FLIGHT_MAX: usize = 256;

/// Registrable domains in a row without any response that show that no server responds. The servers of one domain
/// can be slow themselves. Before the first response since the start, one domain is enough.
const SILENT_MIN: usize = 3;

/// Timeout, retries and cache lifetimes of a resolver.
#[derive(Clone, Debug)]
pub struct LookupTimings {
    /// Timeout of one try.
    pub timeout: Duration,
    /// Number of tries of one lookup. A retry uses the next server, if there is one.
    pub tries: usize,
    /// Bounds on the cache lifetime of records.
    pub positive_ttl: RangeInclusive<Duration>,
    /// Bounds on the cache lifetime of "no such name" and "no such record".
    pub negative_ttl: RangeInclusive<Duration>,
}

impl Default for LookupTimings {
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

/// Whether a lookup reads and writes the caches of answers and failures. `now_ms` decides which failures still count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CacheMode {
    Use { now_ms: i64 },
    Bypass,
}

/// The DNS servers, with the limit on queries in flight and the cache of failures.
pub(super) struct Lookups {
    upstreams: Vec<Upstream>,
    /// Index of the server for the first try. Advances when a server does not respond, so that an unreachable server
    /// costs one timeout and not one for each lookup.
    preferred: AtomicUsize,
    tries: usize,
    timeout: Duration,
    /// Registrable domains of the lookups without any response since the last response, at most [`SILENT_MIN`].
    unanswered: Mutex<BTreeSet<String>>,
    /// Whether a server has responded since the start.
    has_responded: AtomicBool,
    failures: Mutex<FailureCache>,
    permits: Semaphore,
}

impl Lookups {
    /// Creates lookups over these servers. The first one is preferred initially.
    ///
    /// # Errors
    /// Returns [`DnsError::NoServers`] if `upstreams` is empty.
    pub(super) fn new(upstreams: Vec<Upstream>, timings: &LookupTimings) -> Result<Self, DnsError> {
        if upstreams.is_empty() {
            return Err(DnsError::NoServers);
        }
        Ok(Self {
            upstreams,
            preferred: AtomicUsize::new(0),
            tries: timings.tries.max(1),
            timeout: timings.timeout,
            unanswered: Mutex::default(),
            has_responded: AtomicBool::new(false),
            failures: Mutex::new(FailureCache::default()),
            permits: Semaphore::new(IN_FLIGHT_MAX),
        })
    }

    /// Returns whether no server has responded to the last lookups, of several domains, or to any lookup.
    pub(super) fn is_silent(&self) -> bool {
        let domains_min = if self.has_responded() { SILENT_MIN } else { 1 };
        sync::lock(&self.unanswered).len() >= domains_min
    }

    /// Returns whether a server has responded since the start.
    pub(super) fn has_responded(&self) -> bool {
        self.has_responded.load(Ordering::Relaxed)
    }

    pub(super) fn server_count(&self) -> usize {
        self.upstreams.len()
    }

    /// Returns the records of one type at a name.
    ///
    /// # Errors
    /// Returns [`LookupError`]. A name that is not valid does not exist.
    pub(super) async fn records(
        &self,
        name: &str,
        kind: RecordType,
        cache_mode: CacheMode,
    ) -> Result<Vec<RData>, LookupError> {
        let name = host::normalize(name).ok_or(LookupError::NoSuchName)?;
        let question: Question = (name, kind);
        let CacheMode::Use { now_ms } = cache_mode else {
            let answer = self.query(&question, cache_mode).await;
            if answer.is_ok() {
                self.failures().remove(&question);
            }
            return answer.map_err(|error| describe(&question, error));
        };

        if let Some(reason) = self.failures().reason(&question, now_ms) {
            return Err(LookupError::Temporary(format!("{reason}, a moment ago")));
        }
        // The window of a failure starts at the end of the query. The caller passes only its start.
        let began = tokio::time::Instant::now();
        let answer = self.query(&question, cache_mode).await;
        let ended_ms = now_ms.saturating_add(i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX));
        match answer {
            Ok(records) => {
                self.failures().remove(&question);
                Ok(records)
            }
            Err(error) => {
                let overloaded = error == QueryError::Overloaded;
                let error = describe(&question, error);
                match &error {
                    LookupError::Temporary(_) if overloaded => {}
                    LookupError::Temporary(reason) => {
                        self.failures().record(question, now_ms, ended_ms, reason.clone());
                    }
                    LookupError::NoSuchName | LookupError::NoRecords => self.failures().remove(&question),
                }
                Err(error)
            }
        }
    }

    /// Queries the servers until one returns a conclusive answer or no try is left.
    async fn query(&self, (domain, kind): &Question, cache_mode: CacheMode) -> Result<Vec<RData>, QueryError> {
        let name = complete(domain).map_err(|_| QueryError::NoSuchName)?;
        let Ok(Ok(_permit)) = tokio::time::timeout(self.timeout, self.permits.acquire()).await else {
            return Err(QueryError::Overloaded);
        };
        let mut last = QueryError::Overloaded;
        // Number of servers that returned an unusable answer. The next server may have a usable one.
        let mut skipped = 0;
        let mut has_response = false;
        for _ in 0..self.tries {
            let at = self.preferred.load(Ordering::Relaxed);
            let upstream = &self.upstreams[(at + skipped) % self.upstreams.len()];
            let answer = upstream.query(&name, *kind, cache_mode).await;
            self.record_response(&answer);
            match answer {
                Err(QueryError::NoResponse(reason)) => {
                    let next = (at + 1) % self.upstreams.len();
                    // If a concurrent lookup has already advanced the index, it stays unchanged.
                    let _ = self.preferred.compare_exchange(at, next, Ordering::Relaxed, Ordering::Relaxed);
                    last = QueryError::NoResponse(reason);
                }
                Err(error @ QueryError::Unusable(_)) => {
                    skipped += 1;
                    has_response = true;
                    last = error;
                }
                answer => return answer,
            }
        }
        if !has_response && matches!(last, QueryError::NoResponse(_)) {
            self.record_silence(domain);
        }
        Err(last)
    }

    /// Records the response of a server, if the answer is one.
    fn record_response(&self, answer: &Result<Vec<RData>, QueryError>) {
        match answer {
            // No server has responded, or no query was sent.
            Err(QueryError::NoResponse(_) | QueryError::Overloaded) => {}
            Ok(_) | Err(QueryError::NoSuchName | QueryError::NoRecords | QueryError::Unusable(_)) => {
                self.has_responded.store(true, Ordering::Relaxed);
                sync::lock(&self.unanswered).clear();
            }
        }
    }

    /// Records a lookup that no server has responded to.
    fn record_silence(&self, domain: &str) {
        let mut unanswered = sync::lock(&self.unanswered);
        if unanswered.len() < SILENT_MIN {
            unanswered.insert(registrable(domain).to_owned());
        }
    }

    fn failures(&self) -> MutexGuard<'_, FailureCache> {
        // No statement leaves the map in an inconsistent state, so poisoning can be ignored.
        sync::lock(&self.failures)
    }
}

fn describe((name, kind): &Question, error: QueryError) -> LookupError {
    match error {
        QueryError::NoSuchName => LookupError::NoSuchName,
        QueryError::NoRecords => LookupError::NoRecords,
        QueryError::Unusable(reason) | QueryError::NoResponse(reason) => {
            LookupError::Temporary(format!("{kind} {name}: {reason}"))
        }
        QueryError::Overloaded => LookupError::Temporary(format!("{kind} {name}: too many lookups at once")),
    }
}

/// Converts a normalized name to a fully qualified one, so that no search list applies.
pub(super) fn complete(name: &str) -> Result<Name, hickory_resolver::proto::ProtoError> {
    let mut name = Name::from_ascii(name)?;
    name.set_fqdn(true);
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dns::upstream::server_at;

    #[tokio::test]
    async fn servers_are_silent_after_one_domain_at_the_start_and_after_three_later() {
        let timings = LookupTimings::default();
        let server = server_at("127.0.0.1:9".parse().unwrap());
        let lookups = Lookups::new(vec![Upstream::new(server, &timings).unwrap()], &timings).unwrap();
        assert!(!lookups.is_silent());
        lookups.record_silence("mail.one.example");
        assert!(lookups.is_silent() && !lookups.has_responded());

        lookups.record_response(&Err(QueryError::NoRecords));

        assert!(lookups.has_responded() && !lookups.is_silent());
        for (host, is_silent) in [
            ("mail.one.example", false),
            ("other.one.example", false),
            ("third.one.example", false),
            ("mail.two.example", false),
            ("mail.three.example", true),
        ] {
            lookups.record_silence(host);
            assert_eq!(lookups.is_silent(), is_silent, "{host}");
        }
    }
}
