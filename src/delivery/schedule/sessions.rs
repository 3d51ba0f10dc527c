//! Sessions: which site gets one, what it takes next, and what its outcome changes.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use super::shares::{KINDS, SiteKind, Turn};
use super::site::{SiteState, TAKE_MAX};
use super::{Idle, Now, Place, Route, Schedule, Slot, Take, Taken, TakenLane, Timer};
use crate::delivery::queue::LaneKey;
use crate::delivery::rates::SESSION_MESSAGES_MAX;
use crate::delivery::rows::SiteRow;
use crate::delivery::site_refusal::SiteRefusal;
use crate::delivery::transport::Servers;

/// Time that a session serves its site while other sites wait for one.
pub(super) const SLICE_MS: i64 = 2_000;
/// Longest time that an open session waits for tokens. After a longer one, a new session is opened.
pub(super) const TOKEN_WAIT_MAX_MS: i64 = 10_000;
/// Maximum age of the route of a lane that waits for a session.
const ROUTE_USABLE_MS: i64 = 10 * 60_000;
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
                if self.holds.has_site(&name) {
                    continue;
                }
                if !site.needs_session(now) {
                    self.set_site_timer(&name, now);
                    continue;
                }
                site.sessions += 1;
                site.connections.take(1, now.elapsed_ms);
                self.shares.start(kind);
                slots.push(Slot {
                    site: Arc::clone(&name),
                    kind,
                    started_ms: now.elapsed_ms,
                    is_slow: false,
                    is_stuck: false,
                    may_connect: true,
                    taken_ms: now.elapsed_ms,
                    delivered_ms: None,
                    host: None,
                });
                self.site_changed(&name, 0, now, Turn::Last);
            }
        }
        if self.shares.needs_eviction() {
            let idle = self.idle_sites.iter().filter_map(|name| self.sites.get(name));
            for site in idle.filter(|site| site.is_empty() || site.messages_at_ms(now) > now.elapsed_ms) {
                site.evict.notify_waiters();
            }
        }
        slots
    }

    /// Returns the next groups of a session. `left` is the number of messages that its connection can still carry; `None`
    /// without a connection. `fits` returns whether the connection can send to the given servers. Without a connection and
    /// without a token for one, the session ends.
    pub(in crate::delivery) fn take(
        &mut self,
        slot: &mut Slot,
        now: Now,
        left: Option<u32>,
        fits: impl Fn(&Servers) -> bool,
    ) -> Take {
        let is_over =
            now.elapsed_ms - slot.started_ms >= SLICE_MS && self.shares.has_competitors(slot.kind, &slot.site);
        let is_held = self.holds.has_site(&slot.site);
        let Some(site) = self.sites.get_mut(&slot.site) else { return Take::End };
        if is_over || is_held || site.throttle.paused_until_ms() > now.elapsed_ms {
            return Take::End;
        }
        if left.is_none() && !slot.may_connect {
            if site.connections.tokens(now.elapsed_ms) == 0 {
                return Take::End;
            }
            site.connections.take(1, now.elapsed_ms);
            slot.may_connect = true;
        }
        let wait_ms = site.messages_at_ms(now) - now.elapsed_ms;
        if wait_ms > 0 && !site.is_empty() {
            let tokens_in = Duration::from_millis(u64::try_from(wait_ms).unwrap_or(0));
            let is_short = left.is_some() && wait_ms <= TOKEN_WAIT_MAX_MS;
            return if is_short { wait(site, Some(tokens_in)) } else { Take::End };
        }
        let mut unfit = Vec::new();
        let tested_max = FITTING_TESTED_MAX.min(self.lanes_of(&slot.site));
        while unfit.len() < tested_max {
            let Some(key) = self.sites.get_mut(&slot.site).and_then(|site| site.pop(now)) else { break };
            if self.holds.has_lane(key) {
                self.unseat(key, &slot.site);
                self.drop_lane(key);
                continue;
            }
            if self.needs_turn(key) {
                self.unseat(key, &slot.site);
                self.wait_for_turn(key);
                continue;
            }
            let destination = self.lanes.get(&key).and_then(|lane| self.destinations.get(&lane.route));
            let servers = match destination.map(|destination| &destination.route) {
                Some(Route::Servers { servers, at_ms }) if now.elapsed_ms - at_ms < ROUTE_USABLE_MS => {
                    Arc::clone(servers)
                }
                _ => {
                    self.unseat(key, &slot.site);
                    self.activate(key, now);
                    continue;
                }
            };
            let usable = self.usable(&servers, now).filter(|usable| *usable.site == *slot.site);
            let Some(servers) = usable else {
                self.unseat(key, &slot.site);
                self.seat(key, &servers, now);
                continue;
            };
            if !fits(&servers) {
                unfit.push(key);
                continue;
            }
            self.put_back(&slot.site, &unfit);
            return self.take_lane(slot, key, servers, left, now);
        }
        self.put_back(&slot.site, &unfit);
        match self.sites.get(&slot.site) {
            Some(site) if unfit.is_empty() => wait(site, None),
            Some(_) => Take::OtherServers,
            None => Take::End,
        }
    }

    /// Adds lanes to the first one of a claim, until the session has its part of the groups of the site. Many lanes have a
    /// single group, and one claim of several groups costs less. `fits` is that of [`Self::take`]. At a site with a
    /// warm-up plan, the part is that of the first lane, and no other is added.
    pub(in crate::delivery) fn take_further(
        &mut self,
        slot: &mut Slot,
        now: Now,
        fits: impl Fn(&Servers) -> bool,
        part: usize,
        lanes: &mut Vec<TakenLane>,
    ) {
        loop {
            let taken: usize = lanes.iter().map(|lane| lane.groups_max).sum();
            let left = u32::try_from(part.saturating_sub(taken)).unwrap_or(u32::MAX);
            if left == 0 {
                return;
            }
            let Take::Groups { first: next, .. } = self.take(slot, now, Some(left), &fits) else { return };
            lanes.push(next);
        }
    }

    /// Adds a lane to those of its site that wait for a session.
    pub(super) fn push_lane(&mut self, site: &str, key: LaneKey) {
        if let (Some(lane), Some(site)) = (self.lanes.get(&key), self.sites.get_mut(site)) {
            site.push(lane.team, key);
        }
    }

    /// Puts popped lanes back in their order.
    fn put_back(&mut self, site: &str, keys: &[LaneKey]) {
        for key in keys.iter().rev() {
            if let (Some(lane), Some(site)) = (self.lanes.get(key), self.sites.get_mut(site)) {
                site.put_back(lane.team, *key);
            }
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

    /// Returns whether a session may send the next of the groups that it took. It may not after a refusal of another session,
    /// and while the operator holds the site.
    pub(in crate::delivery) fn may_send(&self, slot: &Slot, now: Now) -> bool {
        let site = self.sites.get(&slot.site);
        let is_paused = site.is_some_and(|site| site.throttle.paused_until_ms() > now.elapsed_ms);
        !is_paused && !self.holds.has_site(&slot.site)
    }

    fn take_lane(&mut self, slot: &mut Slot, key: LaneKey, servers: Arc<Servers>, left: Option<u32>, now: Now) -> Take {
        let (is_probe, is_slowed) = (self.hosts.all_failed(&servers), self.is_slowed(key));
        let (Some(lane), Some(site)) = (self.lanes.get_mut(&key), self.sites.get_mut(&slot.site)) else {
            return Take::End;
        };
        // A fair part of the groups of the site for each of its sessions. Groups that wait for the next day of a
        // warm-up plan are no work for the other sessions.
        let shared = if site.is_warming_up() { lane.ready } else { site.ready };
        let part = shared.div_ceil(site.sessions.max(1));
        let is_test = is_probe || site.throttle.is_after_failure();
        let left = usize::try_from(left.unwrap_or(site.limits.session_messages_max)).unwrap_or(TAKE_MAX);
        let allowed = site.allowed(key.class, now).min(left).clamp(1, TAKE_MAX);
        let part = if is_test || is_slowed { 1 } else { part.clamp(1, allowed) };
        let groups_max = part.min(lane.ready).max(1);
        site.take_messages(groups_max, now);
        slot.taken_ms = now.elapsed_ms;
        site.charge(lane.team, key, groups_max);
        let taken_ready = groups_max.min(lane.ready);
        lane.ready -= taken_ready;
        lane.claims += 1;
        lane.has_turn = false;
        site.ready = site.ready.saturating_sub(taken_ready);
        if lane.ready > 0 && !is_probe && !is_slowed {
            site.push(lane.team, key);
        } else {
            site.ready = site.ready.saturating_sub(lane.ready);
            lane.place = Place::Taken;
        }
        let taken = Taken { lane: key, changes: lane.changes };
        Take::Groups { first: TakenLane { taken, servers, groups_max }, part }
    }

    /// Releases the reservation of a session.
    pub(in crate::delivery) fn session_ended(&mut self, slot: &Slot, now: Now) {
        self.shares.end(slot.kind);
        if let Some(site) = self.sites.get_mut(&slot.site) {
            site.sessions = site.sessions.saturating_sub(1);
            site.slow = site.slow.saturating_sub(usize::from(slot.is_slow));
            site.stuck = site.stuck.saturating_sub(usize::from(slot.is_stuck));
            site.connections.give_back(usize::from(slot.may_connect));
            if let Some(taken_ms) = slot.delivered_ms {
                site.throttle.ended_clean(taken_ms, now);
            }
        }
        self.site_changed(&slot.site, 0, now, Turn::Last);
    }

    /// Records groups that the session took and did not send.
    pub(in crate::delivery) fn unsent(&mut self, slot: &Slot, groups: usize) {
        if let Some(site) = self.sites.get_mut(&slot.site) {
            site.give_back_messages(groups);
        }
    }

    /// Returns the maximum number of messages in one session.
    pub(in crate::delivery) fn session_messages_max(&self, slot: &Slot) -> u32 {
        self.sites.get(&slot.site).map_or(SESSION_MESSAGES_MAX, |site| site.limits.session_messages_max)
    }

    /// Counts an open session as idle, or no longer.
    pub(in crate::delivery) fn set_idle(&mut self, slot: &Slot, idle: Idle) {
        let Some(site) = self.sites.get_mut(&slot.site) else { return };
        match idle {
            Idle::Begins => site.idle += 1,
            Idle::Ends => site.idle = site.idle.saturating_sub(1),
        }
        if site.idle > 0 {
            self.idle_sites.insert(Arc::clone(&slot.site));
        } else {
            self.idle_sites.remove(&slot.site);
        }
    }

    /// Records that the server of a session takes long to answer. The session then uses the part of the failing sites.
    /// Returns `false` if that is used up, so that the session must end.
    pub(in crate::delivery) fn opening_is_slow(&mut self, slot: &mut Slot, now: Now) -> bool {
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
        self.site_changed(&slot.site, 0, now, Turn::First);
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
            site.opened(host, now.elapsed_ms);
            site.slow = site.slow.saturating_sub(usize::from(std::mem::take(&mut slot.is_slow)));
        }
        self.host_answered(host, now);
    }

    /// Records that a session with a host is being opened, after the end of an earlier one. If the host failed before, no
    /// other session is opened with it meanwhile.
    pub(in crate::delivery) fn connecting(&mut self, slot: &mut Slot, host: &str, now: Now) {
        slot.host = Some(host.to_owned());
        if let Some(taken_ms) = slot.delivered_ms.take() {
            if let Some(site) = self.sites.get_mut(&slot.site) {
                site.throttle.ended_clean(taken_ms, now);
            }
            self.site_changed(&slot.site, 0, now, Turn::Last);
        }
        if !std::mem::take(&mut slot.may_connect)
            && let Some(site) = self.sites.get_mut(&slot.site)
        {
            // The next hosts of the same opening.
            site.connections.take(1, now.elapsed_ms);
        }
        if let Some(until_ms) = self.hosts.probe(host, now.elapsed_ms) {
            self.timers.push(Reverse((until_ms, Timer::Host(host.to_owned()))));
        }
    }

    /// Records that a session was given up while it was being opened, because its host is slow.
    pub(in crate::delivery) fn opening_interrupted(&mut self, slot: &Slot, now: Now) {
        if let Some(host) = &slot.host {
            self.host_failed(host, true, now);
        }
        self.opening_failed(slot, now);
    }

    /// Records that a message of a session takes long, or no longer. Other groups do not wait for this session.
    pub(in crate::delivery) fn set_stuck(&mut self, slot: &mut Slot, is_stuck: bool, now: Now) {
        if slot.is_stuck == is_stuck {
            return;
        }
        slot.is_stuck = is_stuck;
        if let Some(site) = self.sites.get_mut(&slot.site) {
            site.stuck = if is_stuck { site.stuck + 1 } else { site.stuck.saturating_sub(1) };
        }
        self.site_changed(&slot.site, 0, now, Turn::First);
    }

    /// Records that no host of a destination could be connected to. The hosts are paused. If the last host of the site that
    /// answered has not failed, the site keeps its sessions: the failure belongs to the hosts of one destination.
    pub(in crate::delivery) fn opening_failed(&mut self, slot: &Slot, now: Now) {
        if let Some(site) = self.sites.get_mut(&slot.site)
            && site.opened_host().is_none_or(|host| self.hosts.has_failed(host))
        {
            site.throttle.open_failed(now);
        }
    }

    /// Records a message that the site neither refused nor limited. Returns the row of the site if it is to be stored.
    pub(in crate::delivery) fn succeeded(&mut self, slot: &mut Slot, now: Now) -> Option<SiteRow> {
        slot.delivered_ms = Some(slot.taken_ms);
        let site = self.sites.get_mut(&slot.site)?;
        let is_due = site.throttle.succeeded(slot.taken_ms, now) || site.is_success_due(now);
        let row = (is_due && !site.is_single).then(|| site.row(&slot.site, now));
        self.site_changed(&slot.site, 0, now, Turn::Last);
        row
    }

    /// Throttles a site that refuses or limits mail of this server. Returns its row if that changes it.
    pub(in crate::delivery) fn refused(&mut self, slot: &Slot, refusal: &SiteRefusal, now: Now) -> Option<SiteRow> {
        let site = self.sites.get_mut(&slot.site)?;
        if !site.throttle.refused(refusal, now, |failures| self.hosts.pause_ms(failures)) {
            return None;
        }
        self.timers.push(Reverse((site.throttle.paused_until_ms(), Timer::Site(Arc::clone(&slot.site)))));
        (!site.is_single).then(|| site.row(&slot.site, now))
    }

    /// Returns whether the messages of a site are counted for its warm-up plan.
    pub(in crate::delivery) fn is_warming_up(&self, slot: &Slot) -> bool {
        self.sites.get(&slot.site).is_some_and(|site| site.allowance().is_some())
    }

    /// Returns the URL to request removal from the blocklist of a site, or its page for senders.
    pub(in crate::delivery) fn delisting(&self, slot: &Slot) -> Option<&'static str> {
        self.sites.get(&slot.site)?.provider?.delisting
    }
}

fn wait(site: &SiteState, tokens_in: Option<Duration>) -> Take {
    Take::Wait { work: Arc::clone(&site.work), evict: Arc::clone(&site.evict), tokens_in }
}
