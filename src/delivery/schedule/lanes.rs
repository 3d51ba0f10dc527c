//! The place of each lane, and the changes after a claim.

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use super::shares::Turn;
use super::site::SiteState;
use super::{Destination, Lane, Now, Place, ROUTE_FRESH_MS, Route, Schedule, Taken, Timer};
use crate::base::clock::TimestampMs;
use crate::delivery::providers::provider_of;
use crate::delivery::queue::{Due, LaneKey, LaneRest};
use crate::delivery::routes::RouteKey;
use crate::delivery::transport::Servers;

/// Maximum number of lanes that scans of the table add. Notifications may add twice as many, so that new mail is loaded
/// while many lanes wait.
pub(in crate::delivery) const LANES_MAX: usize = 100_000;
/// Time before which a scan leaves a lane in the table. At least two scans follow in this time.
const FOUND_AHEAD_MS: i64 = 3 * 60_000;
/// Part of all sessions that a site may have: one of this many, unless the operator sets its own limit.
const SITE_PART: usize = 4;
/// Pause of a lane whose claim could not be stored.
pub(super) const CLAIM_FAILED_MS: i64 = 5_000;

impl Schedule {
    /// Records a group that has been committed to the queue.
    pub(in crate::delivery) fn queued(&mut self, due: &Due, now: Now) {
        self.add(due, now, 2 * self.limits.lanes_max, |lane| {
            lane.ready += 1;
        });
    }

    /// Records a lane that a scan of the table found, by its first group. Returns `false` if it does not fit.
    pub(in crate::delivery) fn found(&mut self, first: &Due, now: Now) -> bool {
        let is_known = self.lanes.get(&first.key.lane).is_some_and(|lane| {
            lane.ready > 0 || lane.claims > 0 || (lane.place == Place::Later && lane.due_ms <= first.key.due_ms)
        });
        // A later scan finds the lane in time.
        let is_far = first.key.due_ms > now.wall_ms + FOUND_AHEAD_MS;
        is_known || is_far || self.add(first, now, self.limits.lanes_max, |lane| lane.ready = lane.ready.max(1))
    }

    pub(super) fn add(&mut self, due: &Due, now: Now, lanes_max: usize, count: impl Fn(&mut Lane)) -> bool {
        let key = due.key.lane;
        if self.holds.has_lane(key) {
            return true;
        }
        if !self.lanes.contains_key(&key) {
            if self.lanes.len() >= lanes_max {
                self.overflowed = true;
                return false;
            }
            let route = self.routes.key(&due.destination, key);
            let lane = Lane {
                place: Place::Taken,
                team: due.team,
                route,
                has_reported: false,
                has_turn: false,
                due_ms: TimestampMs::MAX,
                ready: 0,
                changes: 0,
                claims: 0,
            };
            self.lanes.insert(key, lane);
        }
        let Some(lane) = self.lanes.get_mut(&key) else { return false };
        let destination = self.destinations.entry(lane.route).or_insert_with(|| Destination {
            name: due.destination.clone(),
            route: Route::Unknown,
            waiting: VecDeque::new(),
            fresh: false,
            has_servers: false,
            lookup_failures: 0,
        });
        if due.vanished {
            destination.fresh = true;
        }
        lane.changes += 1;
        if due.key.due_ms > now.wall_ms {
            if lane.ready == 0 && lane.claims == 0 {
                lane.place = Place::Later;
            }
            let due_ms = lane.due_ms.min(due.key.due_ms);
            self.set_due(key, due_ms);
            return true;
        }
        count(lane);
        match lane.place.clone() {
            Place::Site(site) => self.site_changed(&site, 1, now, Turn::Last),
            Place::Destination | Place::Slowed => {}
            Place::Later | Place::Taken => self.activate(key, now),
        }
        true
    }

    /// Moves a lane with due groups to its site, or to its destination if the servers are not known. A lane of a slowed
    /// team waits for its turn first.
    pub(super) fn activate(&mut self, key: LaneKey, now: Now) {
        if self.holds.has_lane(key) {
            self.drop_lane(key);
            return;
        }
        if self.needs_turn(key) {
            self.wait_for_turn(key);
            return;
        }
        let Some(route) = self.lanes.get(&key).map(|lane| lane.route) else { return };
        let Some(destination) = self.destinations.get_mut(&route) else { return };
        match &destination.route {
            Route::Servers { servers, at_ms } if now.elapsed_ms - at_ms < ROUTE_FRESH_MS && !destination.fresh => {
                let servers = Arc::clone(servers);
                self.seat(key, &servers, now);
                return;
            }
            Route::Servers { .. } => {
                destination.route = Route::LookedUp;
                self.new_lookups.push_back(route);
            }
            Route::Unknown => {
                destination.route = Route::LookedUp;
                self.new_lookups.push_front(route);
            }
            Route::LookedUp | Route::Failed { .. } => {}
        }
        destination.waiting.push_back(key);
        self.place(key, Place::Destination);
    }

