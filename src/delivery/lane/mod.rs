//! Lanes: the due groups in memory and the number of sessions, by site.
//!
//! A lane contains keys of recipient groups, never messages. If a lane is full, further groups stay
//! in the table and the lane is marked as overflowed. After a failure, a site is in cooldown, which
//! doubles with each further failure. After the cooldown, one session tries one group.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::queue::{Due, DueKey};
use super::rows::Class;
use super::transport::Servers;
use crate::base::clock::TimestampMs;

/// Maximum number of groups in memory, in all lanes and lookups.
pub(super) const READY_MAX: usize = 50_000;
/// Maximum number of groups in one lane.
const LANE_READY_MAX: usize = 5_000;
/// Maximum number of groups that a session takes at a time. Their leases share a commit.
const TAKE_MAX: usize = 8;
/// Maximum cooldown of a site.
const COOLDOWN_MAX: Duration = Duration::from_secs(30 * 60);

/// A due group with the servers of its destination.
#[derive(Clone, Debug)]
pub(super) struct ReadyGroup {
    pub(super) due: Due,
    pub(super) servers: Arc<Servers>,
}

/// Result of [`Lanes::push`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PushResult {
    /// The group is in its lane.
    Queued,
    /// The lane is full. The group stays in the table only.
    Full,
}

#[derive(Default)]
struct Lane {
    transactional: VecDeque<ReadyGroup>,
    broadcast: VecDeque<ReadyGroup>,
    /// Number of workers, including the idle ones and those that have not connected yet.
    sessions: usize,
    /// Number of workers that keep an open session and wait for groups.
    idle: usize,
    /// Number of failures since the last success.
    failures: u32,
    cooldown_until_ms: TimestampMs,
    /// Whether the table contains due groups that did not fit.
    overflowed: bool,
    /// Notified once for each pushed group.
    work: Arc<Notify>,
    /// Notified if another site needs the permits of idle sessions.
    evict: Arc<Notify>,
}

impl Lane {
    fn len(&self) -> usize {
        self.transactional.len() + self.broadcast.len()
    }

    fn front(&self) -> Option<&ReadyGroup> {
        self.transactional.front().or_else(|| self.broadcast.front())
    }

    /// Returns whether to start one more session. The lane must not be in cooldown and must be below
    /// its limit. It must have more groups than its idle sessions take next. If none is idle, it must
    /// have more groups than busy sessions.
    fn needs_session(&self, now_ms: TimestampMs, sessions_max: usize) -> bool {
        let busy = self.sessions.saturating_sub(self.idle);
        let enough = if self.idle > 0 { self.idle * TAKE_MAX } else { busy };
        self.cooldown_until_ms <= now_ms && self.sessions < sessions_max && self.len() > enough
    }

    /// Removes and returns the next group. Transactional groups precede all broadcast groups.
    fn pop(&mut self) -> Option<ReadyGroup> {
        self.transactional.pop_front().or_else(|| self.broadcast.pop_front())
    }
}

/// The lanes of all sites, and the keys of all groups in memory.
pub(super) struct Lanes {
    lanes: HashMap<String, Lane>,
    /// Groups in a lane, in a lookup or being claimed.
    tracked: HashSet<DueKey>,
    /// Whether the last capacity check failed, so that due groups stayed in the table.
    limit_reached: bool,
    /// Offset of the first lane in the next reservation of sessions. Increments each time, so that
    /// no site is always first.
    start: usize,
    sessions_per_site: usize,
    cooldown_min: Duration,
}

/// Whether the dispatcher should read the table again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refill {
    /// There is capacity again for groups that did not fit.
    Needed,
    /// There is no capacity, or all due groups are in memory.
    NotNeeded,
}

/// Half of a round over all lanes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// The lanes at and after the start offset.
    FromStart,
    /// The lanes before the start offset.
    BeforeStart,
}

/// Next action of a session.
pub(super) enum NextGroups {
    /// Deliver these groups, which all have the same servers.
    Groups(Vec<ReadyGroup>),
    /// Wait for one of the two notifications. The lane is empty.
    Wait {
        /// Notified when a group is pushed.
        work: Arc<Notify>,
        /// Notified when another site needs the permit of this session.
        evict: Arc<Notify>,
    },
    /// Reconnect: the next group has other servers than the session.
    OtherServers,
    /// End: the site is in cooldown.
    CoolingDown,
}

