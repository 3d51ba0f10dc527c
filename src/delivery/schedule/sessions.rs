//! Sessions: which site gets one, what it takes next, and what its outcome changes.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use super::shares::{KINDS, SiteKind, Turn};
use super::site::{SiteState, TAKE_MAX};
use super::{Idle, Now, Place, ROUTE_FRESH_MS, Route, Schedule, Slot, Take, Taken, Timer, health};
use crate::delivery::queue::LaneKey;
use crate::delivery::transport::Servers;

/// Time that a session serves its site while other sites wait for one.
pub(super) const SLICE_MS: i64 = 2_000;
/// Lanes of one site that are tested for one that fits the open session.
const FITTING_TESTED_MAX: usize = 32;

impl Schedule {
    /// Reserves sessions for the sites that need one.
    pub(in crate::delivery) fn reserve_sessions(&mut self, now: Now) -> Vec<Slot> {
        let mut slots = Vec::new();
        for kind in KINDS {
            while self.shares.admits(kind) {
                let Some(name) = self.shares.pop(kind) else { break };
                let Some(site) = self.sites.get_mut(&name) else { continue };
                site.is_waiting = false;
                if !site.needs_session(now.elapsed_ms) {
                    continue;
                }
                site.sessions += 1;
                self.shares.start(kind);
                slots.push(Slot { site: Arc::clone(&name), kind, started_ms: now.elapsed_ms, is_slow: false });
                self.site_changed(&name, 0, now, Turn::Last);
            }
        }
        if self.idle > 0 && KINDS.into_iter().any(|kind| self.shares.has_waiting(kind)) {
            for site in self.sites.values().filter(|site| site.idle > 0 && site.is_empty()) {
                site.evict.notify_waiters();
            }
        }
        slots
    }

    /// Returns the next groups of a session. `fits` returns whether the open session can send to the given servers.
    pub(in crate::delivery) fn take(&mut self, slot: &Slot, now: Now, fits: impl Fn(&Servers) -> bool) -> Take {
        let is_over = now.elapsed_ms - slot.started_ms >= SLICE_MS && self.shares.has_competitors(slot.kind);
        let Some(site) = self.sites.get(&slot.site) else { return Take::End };
        if is_over || site.paused_until_ms > now.elapsed_ms {
            return Take::End;
        }
        let mut tested = 0;
        while tested < FITTING_TESTED_MAX.min(self.lanes_of(&slot.site)) {
            tested += 1;
            let Some(key) = self.sites.get_mut(&slot.site).and_then(SiteState::pop) else { break };
            let route_key = self.route_key(key);
            let servers = match self.destinations.get(&route_key).map(|destination| &destination.route) {
                Some(Route::Servers { servers, at_ms }) if now.elapsed_ms - at_ms < ROUTE_FRESH_MS => {
                    Arc::clone(servers)
                }
                _ => {
                    self.unseat(key, &slot.site);
                    self.activate(key, now);
                    continue;
                }
            };
            if self.hosts.are_paused(&servers, now.elapsed_ms) {
                self.unseat(key, &slot.site);
                self.seat(key, route_key, &servers, now);
                continue;
            }
            if !fits(&servers) {
                if let Some(site) = self.sites.get_mut(&slot.site) {
                    site.push(key);
                }
                continue;
            }
            return self.take_lane(slot, key, servers);
        }
        match self.sites.get(&slot.site) {
            Some(site) if site.is_empty() => {
                Take::Wait { work: Arc::clone(&site.work), evict: Arc::clone(&site.evict) }
            }
            Some(_) => Take::OtherServers,
            None => Take::End,
        }
    }

    pub(super) fn lanes_of(&self, site: &str) -> usize {
        self.sites.get(site).map_or(0, SiteState::lanes)
    }

    /// Takes a lane out of the count of its site.
    pub(super) fn unseat(&mut self, key: LaneKey, site: &str) {
        let ready = self.lanes.get(&key).map_or(0, |lane| lane.ready);
        if let Some(site) = self.sites.get_mut(site) {
            site.ready = site.ready.saturating_sub(ready);
        }
        self.place(key, Place::Taken);
    }

