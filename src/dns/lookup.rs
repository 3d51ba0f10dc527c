//! One lookup over several DNS servers: choice of the server, retries, and the cache of failed questions.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use hickory_resolver::proto::rr::{Name, RData, RecordType};
use tokio::sync::Semaphore;

use super::error::{DnsError, LookupError};
use super::failures::{FailureCache, Question};
use super::host;
use super::upstream::{QueryError, Upstream};
use crate::base::sync;

/// Maximum number of queries in flight. A further query waits for at most one timeout and then fails. The bound
/// limits sockets and is high enough for a query by every delivery session.
pub(super) const IN_FLIGHT_MAX: usize = 256;

/// Lookups in a row without any response that show that no server responds. A single name can be slow itself.
const SILENT_MIN: u32 = 3;

/// Timeout, retries and cache lifetimes of a resolver.
#[derive(Clone, Debug)]
pub struct Timings {
    /// Timeout of one try.
    pub timeout: Duration,
    /// Number of tries of one lookup. A retry uses the next server, if there is one.
    pub tries: usize,
    /// Bounds on the cache lifetime of records.
    pub positive_ttl: RangeInclusive<Duration>,
    /// Bounds on the cache lifetime of "no such name" and "no such record".
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
    /// Whether a server has ever responded.
    has_responded: AtomicBool,
    /// Lookups without any response since the last response.
    unanswered: AtomicU32,
    failures: Mutex<FailureCache>,
    permits: Semaphore,
}

impl Lookups {
    /// Creates lookups over these servers. The first one is preferred initially.
    ///
    /// # Errors
    /// Returns [`DnsError::NoServers`] if `upstreams` is empty.
    pub(super) fn new(upstreams: Vec<Upstream>, timings: &Timings) -> Result<Self, DnsError> {
        if upstreams.is_empty() {
            return Err(DnsError::NoServers);
        }
        Ok(Self {
            upstreams,
            preferred: AtomicUsize::new(0),
            tries: timings.tries.max(1),
            timeout: timings.timeout,
            has_responded: AtomicBool::new(false),
            unanswered: AtomicU32::new(0),
            failures: Mutex::new(FailureCache::default()),
            permits: Semaphore::new(IN_FLIGHT_MAX),
        })
    }

    /// Returns whether no server responds: to none of the last lookups, or to none since the start.
    pub(super) fn is_silent(&self) -> bool {
        let unanswered = self.unanswered.load(Ordering::Relaxed);
        unanswered >= SILENT_MIN || (unanswered > 0 && !self.has_responded.load(Ordering::Relaxed))
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
            return self.query(&question, cache_mode).await.map_err(|error| describe(&question, error));
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
    async fn query(&self, (name, kind): &Question, cache_mode: CacheMode) -> Result<Vec<RData>, QueryError> {
        let name = complete(name).map_err(|_| QueryError::NoSuchName)?;
        let Ok(Ok(_permit)) = tokio::time::timeout(self.timeout, self.permits.acquire()).await else {
            return Err(QueryError::Overloaded);
        };
        let mut last = QueryError::Overloaded;
        // Number of servers that returned an unusable answer. The next server may have a usable one.
        let mut skipped = 0;
        for _ in 0..self.tries {
            let at = self.preferred.load(Ordering::Relaxed);
            let upstream = &self.upstreams[(at + skipped) % self.upstreams.len()];
            match upstream.query(&name, *kind, cache_mode).await {
                Err(QueryError::NoResponse(reason)) => {
                    let next = (at + 1) % self.upstreams.len();
                    // If a concurrent lookup has already advanced the index, it stays unchanged.
                    let _ = self.preferred.compare_exchange(at, next, Ordering::Relaxed, Ordering::Relaxed);
                    last = QueryError::NoResponse(reason);
                }
                Err(error @ QueryError::Unusable(_)) => {
                    skipped += 1;
                    last = error;
                }
                answer => {
                    self.record(&answer);
                    return answer;
                }
            }
        }
        let failed = Err(last);
        self.record(&failed);
        failed
    }

    /// Records whether a server responded to a lookup.
    fn record(&self, answer: &Result<Vec<RData>, QueryError>) {
        match answer {
            Err(QueryError::NoResponse(_)) => {
                self.unanswered.fetch_add(1, Ordering::Relaxed);
            }
            // No query was sent.
            Err(QueryError::Overloaded) => {}
            Ok(_) | Err(QueryError::NoSuchName | QueryError::NoRecords | QueryError::Unusable(_)) => {
                self.has_responded.store(true, Ordering::Relaxed);
                self.unanswered.store(0, Ordering::Relaxed);
            }
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
