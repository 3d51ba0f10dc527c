//! One lookup: which server is asked, how often, and what is remembered of questions that failed.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hickory_resolver::proto::rr::{Name, RData, RecordType};
use tokio::sync::Semaphore;

use super::error::{DnsError, LookupError};
use super::failures::{FailureCache, Question};
use super::host;
use super::upstream::{Miss, Upstream};

/// Questions under way at once; more wait, and give up after one timeout. Enough for every
/// delivery session to ask, and a bound on sockets.
pub(super) const IN_FLIGHT_MAX: usize = 256;

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
pub(super) enum CacheMode {
    Use { now_ms: i64 },
    Bypass,
}

/// The servers that are asked, and the questions under way.
pub(super) struct Lookups {
    upstreams: Vec<Upstream>,
    /// The server asked first. It moves on when a server is silent, so that a dead one costs one
    /// timeout and not one for each lookup.
    preferred: AtomicUsize,
    tries: usize,
    timeout: Duration,
    failures: Mutex<FailureCache>,
    permits: Semaphore,
}

impl Lookups {
    /// Asks these servers, in this order.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn over(upstreams: Vec<Upstream>, timings: &Timings) -> Result<Self, DnsError> {
        if upstreams.is_empty() {
            return Err(DnsError::NoServers);
        }
        Ok(Self {
            upstreams,
            preferred: AtomicUsize::new(0),
            tries: timings.tries.max(1),
            timeout: timings.timeout,
            failures: Mutex::new(FailureCache::default()),
            permits: Semaphore::new(IN_FLIGHT_MAX),
        })
    }

    /// Returns how many servers there are.
    pub(super) fn servers(&self) -> usize {
        self.upstreams.len()
    }

    /// Returns the records of a name.
    ///
    /// # Errors
    /// [`LookupError`].
    pub(super) async fn records(
        &self,
        name: &str,
        kind: RecordType,
        memory: CacheMode,
    ) -> Result<Vec<RData>, LookupError> {
        let name = host::normalize(name).ok_or(LookupError::NoSuchName)?;
        let question: Question = (name, kind);
        let CacheMode::Use { now_ms } = memory else {
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
    async fn ask(&self, (name, kind): &Question, memory: CacheMode) -> Result<Vec<RData>, Miss> {
        let name = complete(name).map_err(|_| Miss::NoSuchName)?;
        let Ok(Ok(_permit)) = tokio::time::timeout(self.timeout, self.permits.acquire()).await else {
            return Err(Miss::Overloaded);
        };
        let mut last = Miss::Overloaded;
        // How many servers said something useless about this name; the next in line may know.
        let mut passed_over = 0;
        for _ in 0..self.tries {
            let at = self.preferred.load(Ordering::Relaxed);
            let upstream = &self.upstreams[(at + passed_over) % self.upstreams.len()];
            match upstream.ask(&name, *kind, memory).await {
                Err(Miss::Silent(reason)) => {
                    let next = (at + 1) % self.upstreams.len();
                    // Whoever comes second leaves the first one's step alone.
                    let _ = self.preferred.compare_exchange(at, next, Ordering::Relaxed, Ordering::Relaxed);
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
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
pub(super) fn complete(name: &str) -> Result<Name, hickory_resolver::proto::ProtoError> {
    let mut name = Name::from_ascii(name)?;
    name.set_fqdn(true);
    Ok(name)
}