    /// Moves a lane to the site of the servers to use. Holds it if all hosts are paused.
    pub(super) fn seat(&mut self, key: LaneKey, servers: &Arc<Servers>, now: Now) {
        let Some(servers) = self.usable(servers, now) else {
            self.hold(key, servers);
            return;
        };
        let name: Arc<str> = servers.site.as_str().into();
        let site = self.site(&name, &servers, now);
        site.used(now.elapsed_ms);
        let turn = if site.is_empty() && site.sessions == 0 { Turn::First } else { Turn::Last };
        self.push_lane(&name, key);
        let Some(lane) = self.lanes.get_mut(&key) else { return };
        lane.ready = lane.ready.max(1);
        lane.has_reported = false;
        lane.place = Place::Site(Arc::clone(&name));
        let ready = lane.ready;
        self.site_changed(&name, ready, now, turn);
    }

    /// Returns the site of these servers, which is new if it is not known.
    pub(super) fn site(&mut self, name: &Arc<str>, servers: &Servers, now: Now) -> &mut SiteState {
        let (rates, part_max) = (&self.limits.rates, (self.limits.sessions_max / SITE_PART).max(1));
        self.sites.entry(Arc::clone(name)).or_insert_with(|| {
            let configured = servers.site_without_source();
            if servers.is_shared {
                return SiteState::new_single(rates.of_single(configured), now);
            }
            let provider = provider_of(servers);
            SiteState::new(rates.of(configured, provider, part_max), provider, now)
        })
    }

    /// Returns the first servers of a route with a host that is not paused; `None` if all are paused.
    pub(super) fn usable(&self, servers: &Arc<Servers>, now: Now) -> Option<Arc<Servers>> {
        let is_paused = |servers: &Servers| self.hosts.are_paused(servers, now.elapsed_ms);
        std::iter::once(servers).chain(&servers.fallback).find(|servers| !is_paused(servers)).cloned()
    }

    /// Returns whether a group whose session with these servers could not be opened continues with their fallback.
    pub(in crate::delivery) fn has_fallback(&self, servers: &Servers, now: Now) -> bool {
        let is_paused = |servers: &Servers| self.hosts.are_paused(servers, now.elapsed_ms);
        servers.fallback.as_ref().is_some_and(|fallback| is_paused(servers) && !is_paused(fallback))
    }

    /// Holds a lane until the first pause of a host of its route ends. The pause of a host has a timer, so that a lane needs
    /// none.
    fn hold(&mut self, key: LaneKey, servers: &Servers) {
        let Some(route) = self.lanes.get(&key).map(|lane| lane.route) else { return };
        for servers in std::iter::once(servers).chain(servers.fallback.as_deref()) {
            self.hosts.hold(servers, route);
        }
        if let Some(destination) = self.destinations.get_mut(&route) {
            destination.waiting.push_back(key);
        }
        self.place(key, Place::Destination);
    }

    pub(super) fn place(&mut self, key: LaneKey, place: Place) {
        if let Some(lane) = self.lanes.get_mut(&key) {
            lane.place = place;
        }
    }

    /// Adds due groups to a site, wakes its idle sessions, and queues the site for a further session.
    pub(super) fn site_changed(&mut self, name: &Arc<str>, ready: usize, now: Now, turn: Turn) {
        let Some(site) = self.sites.get_mut(name) else { return };
        site.ready += ready;
        // If no session waits yet, `Notify` stores one permit for the next session that does.
        for _ in 0..ready.min(site.idle.max(1)) {
            site.work.notify_one();
        }
        if site.is_waiting || self.holds.has_site(name) {
            return;
        }
        if site.needs_session(now) {
            site.is_waiting = true;
            self.shares.wait(site.kind(now.elapsed_ms), Arc::clone(name), turn);
        } else {
            self.set_site_timer(name, now);
        }
    }

    /// Sets the timer of a site that waits for the end of its pause or for tokens.
    pub(super) fn set_site_timer(&mut self, name: &Arc<str>, now: Now) {
        let Some(site) = self.sites.get_mut(name) else { return };
        let Some(at_ms) = site.waits_until_ms(now) else { return };
        if site.timer_ms.is_none_or(|timer_ms| timer_ms > at_ms) {
            site.timer_ms = Some(at_ms);
            self.timers.push(Reverse((at_ms, Timer::Site(Arc::clone(name)))));
        }
    }

