//! Lanes: what is ready, site by site, and how many sessions each site has.
//!
//! A lane holds names of recipient groups, never messages. One that is full leaves the rest in the
//! table and remembers that there is more. A site that fails is left alone for a while, longer
//! each time, and then probed with one group.

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

/// Groups that are ready in memory, over all lanes.
pub(super) const READY_MAX: usize = 50_000;
/// Groups that are ready in one lane.
const LANE_READY_MAX: usize = 5_000;
/// Groups a session takes at a time: their leases share a commit.
const TAKE_MAX: usize = 8;
/// The longest rest of a site that fails.
const COOLDOWN_MAX: Duration = Duration::from_secs(30 * 60);

/// A group that is ready, with where it goes.
#[derive(Clone, Debug)]
pub(super) struct ReadyGroup {
    pub(super) due: Due,
    pub(super) servers: Arc<Servers>,
}

/// What becomes of a group that is offered to the lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PushResult {
    /// It is in its lane.
    Taken,
    /// Its lane is full; it stays in the table alone.
    Full,
}

#[derive(Default)]
struct Lane {
    transactional: VecDeque<ReadyGroup>,
    broadcast: VecDeque<ReadyGroup>,
    sessions: usize,
    /// Sessions that are open and have nothing to do.
    idle: usize,
    /// Failures since the last success.
    failures: u32,
    cooldown_until_ms: TimestampMs,
    /// There is more in the table.
    overflowed: bool,
    /// There is work.
    notify: Arc<Notify>,
    /// Another site needs the place of a session that has nothing to do.
    evict: Arc<Notify>,
}

impl Lane {
    fn len(&self) -> usize {
        self.transactional.len() + self.broadcast.len()
    }

    fn front(&self) -> Option<&ReadyGroup> {
        self.transactional.front().or_else(|| self.broadcast.front())
    }

    /// Returns whether one more session is worth it: the open ones have enough to take already.
    fn wants_session(&self, now_ms: TimestampMs, sessions_max: usize) -> bool {
        let busy = self.sessions.saturating_sub(self.idle);
        let enough = if self.idle > 0 { self.idle * TAKE_MAX } else { busy };
        self.cooldown_until_ms <= now_ms && self.sessions < sessions_max && self.len() > enough
    }

    /// Transactional mail never waits behind a broadcast.
    fn pop(&mut self) -> Option<ReadyGroup> {
        self.transactional.pop_front().or_else(|| self.broadcast.pop_front())
    }
}

/// Every lane, and every group that is ready or being claimed.
pub(super) struct Lanes {
    lanes: HashMap<String, Lane>,
    known: HashSet<DueKey>,
    /// There was no room for what the table holds.
    starved: bool,
    /// Where the next look for work begins, so that no site is always first.
    turn: usize,
    sessions_per_site: usize,
    rest_min: Duration,
}

/// Whether the dispatcher should look at the table again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refill {
    /// There is room again for what did not fit.
    Needed,
    /// There is none, or nothing waits for it.
    NotNeeded,
}

/// Which half of the lanes a look for work is at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// Those from the turn on.
    FromTurn,
    /// Those before it.
    BeforeTurn,
}

/// What a session takes next.
pub(super) enum NextGroups {
    /// These, all for the same servers.
    Groups(Vec<ReadyGroup>),
    /// Nothing; wait for work, or for being asked to make room.
    Wait {
        /// There is work.
        work: Arc<Notify>,
        /// The session's place is needed elsewhere.
        evict: Arc<Notify>,
    },
    /// There is work for other servers of the site than the session's.
    OtherServers,
    /// Nothing, and the site rests.
    CoolingDown,
}

/// Whether a session begins or ends to wait for work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Idle {
    /// It begins.
    Begins,
    /// It ends.
    Ends,
}

impl Lanes {
    pub(super) fn new(sessions_per_site: usize, rest_min: Duration) -> Self {
        Self { lanes: HashMap::new(), known: HashSet::new(), starved: false, turn: 0, sessions_per_site, rest_min }
    }

    /// Returns whether `groups` more fit in memory, and remembers when they do not.
    pub(super) fn has_room_for(&mut self, groups: usize) -> bool {
        self.starved = self.known.len() + groups > READY_MAX;
        !self.starved
    }

    /// Marks a group as being in memory; `false` when it is already.
    pub(super) fn know(&mut self, key: DueKey) -> bool {
        self.known.insert(key)
    }

    /// Forgets groups that have left memory: the table no longer has them, or has to be asked again.
    #[must_use]
    pub(super) fn forget(&mut self, keys: &[DueKey]) -> Refill {
        for key in keys {
            self.known.remove(key);
        }
        if self.starved && self.known.len() < READY_MAX / 2 {
            self.starved = false;
            return Refill::Needed;
        }
        Refill::NotNeeded
    }