/// Change of the idle state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Idle {
    /// The session starts to wait for groups.
    Begins,
    /// The session stops waiting.
    Ends,
}

impl Lanes {
    pub(super) fn new(sessions_per_site: usize, cooldown_min: Duration) -> Self {
        Self {
            lanes: HashMap::new(),
            tracked: HashSet::new(),
            limit_reached: false,
            start: 0,
            sessions_per_site,
            cooldown_min,
        }
    }

    /// Returns whether `groups` more fit in memory. If they do not, a later [`Lanes::untrack`]
    /// reports when there is capacity.
    pub(super) fn has_capacity_for(&mut self, groups: usize) -> bool {
        self.limit_reached = self.tracked.len() + groups > READY_MAX;
        !self.limit_reached
    }

    /// Marks a group as in memory. Returns `false` if it was already.
    pub(super) fn track(&mut self, key: DueKey) -> bool {
        self.tracked.insert(key)
    }

    /// Removes groups from the set of groups in memory. Returns [`Refill::Needed`] once half of the
    /// memory is free after a load reached the limit.
    #[must_use]
    pub(super) fn untrack(&mut self, keys: &[DueKey]) -> Refill {
        for key in keys {
            self.tracked.remove(key);
        }
        if self.limit_reached && self.tracked.len() < READY_MAX / 2 {
            self.limit_reached = false;
            return Refill::Needed;
        }
        Refill::NotNeeded
    }

    /// Appends a tracked group to the lane of its site. If the lane is full, untracks the group.
    pub(super) fn push(&mut self, ready: ReadyGroup) -> PushResult {
        let lane = self.lanes.entry(ready.servers.site.clone()).or_default();
        if lane.len() >= LANE_READY_MAX {
            lane.overflowed = true;
            self.tracked.remove(&ready.due.key);
            return PushResult::Full;
        }
        match ready.due.key.class {
            Class::Transactional => lane.transactional.push_back(ready),
            Class::Broadcast => lane.broadcast.push_back(ready),
        }
        // If no session waits, `Notify` stores the permit for the next session that does.
        lane.work.notify_one();
        PushResult::Queued
    }

    /// Removes unused lanes, then reserves sessions for the sites that need one. Returns one site for
    /// each reserved session.
    ///
    /// Calls `permit` once for each session. When it returns `false`, no further session is reserved,
    /// and idle sessions of other sites are asked to end.
    pub(super) fn reserve_sessions(&mut self, now_ms: TimestampMs, mut permit: impl FnMut() -> bool) -> Vec<String> {
        self.lanes.retain(|_, lane| {
            lane.len() > 0 || lane.sessions > 0 || lane.overflowed || lane.cooldown_until_ms > now_ms
        });
        self.start = self.start.wrapping_add(1);
        let first = self.start % self.lanes.len().max(1);
        let (mut reserved, mut refused) = (Vec::new(), false);
        for pass in [Pass::FromStart, Pass::BeforeStart] {
            for (position, (site, lane)) in self.lanes.iter_mut().enumerate() {
                if (position >= first) != (pass == Pass::FromStart) {
                    continue;
                }
                // After a failure, one session tests whether the site works again.
                let sessions_max = if lane.failures > 0 { 1 } else { self.sessions_per_site };
                while !refused && lane.needs_session(now_ms, sessions_max) {
                    if permit() {
                        lane.sessions += 1;
                        reserved.push(site.clone());
                    } else {
                        refused = true;
                    }
                }
            }
        }
        if refused {
            self.evict_idle();
        }
        reserved
    }

    /// Ends the idle sessions of empty lanes, so that other sites get their permits.
    fn evict_idle(&self) {
        for lane in self.lanes.values().filter(|lane| lane.idle > 0 && lane.len() == 0) {
            lane.evict.notify_waiters();
        }
    }

