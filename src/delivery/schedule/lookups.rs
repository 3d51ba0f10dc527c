//! Lookups of the servers of destinations.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::Arc;

use super::explain::chain;
use super::shares::Turn;
use super::{Lookup, Now, Place, Route, Schedule, StoredSite, Taken, Timer, UnreadState};
use crate::delivery::queue::LaneKey;
use crate::delivery::routes::RouteKey;
use crate::delivery::transport::{MailHost, Servers};

/// Maximum number of concurrent lookups, and how many of them may be for destinations whose last lookup failed.
const LOOKUPS_MAX: usize = 64;
pub(super) const REPEATED_LOOKUPS_MAX: usize = 32;
/// First and maximum pause after a failed lookup.
pub(super) const LOOKUP_PAUSE_MS: i64 = 5_000;
const LOOKUP_PAUSE_MAX_MS: i64 = 5 * 60_000;

impl Schedule {
    /// Returns the next lookup to start. New destinations go first, the newest before the others.
    pub(in crate::delivery) fn next_lookup(&mut self) -> Option<Lookup> {
        if self.lookups >= LOOKUPS_MAX {
            return None;
        }
        let may_repeat = self.lookups_repeated < REPEATED_LOOKUPS_MAX;
        let (key, is_repeated) = match self.new_lookups.pop_front() {
            Some(key) => (key, false),
            None if may_repeat => (self.repeated_lookups.pop_front()?, true),
            None => return None,
        };
        let destination = self.destinations.get_mut(&key)?;
        self.lookups += 1;
        self.lookups_repeated += usize::from(is_repeated);
        let fresh = std::mem::take(&mut destination.fresh);
        let is_first = !destination.has_servers;
        Some(Lookup { key, name: destination.name.clone(), fresh, is_repeated, is_first })
    }

    /// Returns the stored state that a lookup must read: the state in memory replaces it. The hosts of a destination are read
    /// once, so that the later lookups of a destination need no transaction.
    pub(in crate::delivery) fn unread(&self, lookup: &Lookup, servers: &Arc<Servers>) -> UnreadState {
        let has_site = servers.of_destination().is_some_and(|own| !self.sites.contains_key(own.site.as_str()));
        let hosts = chain(servers).filter(|_| lookup.is_first).flat_map(|servers| &servers.hosts);
        let hosts = hosts.map(MailHost::health_name).filter(|name| !self.hosts.is_known(name));
        UnreadState { has_site, hosts: hosts.map(Cow::into_owned).collect() }
    }

    pub(super) fn lookup_ended(&mut self, lookup: &Lookup) {
        self.lookups = self.lookups.saturating_sub(1);
        self.lookups_repeated = self.lookups_repeated.saturating_sub(usize::from(lookup.is_repeated));
    }

    /// Records the servers of a destination, and moves its lanes to their site. Hosts and a site that are not known continue
    /// with their stored pauses and throttle. The allowance of the day is read again with each lookup.
    pub(in crate::delivery) fn routed(
        &mut self,
        lookup: &Lookup,
        servers: Arc<Servers>,
        stored: &StoredSite,
        now: Now,
    ) {
        self.lookup_ended(lookup);
        self.answered(lookup);
        let is_unknown = |its: &&Arc<Servers>| !stored.hosts.is_empty() && !self.sites.contains_key(its.site.as_str());
        let unknown: Vec<Arc<Servers>> = chain(&servers).filter(is_unknown).cloned().collect();
        self.restore_hosts(&stored.hosts, now);
        if let Some(servers) = servers.of_destination() {
            let name: Arc<str> = servers.site.as_str().into();
            let is_known = self.sites.contains_key(&name);
            if let Some(row) = stored.row.as_ref().filter(|_| !is_known) {
                self.site(&name, servers, now).restore(row, now);
            }
            if let Some(allowance) = stored.allowance {
                self.site(&name, servers, now).set_allowance(allowance);
                self.site_changed(&name, 0, now, Turn::Last);
            }
        }
        unknown.iter().for_each(|servers| self.restore_failure(servers, now));
        if let Some(destination) = self.destinations.get_mut(&lookup.key) {
            destination.route = Route::Servers { servers, at_ms: now.elapsed_ms };
            destination.has_servers = !stored.is_unread;
        }
        self.reactivate(lookup.key, now);
    }

