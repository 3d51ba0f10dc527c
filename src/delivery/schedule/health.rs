//! The health of receiving hosts: which of them could not be connected to, and until when they are not tried.
//!
//! A connection failure belongs to the host. Other hosts of the same provider are tried. The pauses are stored after each
//! change (`delivery/host_store.rs`).

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use super::Now;
use crate::delivery::routes::RouteKey;
use crate::delivery::rows::HostPauseRow;
use crate::delivery::transport::{MailHost, Servers};

/// Maximum pause of a host or a site.
pub(super) const PAUSE_MAX_MS: i64 = 30 * 60 * 1_000;
/// Time for which the failures of a host are known after the end of its pause, in memory and in the store.
pub(in crate::delivery) const FAILED_KEPT_MS: i64 = 2 * PAUSE_MAX_MS;
/// Maximum time of a probe. Other groups for the host wait for it.
const PROBE_MS: i64 = 15_000;

/// A host that could not be connected to.
#[derive(Debug, Default)]
struct HostHealth {
    /// Number of failures in a row. 0 after an answer: the host is known, so that an older stored pause has no effect.
    failures: u32,
    paused_until_ms: i64,
    /// Whether the pause is that of a probe.
    is_probed: bool,
    /// Whether the host accepted a connection and sent no greeting in time. It gets more time at the next attempt.
    is_slow: bool,
    /// Destinations whose groups wait for this host.
    held: BTreeSet<RouteKey>,
}

/// A changed pause of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::delivery) struct HostChange {
    /// [`MailHost::health_name`].
    pub(in crate::delivery) host: String,
    /// `None` if the host answered.
    pub(in crate::delivery) pause: Option<HostPauseRow>,
}

/// The hosts with failures, by [`MailHost::health_name`].
#[derive(Debug)]
pub(super) struct HostPauses {
    hosts: HashMap<String, HostHealth>,
    /// Hosts whose stored pause differs. The size is at most the number of hosts that failed within the last hours.
    changed: BTreeSet<String>,
    pause_min_ms: i64,
}

impl HostPauses {
    pub(super) fn new(pause_min: Duration) -> Self {
        let pause_min_ms = i64::try_from(pause_min.as_millis()).unwrap_or(PAUSE_MAX_MS);
        Self { hosts: HashMap::new(), changed: BTreeSet::new(), pause_min_ms }
    }

    /// Returns whether the state of a host is in memory, which replaces the stored one.
    pub(super) fn is_known(&self, name: &str) -> bool {
        self.hosts.contains_key(name)
    }

    /// Continues with the stored pause of a host that is not known. Returns the end of the pause, unless it has ended.
    pub(super) fn restore(&mut self, name: &str, pause: &HostPauseRow, now: Now) -> Option<i64> {
        if self.is_known(name) || pause.is_expired(now.wall_ms) {
            return None;
        }
        let left_ms = now.left_ms(pause.until_ms, pause.changed_ms, PAUSE_MAX_MS);
        let paused_until_ms = now.elapsed_ms + left_ms;
        let HostPauseRow { failures, is_slow, .. } = *pause;
        let host = HostHealth { failures: failures.max(1), paused_until_ms, is_slow, ..HostHealth::default() };
        self.hosts.insert(name.to_owned(), host);
        (left_ms > 0).then_some(paused_until_ms)
    }

    /// Returns the pause after a number of failures in a row.
    pub(super) fn pause_ms(&self, failures: u32) -> i64 {
        pause_ms(self.pause_min_ms, failures)
    }

    /// Returns whether a host failed at its last attempt.
    pub(super) fn has_failed(&self, name: &str) -> bool {
        self.hosts.get(name).is_some_and(|host| host.failures > 0)
    }

    /// Returns whether a host is not to be tried now.
    pub(super) fn is_paused(&self, name: &str, now_ms: i64) -> bool {
        self.hosts.get(name).is_some_and(|host| host.paused_until_ms > now_ms)
    }

    /// Returns whether a host accepted a connection and sent no greeting at the last attempt.
    pub(super) fn is_slow(&self, name: &str) -> bool {
        self.hosts.get(name).is_some_and(|host| host.is_slow)
    }

    /// Returns the end of the first pause, if all hosts of a destination are paused.
    pub(super) fn pause_end(&self, servers: &Servers, now_ms: i64) -> Option<i64> {
        let pause = |host: &MailHost| self.hosts.get(&*host.health_name()).map_or(0, |known| known.paused_until_ms);
        servers.hosts.iter().map(pause).min().filter(|until_ms| *until_ms > now_ms)
    }

    /// Returns whether all hosts of a destination are paused.
    pub(super) fn are_paused(&self, servers: &Servers, now_ms: i64) -> bool {
        self.pause_end(servers, now_ms).is_some()
    }

