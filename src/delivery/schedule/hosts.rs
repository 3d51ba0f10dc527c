//! Hosts: their failures and pauses, and the changes of these that are to be stored.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::Arc;

use super::explain::chain;
use super::health::HostChange;
use super::shares::SiteKind;
use super::{Now, Route, Schedule, Timer};
use crate::delivery::queue::LaneKey;
use crate::delivery::rows::HostPauseRow;
use crate::delivery::transport::{MailHost, Servers};

impl Schedule {
    /// Returns whether a host is not to be tried now.
    pub(in crate::delivery) fn is_host_paused(&self, host: &str, now: Now) -> bool {
        self.hosts.is_paused(host, now.elapsed_ms)
    }

    /// Returns whether a host accepted a connection and sent no greeting in time at the last attempt.
    pub(in crate::delivery) fn is_host_slow(&self, host: &str) -> bool {
        self.hosts.is_slow(host)
    }

    /// Pauses a host that could not be connected to.
    pub(in crate::delivery) fn host_failed(&mut self, host: &str, is_slow: bool, now: Now) {
        let until_ms = self.hosts.failed(host, is_slow, now.elapsed_ms);
        self.timers.push(Reverse((until_ms, Timer::Host(host.to_owned()))));
    }

    /// Records that a host answered, and forgets its failures: it opened a session, or refused to open one.
    pub(in crate::delivery) fn host_answered(&mut self, host: &str, now: Now) {
        for destination in self.hosts.answered(host, now.elapsed_ms) {
            self.reactivate(destination, now);
        }
    }

    /// Ends the pause of a host on request.
    pub(in crate::delivery) fn end_host_pause(&mut self, host: &str, now: Now) {
        for destination in self.hosts.end_pause(host, now.elapsed_ms) {
            self.reactivate(destination, now);
        }
    }

    /// Returns the hosts of a lane as of its last lookup; empty if no lookup is known.
    pub(in crate::delivery) fn hosts_of(&self, key: LaneKey) -> Vec<String> {
        let destination = self.lanes.get(&key).and_then(|lane| self.destinations.get(&lane.route));
        let Some(Route::Servers { servers, .. }) = destination.map(|destination| &destination.route) else {
            return Vec::new();
        };
        let hosts = chain(servers).flat_map(|servers| &servers.hosts).map(MailHost::health_name);
        hosts.map(Cow::into_owned).collect()
    }

    /// Continues with the stored pauses of hosts that are not known.
    pub(super) fn restore_hosts(&mut self, pauses: &[(String, HostPauseRow)], now: Now) {
        for (host, pause) in pauses {
            if let Some(until_ms) = self.hosts.restore(host, pause, now) {
                self.timers.push(Reverse((until_ms, Timer::Host(host.clone()))));
            }
        }
    }

    /// Makes a new site a failing one if all hosts failed at their last attempt, so that it takes no session of a site that
    /// was never tried.
    pub(super) fn restore_failure(&mut self, servers: &Servers, now: Now) {
        if !self.hosts.all_failed(servers) {
            return;
        }
        let site = self.site(&Arc::from(servers.site.as_str()), servers, now);
        if site.kind(now.elapsed_ms) == SiteKind::New {
            site.throttle.open_failed(now);
        }
    }

    /// Returns whether pauses of hosts have changed since they were last taken to be stored.
    pub(in crate::delivery) fn has_changed_hosts(&self) -> bool {
        self.hosts.has_changes()
    }

    /// Takes at most `hosts_max` changed pauses, which are to be stored.
    pub(in crate::delivery) fn take_changed_hosts(&mut self, hosts_max: usize, now: Now) -> Vec<HostChange> {
        self.hosts.take_changes(hosts_max, now)
    }

    /// Puts changes back that could not be stored.
    pub(in crate::delivery) fn put_changed_hosts_back(&mut self, hosts: impl IntoIterator<Item = String>) {
        self.hosts.put_changes_back(hosts);
    }
}