    /// Puts a known group into its lane.
    pub(super) fn offer(&mut self, ready: ReadyGroup) -> PushResult {
        let lane = self.lanes.entry(ready.servers.site.clone()).or_default();
        if lane.len() >= LANE_READY_MAX {
            lane.overflowed = true;
            self.known.remove(&ready.due.key);
            return PushResult::Full;
        }
        match ready.due.key.class {
            Class::Transactional => lane.transactional.push_back(ready),
            Class::Broadcast => lane.broadcast.push_back(ready),
        }
        // A permit that nobody waits for yet is kept, so that no group is overlooked.
        lane.notify.notify_one();
        PushResult::Taken
    }

    /// Returns the sites that have work and may have one more session, and reserves it for each.
    /// `permit` is asked once for each session.
    pub(super) fn reserve_sessions(&mut self, now_ms: TimestampMs, mut permit: impl FnMut() -> bool) -> Vec<String> {
        self.lanes.retain(|_, lane| {
            lane.len() > 0 || lane.sessions > 0 || lane.overflowed || lane.cooldown_until_ms > now_ms
        });
        self.turn = self.turn.wrapping_add(1);
        let first = self.turn % self.lanes.len().max(1);
        let (mut reserved, mut refused) = (Vec::new(), false);
        for pass in [Pass::FromTurn, Pass::BeforeTurn] {
            for (place, (site, lane)) in self.lanes.iter_mut().enumerate() {
                if (place >= first) != (pass == Pass::FromTurn) {
                    continue;
                }
                // One session probes a site that has failed.
                let sessions_max = if lane.failures > 0 { 1 } else { self.sessions_per_site };
                while !refused && lane.wants_session(now_ms, sessions_max) {
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

    /// Asks the sessions that have nothing to do for their places.
    fn evict_idle(&self) {
        for lane in self.lanes.values().filter(|lane| lane.idle > 0 && lane.len() == 0) {
            lane.evict.notify_waiters();
        }
    }

    /// Takes the next groups of a site. `fits` says whether a session that is open can take a
    /// group; a group that does not fit stays for another.
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
        NextGroups::Wait { work: Arc::clone(&lane.notify), evict: Arc::clone(&lane.evict) }
    }

    /// Returns whether a lane that had overflowed has room again, and clears the mark.
    pub(super) fn wants_more(&mut self, site: &str) -> bool {
        let Some(lane) = self.lanes.get_mut(site) else { return false };
        let wants = lane.overflowed && lane.len() < LANE_READY_MAX / 2;
        lane.overflowed &= !wants;
        wants
    }

    /// Counts an open session that waits for work, or that has found some.
    pub(super) fn set_idle(&mut self, site: &str, idle: Idle) {
        if let Some(lane) = self.lanes.get_mut(site) {
            match idle {
                Idle::Begins => lane.idle += 1,
                Idle::Ends => lane.idle = lane.idle.saturating_sub(1),
            }
        }
    }

    /// Notes that the site took mail.
    pub(super) fn succeeded(&mut self, site: &str) {
        if let Some(lane) = self.lanes.get_mut(site) {
            lane.failures = 0;
            lane.cooldown_until_ms = 0;
        }
    }

    /// Lets a site rest after a failure, and returns the groups that have expired meanwhile.
    pub(super) fn failed(&mut self, site: &str, now_ms: TimestampMs, expire_after: Duration) -> Vec<ReadyGroup> {
        let rest_min = self.rest_min;
        let Some(lane) = self.lanes.get_mut(site) else { return Vec::new() };
        // Sessions that fail together count once.
        if lane.cooldown_until_ms <= now_ms {
            lane.failures = lane.failures.saturating_add(1);
            let rest = rest_min.saturating_mul(1 << (lane.failures - 1).min(10)).min(COOLDOWN_MAX);
            lane.cooldown_until_ms = now_ms + i64::try_from(rest.as_millis()).unwrap_or(i64::MAX);
        }
        let expire_ms = i64::try_from(expire_after.as_millis()).unwrap_or(i64::MAX);
        let expired = |ready: &ReadyGroup| now_ms - ready.due.first_due_ms >= expire_ms;
        let mut gone = Vec::new();
        for queue in [&mut lane.transactional, &mut lane.broadcast] {
            let (old, young) = std::mem::take(queue).into_iter().partition(expired);
            *queue = young;
            gone.extend::<VecDeque<ReadyGroup>>(old);
        }
        gone
    }

    /// Gives a session back.
    pub(super) fn session_ended(&mut self, site: &str) {
        if let Some(lane) = self.lanes.get_mut(site) {
            lane.sessions = lane.sessions.saturating_sub(1);
        }
    }

    /// Forgets every group that is in no lane: after a dispatcher that failed, nobody else brings
    /// them.
    pub(super) fn forget_orphans(&mut self) {
        let queues = self.lanes.values().flat_map(|lane| lane.transactional.iter().chain(&lane.broadcast));
        self.known = queues.map(|ready| ready.due.key).collect();
    }

    /// Returns when the first resting site that has work may be tried again.
    pub(super) fn next_cooldown_end(&self, now_ms: TimestampMs) -> Option<TimestampMs> {
        self.lanes
            .values()
            .filter(|lane| lane.len() > 0 && lane.cooldown_until_ms > now_ms)
            .map(|lane| lane.cooldown_until_ms)
            .min()
    }
}