    /// Makes a destination wait for the hosts that are paused.
    pub(super) fn hold(&mut self, servers: &Servers, destination: RouteKey) {
        for host in &servers.hosts {
            if let Some(host) = self.hosts.get_mut(&*host.health_name()) {
                host.held.insert(destination);
            }
        }
    }

    /// Returns whether every host failed at its last attempt.
    pub(super) fn all_failed(&self, servers: &Servers) -> bool {
        !servers.hosts.is_empty() && servers.hosts.iter().all(|host| self.has_failed(&host.health_name()))
    }

    /// Starts a probe of a host: until it ends, no other session is opened with it. Returns its latest end.
    pub(super) fn probe(&mut self, name: &str, now_ms: i64) -> Option<i64> {
        let host = self.hosts.get_mut(name).filter(|host| host.failures > 0)?;
        host.is_probed = true;
        host.paused_until_ms = host.paused_until_ms.max(now_ms + PROBE_MS);
        Some(host.paused_until_ms)
    }

    /// Pauses a host that could not be connected to. Returns the end of the pause. Failures of concurrent sessions
    /// count once.
    pub(super) fn failed(&mut self, name: &str, is_slow: bool, now_ms: i64) -> i64 {
        let pause_min_ms = self.pause_min_ms;
        let host = self.hosts.entry(name.to_owned()).or_default();
        let was_slow = std::mem::replace(&mut host.is_slow, is_slow);
        let is_counted = std::mem::take(&mut host.is_probed) || host.paused_until_ms <= now_ms;
        if is_counted {
            host.failures = host.failures.saturating_add(1);
            host.paused_until_ms = now_ms + pause_ms(pause_min_ms, host.failures);
        }
        if is_counted || was_slow != is_slow {
            self.changed.insert(name.to_owned());
        }
        host.paused_until_ms
    }

    /// Forgets the failures of a host. Returns the destinations that waited for it.
    pub(super) fn answered(&mut self, name: &str, now_ms: i64) -> BTreeSet<RouteKey> {
        let failed = self.hosts.get_mut(name).filter(|host| host.failures > 0);
        let Some(host) = failed else { return BTreeSet::new() };
        self.changed.insert(name.to_owned());
        std::mem::replace(host, HostHealth { paused_until_ms: now_ms, ..HostHealth::default() }).held
    }

    /// Ends the pause of a host, unless a probe of it runs. Returns the destinations that waited for it.
    pub(super) fn end_pause(&mut self, name: &str, now_ms: i64) -> BTreeSet<RouteKey> {
        if let Some(host) = self.hosts.get_mut(name)
            && !host.is_probed
            && host.paused_until_ms > now_ms
        {
            host.paused_until_ms = now_ms;
            self.changed.insert(name.to_owned());
        }
        self.pause_ended(name, now_ms)
    }

    /// Returns the destinations that wait for a host whose pause has ended.
    pub(super) fn pause_ended(&mut self, name: &str, now_ms: i64) -> BTreeSet<RouteKey> {
        match self.hosts.get_mut(name) {
            Some(host) if host.paused_until_ms <= now_ms => std::mem::take(&mut host.held),
            _ => BTreeSet::new(),
        }
    }

    /// Forgets the hosts that no destination waits for and whose last pause ended long ago.
    pub(super) fn forget_old(&mut self, now_ms: i64) {
        self.hosts.retain(|_, host| !host.held.is_empty() || host.paused_until_ms + FAILED_KEPT_MS > now_ms);
    }

    pub(super) fn has_changes(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Takes at most `hosts_max` changes, which are to be stored.
    pub(super) fn take_changes(&mut self, hosts_max: usize, now: Now) -> Vec<HostChange> {
        let mut changes = Vec::new();
        while changes.len() < hosts_max
            && let Some(host) = self.changed.pop_first()
        {
            let failed = self.hosts.get(&host).filter(|health| health.failures > 0);
            let pause = failed.map(|health| HostPauseRow {
                failures: health.failures,
                until_ms: now.wall_end_ms(health.paused_until_ms),
                is_slow: health.is_slow,
                ended_ms: None,
                changed_ms: now.wall_ms,
            });
            changes.push(HostChange { host, pause });
        }
        changes
    }

    /// Puts changes back that could not be stored.
    pub(super) fn put_changes_back(&mut self, hosts: impl IntoIterator<Item = String>) {
        self.changed.extend(hosts);
    }
}

/// Returns the pause after a number of failures in a row: `pause_min_ms`, doubled with each further one.
fn pause_ms(pause_min_ms: i64, failures: u32) -> i64 {
    pause_min_ms.saturating_mul(1 << failures.saturating_sub(1).min(10)).min(PAUSE_MAX_MS)
}