    pub(super) fn take_lane(&mut self, slot: &Slot, key: LaneKey, servers: Arc<Servers>) -> Take {
        let is_probe = self.hosts.all_failed(&servers);
        let (Some(lane), Some(site)) = (self.lanes.get_mut(&key), self.sites.get_mut(&slot.site)) else {
            return Take::End;
        };
        // A fair part of the lane for each session of the site.
        let part = lane.ready.div_ceil(site.sessions.max(1));
        let groups_max = if is_probe || site.is_after_failure() { 1 } else { part.clamp(1, TAKE_MAX) };
        let taken_ready = groups_max.min(lane.ready);
        lane.ready -= taken_ready;
        lane.claims += 1;
        site.ready = site.ready.saturating_sub(taken_ready);
        if lane.ready > 0 && !is_probe {
            site.push(key);
        } else {
            site.ready = site.ready.saturating_sub(lane.ready);
            lane.place = Place::Taken;
        }
        Take::Groups { taken: Taken { lane: key, changes: lane.changes }, servers, groups_max }
    }

    /// Releases the reservation of a session.
    pub(in crate::delivery) fn session_ended(&mut self, slot: &Slot, now: Now) {
        self.shares.end(slot.kind);
        if let Some(site) = self.sites.get_mut(&slot.site) {
            site.sessions = site.sessions.saturating_sub(1);
            site.slow = site.slow.saturating_sub(usize::from(slot.is_slow));
        }
        self.site_changed(&slot.site, 0, now, Turn::Last);
    }

    /// Counts an open session as idle, or no longer.
    pub(in crate::delivery) fn set_idle(&mut self, slot: &Slot, idle: Idle) {
        let Some(site) = self.sites.get_mut(&slot.site) else { return };
        match idle {
            Idle::Begins => (site.idle, self.idle) = (site.idle + 1, self.idle + 1),
            Idle::Ends => (site.idle, self.idle) = (site.idle.saturating_sub(1), self.idle.saturating_sub(1)),
        }
    }

    /// Records that the server of a session takes long to answer. The session then uses the part of the failing sites.
    /// Returns `false` if that is used up, so that the session must end.
    pub(in crate::delivery) fn opening_is_slow(&mut self, slot: &mut Slot) -> bool {
        let Some(site) = self.sites.get_mut(&slot.site) else { return false };
        if slot.kind != SiteKind::Failing {
            if !self.shares.admits(SiteKind::Failing) || !site.may_be_slow() {
                return false;
            }
            self.shares.end(slot.kind);
            self.shares.start(SiteKind::Failing);
            slot.kind = SiteKind::Failing;
        }
        if !slot.is_slow {
            slot.is_slow = true;
            site.slow += 1;
        }
        true
    }

    /// Records that a session with a host was opened.
    pub(in crate::delivery) fn session_opened(&mut self, slot: &mut Slot, host: &str, now: Now) {
        self.shares.end(slot.kind);
        // Otherwise the session stays in its part, and ends after its slice if other sites wait.
        if self.shares.admits(SiteKind::Working) {
            slot.kind = SiteKind::Working;
        }
        self.shares.start(slot.kind);
        if let Some(site) = self.sites.get_mut(&slot.site) {
            site.opened(now.elapsed_ms);
            site.slow = site.slow.saturating_sub(usize::from(std::mem::take(&mut slot.is_slow)));
        }
        for destination in self.hosts.opened(host) {
            self.reactivate(destination, now);
        }
    }

    /// Records that a session with one of these hosts is being opened. If all of them failed before, no other session is
    /// opened with them meanwhile.
    pub(in crate::delivery) fn connecting(&mut self, servers: &Servers, now: Now) {
        if self.hosts.all_failed(servers) {
            self.hosts.probe(servers, now.elapsed_ms);
        }
    }

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

    /// Records that no host of a destination could be connected to.
    pub(in crate::delivery) fn opening_failed(&mut self, slot: &Slot) {
        if let Some(site) = self.sites.get_mut(&slot.site) {
            site.open_failed();
        }
    }

    /// Records a message that the site neither refused nor limited.
    pub(in crate::delivery) fn succeeded(&mut self, slot: &Slot) {
        if let Some(site) = self.sites.get_mut(&slot.site) {
            site.succeeded();
        }
    }

    /// Pauses a site that refuses or limits our mail, for at least `pause_min`.
    pub(in crate::delivery) fn pause_site(&mut self, slot: &Slot, pause_min: Duration, now: Now) {
        let Some(site) = self.sites.get_mut(&slot.site) else { return };
        let pause_min_ms = i64::try_from(pause_min.as_millis()).unwrap_or(health::PAUSE_MAX_MS);
        let until_ms = site.pause(now.elapsed_ms, |failures| self.hosts.pause_ms(failures).max(pause_min_ms));
        self.timers.push(Reverse((until_ms, Timer::Site(Arc::clone(&slot.site)))));
    }
}