    /// Records the result of a claim: what follows in the lane.
    pub(in crate::delivery) fn claimed(&mut self, taken: &Taken, rest: LaneRest, now: Now) {
        let Some(lane) = self.lanes.get_mut(&taken.lane) else { return };
        lane.claims = lane.claims.saturating_sub(1);
        let is_current = lane.changes == taken.changes;
        let ready = if is_current { rest.ready } else { rest.ready.max(lane.ready).max(1) };
        let next_due_ms = rest.next_due_ms.unwrap_or(TimestampMs::MAX);
        let due_ms = if is_current { next_due_ms } else { lane.due_ms.min(next_due_ms) };
        let place = lane.place.clone();
        self.set_due(taken.lane, due_ms);
        let Some(lane) = self.lanes.get_mut(&taken.lane) else { return };
        match place {
            Place::Site(site) if ready > lane.ready => {
                let more = ready - lane.ready;
                lane.ready = ready;
                self.site_changed(&site, more, now, Turn::Last);
            }
            // Groups have left the queue without a claim, for example because the operator dropped them.
            Place::Site(site) if is_current && rest.is_exact() && ready < lane.ready => {
                let fewer = lane.ready - ready.max(1);
                lane.ready -= fewer;
                if let Some(site) = self.sites.get_mut(&site) {
                    site.ready = site.ready.saturating_sub(fewer);
                }
            }
            // Another claim has found more. The next one corrects the number.
            Place::Site(_) | Place::Destination | Place::Slowed => {}
            Place::Taken | Place::Later => {
                lane.ready = ready;
                if ready > 0 {
                    self.activate(taken.lane, now);
                } else if lane.claims == 0 {
                    self.rest(taken.lane);
                }
            }
        }
    }

    /// Lets a lane without due groups wait for its next one, or forgets an empty lane.
    pub(super) fn rest(&mut self, key: LaneKey) {
        let Some(lane) = self.lanes.get_mut(&key) else { return };
        if lane.due_ms == TimestampMs::MAX {
            self.lanes.remove(&key);
        } else {
            lane.place = Place::Later;
        }
    }

    /// Sets the next due time of a lane.
    pub(super) fn set_due(&mut self, key: LaneKey, due_ms: TimestampMs) {
        let Some(lane) = self.lanes.get_mut(&key) else { return };
        if lane.due_ms == due_ms {
            return;
        }
        self.later.remove(&(lane.due_ms, key));
        lane.due_ms = due_ms;
        if due_ms != TimestampMs::MAX {
            self.later.insert((due_ms, key));
        }
    }

    /// Records a claim that could not be stored. The lane is tried again some seconds later.
    pub(in crate::delivery) fn claim_failed(&mut self, taken: &Taken, now: Now) {
        let Some(lane) = self.lanes.get_mut(&taken.lane) else { return };
        lane.claims = lane.claims.saturating_sub(1);
        lane.has_turn = false;
        if matches!(lane.place, Place::Taken | Place::Later) {
            lane.ready = 0;
            let due_ms = lane.due_ms.min(now.wall_ms + CLAIM_FAILED_MS);
            self.set_due(taken.lane, due_ms);
            self.rest(taken.lane);
        }
    }

    /// Returns the lanes whose groups cannot be delivered now. Omits those that the operator holds.
    pub(in crate::delivery) fn held_lanes(&self, now: Now) -> Vec<LaneKey> {
        self.paused_lanes(now).filter(|key| !self.is_held(*key)).collect()
    }

    /// Returns the lanes that have due groups and wait for a lookup, a host, a paused site, or the next day of a warm-up
    /// plan.
    pub(super) fn paused_lanes(&self, now: Now) -> impl Iterator<Item = LaneKey> {
        let is_held = move |(key, lane): &(&LaneKey, &Lane)| match &lane.place {
            Place::Destination => true,
            Place::Site(site) => self.sites.get(site).is_some_and(|site| site.is_held(key.class, now)),
            Place::Later | Place::Slowed | Place::Taken => false,
        };
        self.lanes.iter().filter(is_held).map(|(key, _)| *key)
    }

    /// Forgets destinations without lanes, sites and hosts about which nothing is known, and slowed broadcasts that ended.
    pub(in crate::delivery) fn forget_unused(&mut self, now: Now) {
        let used: BTreeSet<RouteKey> = self.lanes.values().map(|lane| lane.route).collect();
        self.destinations.retain(|key, destination| used.contains(key) || matches!(destination.route, Route::LookedUp));
        self.lookup_probe = self.lookup_probe.filter(|key| self.destinations.contains_key(key));
        self.sites.retain(|_, site| site.is_waiting || !site.is_forgettable(now.elapsed_ms));
        self.hosts.forget_old(now.elapsed_ms);
        self.forget_slowed(now);
    }

    /// Forgets all lanes and lookups. For the start of a dispatcher after another one failed: its lookups and claims
    /// never end.
    pub(in crate::delivery) fn restart(&mut self) {
        self.lanes.clear();
        self.destinations.clear();
        self.later.clear();
        self.slowed.clear();
        self.slowed_streams.clear();
        self.new_lookups.clear();
        self.repeated_lookups.clear();
        self.lookup_probe = None;
        (self.lookups, self.lookups_repeated) = (0, 0);
        for site in self.sites.values_mut() {
            site.clear();
        }
    }
}