    /// Moves the waiting lanes of a destination on.
    pub(super) fn reactivate(&mut self, key: RouteKey, now: Now) {
        let Some(destination) = self.destinations.get_mut(&key) else { return };
        for lane in std::mem::take(&mut destination.waiting) {
            self.place(lane, Place::Taken);
            self.activate(lane, now);
        }
    }

    /// Records a lookup that failed temporarily. The groups wait without an attempt. Returns one lane that has not reported
    /// the delay, whose first group reports it; it must be claimed. All destinations behind a smarthost share a lookup.
    ///
    /// The pause before the next lookup doubles, except for the destination that failed last: it shows within
    /// [`LOOKUP_PAUSE_MS`] that the name servers respond again.
    pub(in crate::delivery) fn lookup_failed(&mut self, lookup: &Lookup, now: Now) -> Option<Taken> {
        self.lookup_ended(lookup);
        let destination = self.destinations.get_mut(&lookup.key)?;
        let failures = destination.lookup_failures;
        destination.lookup_failures = failures.saturating_add(1);
        if failures == 0 || self.lookup_probe.is_none() {
            self.lookup_probe = Some(lookup.key);
        }
        let doublings = if self.lookup_probe == Some(lookup.key) { 0 } else { failures.min(10) };
        let until_ms = now.elapsed_ms + (LOOKUP_PAUSE_MS << doublings).min(LOOKUP_PAUSE_MAX_MS);
        destination.route = Route::Failed { until_ms };
        self.timers.push(Reverse((until_ms, Timer::Lookup(lookup.key))));
        let is_silent = |key: &LaneKey| self.lanes.get(key).is_some_and(|lane| !lane.has_reported);
        let position = destination.waiting.iter().position(is_silent)?;
        let reporting = destination.waiting.remove(position)?;
        self.lanes.get_mut(&reporting)?.has_reported = true;
        self.take_waiting(reporting)
    }

    /// Records a conclusive answer. If the destination failed before, an outage of the name servers may have ended, so
    /// that all failed lookups are repeated at once.
    fn answered(&mut self, lookup: &Lookup) {
        if let Some(destination) = self.destinations.get_mut(&lookup.key) {
            destination.lookup_failures = 0;
        }
        if self.lookup_probe == Some(lookup.key) {
            self.lookup_probe = None;
        }
        if !lookup.is_repeated || !self.repeated_lookups.is_empty() {
            return;
        }
        for (key, destination) in &mut self.destinations {
            if matches!(destination.route, Route::Failed { .. }) {
                destination.route = Route::LookedUp;
                destination.fresh = true;
                self.repeated_lookups.push_back(*key);
            }
        }
    }

    /// Forgets the route of a destination that has no servers, and returns its lanes. They must be claimed.
    pub(in crate::delivery) fn unroutable(&mut self, lookup: &Lookup) -> Vec<Taken> {
        self.lookup_ended(lookup);
        self.answered(lookup);
        let Some(destination) = self.destinations.get_mut(&lookup.key) else { return Vec::new() };
        destination.route = Route::Unknown;
        let waiting = std::mem::take(&mut destination.waiting);
        waiting.into_iter().filter_map(|lane| self.take_waiting(lane)).collect()
    }

    pub(super) fn take_waiting(&mut self, key: LaneKey) -> Option<Taken> {
        let lane = self.lanes.get_mut(&key)?;
        lane.place = Place::Taken;
        lane.claims += 1;
        lane.has_turn = false;
        lane.ready = 0;
        Some(Taken { lane: key, changes: lane.changes })
    }

    pub(super) fn repeat_lookup(&mut self, key: RouteKey, now: Now) {
        let Some(destination) = self.destinations.get_mut(&key) else { return };
        if matches!(destination.route, Route::Failed { until_ms } if until_ms <= now.elapsed_ms) {
            destination.route = Route::LookedUp;
            // The resolver remembers failures for longer than the shortest pause.
            destination.fresh = true;
            self.repeated_lookups.push_back(key);
        }
    }
}