    /// Removes the next groups from the lane of a site: up to [`TAKE_MAX`], at most the lane's fair
    /// share for each session, and one after a failure. All of them have the same servers.
    ///
    /// `fits` returns whether the open session can send to the given servers. A group that does not
    /// fit stays in the lane.
    pub(super) fn take(&mut self, site: &str, now_ms: TimestampMs, fits: impl Fn(&Servers) -> bool) -> NextGroups {
        let Some(lane) = self.lanes.get_mut(site) else { return NextGroups::CoolingDown };
        if lane.cooldown_until_ms > now_ms {
            return NextGroups::CoolingDown;
        }
        let mut groups: Vec<ReadyGroup> = Vec::new();
        let take_max = if lane.failures > 0 { 1 } else { TAKE_MAX.min(lane.len().div_ceil(lane.sessions.max(1))) };
        while groups.len() < take_max {
            let fit = match (lane.front(), groups.first()) {
                (None, _) => false,
                (Some(next), None) => fits(&next.servers),
                (Some(next), Some(first)) => next.servers == first.servers,
            };
            if !fit {
                break;
            }
            groups.extend(lane.pop());
        }
        if !groups.is_empty() {
            return NextGroups::Groups(groups);
        }
        if lane.len() > 0 {
            return NextGroups::OtherServers;
        }
        NextGroups::Wait { work: Arc::clone(&lane.work), evict: Arc::clone(&lane.evict) }
    }

    /// Returns whether an overflowed lane is less than half full, and clears the overflow mark if so.
    pub(super) fn take_refill_request(&mut self, site: &str) -> bool {
        let Some(lane) = self.lanes.get_mut(site) else { return false };
        let needs_refill = lane.overflowed && lane.len() < LANE_READY_MAX / 2;
        lane.overflowed &= !needs_refill;
        needs_refill
    }

    /// Counts an open session as idle, or no longer.
    pub(super) fn set_idle(&mut self, site: &str, idle: Idle) {
        if let Some(lane) = self.lanes.get_mut(site) {
            match idle {
                Idle::Begins => lane.idle += 1,
                Idle::Ends => lane.idle = lane.idle.saturating_sub(1),
            }
        }
    }

    /// Resets the failures and the cooldown of a site that has accepted a transaction.
    pub(super) fn succeeded(&mut self, site: &str) {
        if let Some(lane) = self.lanes.get_mut(site) {
            lane.failures = 0;
            lane.cooldown_until_ms = 0;
        }
    }

    /// Starts the cooldown of a site after a failure. Removes and returns its groups that are older
    /// than `expire_after`.
    ///
    /// The cooldown starts at `cooldown_min` and doubles with each failure, up to [`COOLDOWN_MAX`].
    pub(super) fn failed(&mut self, site: &str, now_ms: TimestampMs, expire_after: Duration) -> Vec<ReadyGroup> {
        let cooldown_min = self.cooldown_min;
        let Some(lane) = self.lanes.get_mut(site) else { return Vec::new() };
        // Failures of concurrent sessions count once.
        if lane.cooldown_until_ms <= now_ms {
            lane.failures = lane.failures.saturating_add(1);
            let cooldown = cooldown_min.saturating_mul(1 << (lane.failures - 1).min(10)).min(COOLDOWN_MAX);
            lane.cooldown_until_ms = now_ms + i64::try_from(cooldown.as_millis()).unwrap_or(i64::MAX);
        }
        let expire_ms = i64::try_from(expire_after.as_millis()).unwrap_or(i64::MAX);
        let is_expired = |ready: &ReadyGroup| now_ms - ready.due.first_due_ms >= expire_ms;
        let mut expired = Vec::new();
        for queue in [&mut lane.transactional, &mut lane.broadcast] {
            let (old, young) = std::mem::take(queue).into_iter().partition(is_expired);
            *queue = young;
            expired.extend::<VecDeque<ReadyGroup>>(old);
        }
        expired
    }

    /// Releases the reservation of a session.
    pub(super) fn session_ended(&mut self, site: &str) {
        if let Some(lane) = self.lanes.get_mut(site) {
            lane.sessions = lane.sessions.saturating_sub(1);
        }
    }

    /// Untracks every group that is in no lane. For the start of a dispatcher after another one
    /// failed: the groups of its lookups would never be loaded again.
    pub(super) fn untrack_orphans(&mut self) {
        let queues = self.lanes.values().flat_map(|lane| lane.transactional.iter().chain(&lane.broadcast));
        self.tracked = queues.map(|ready| ready.due.key).collect();
    }

    /// Returns the earliest end of a cooldown among the sites that have groups.
    pub(super) fn next_cooldown_end(&self, now_ms: TimestampMs) -> Option<TimestampMs> {
        self.lanes
            .values()
            .filter(|lane| lane.len() > 0 && lane.cooldown_until_ms > now_ms)
            .map(|lane| lane.cooldown_until_ms)
            .min()
    }
}
