//! One site: its lanes in turn, its sessions, and its limits.

use std::sync::Arc;

use tokio::sync::Notify;

use super::Now;
use super::bucket::TokenBucket;
use super::rotation::LaneRotation;
use super::shares::SiteKind;
use super::throttle::Throttle;
use crate::base::clock::{DAY_MS, TimestampMs};
use crate::base::id::TeamId;
use crate::delivery::providers::Provider;
use crate::delivery::queue::LaneKey;
use crate::delivery::rates::SiteLimits;
use crate::delivery::rows::{Class, SiteRow};
use crate::delivery::warm_up::{Allowance, until_tomorrow_ms};

/// Maximum number of groups that a session takes at a time. Their leases share a commit.
pub(super) const TAKE_MAX: usize = 8;
/// Of this many turns, bulk mail gets at least one.
const BULK_EVERY: u32 = 10;
/// Time for which a site counts as working after a session was opened.
const WORKING_MS: i64 = 10 * 60 * 1_000;
/// Time for which a stored success makes a site a working one after a restart.
const WORKED_RECENTLY_MS: i64 = DAY_MS;
/// Time between two stored successes of a site.
const SUCCESS_STORED_EVERY_MS: i64 = 60 * 60 * 1_000;
/// Time whose messages may be sent at once.
const MESSAGES_BURST_MS: i64 = 1_000;
/// Time whose connections may be opened at once.
const CONNECTIONS_BURST_MS: i64 = 10_000;
/// Longest time until the wall clock is read again, so that a step of it ends the wait for the next day.
const TOMORROW_MAX_MS: i64 = 10 * 60 * 1_000;

/// The state of a site.
#[derive(Debug)]
pub(super) struct SiteState {
    transactional: LaneRotation,
    bulk: LaneRotation,
    /// Number of due groups in the lanes that wait here, as far as known.
    pub(super) ready: usize,
    /// Number of sessions, including the idle ones and those that are being opened.
    pub(super) sessions: usize,
    /// Number of the sessions whose server takes long to answer. They do not count for the limit.
    pub(super) slow: usize,
    /// Number of sessions with a message that takes long.
    pub(super) stuck: usize,
    /// Number of open sessions that wait for groups.
    pub(super) idle: usize,
    pub(super) throttle: Throttle,
    /// Whether all destinations share the site. Its throttle is not stored.
    pub(super) is_single: bool,
    pub(super) limits: SiteLimits,
    pub(super) provider: Option<&'static Provider>,
    pub(super) messages: TokenBucket,
    pub(super) connections: TokenBucket,
    /// Messages of the day; `None` without a warm-up plan.
    allowance: Option<Allowance>,
    /// Time of the last session that was opened.
    opened_ms: Option<i64>,
    /// The host of that session. Not known after a restart.
    opened_host: Option<String>,
    /// Time of the stored row on the wall clock; `None` without one.
    stored_ms: Option<TimestampMs>,
    /// Time of the last lane that was added.
    used_ms: i64,
    /// Whether the site is among those that wait for a session.
    pub(super) is_waiting: bool,
    /// Time of the timer that is set for the site.
    pub(super) timer_ms: Option<i64>,
    turns: u32,
    /// Notified once for each further due group.
    pub(super) work: Arc<Notify>,
    /// Notified if another site needs the idle sessions.
    pub(super) evict: Arc<Notify>,
}

impl SiteState {
    pub(super) fn new(limits: SiteLimits, provider: Option<&'static Provider>, now: Now) -> Self {
        Self {
            transactional: LaneRotation::default(),
            bulk: LaneRotation::default(),
            ready: 0,
            sessions: 0,
            slow: 0,
            stuck: 0,
            idle: 0,
            throttle: Throttle::new(limits.sessions_max),
            is_single: false,
            limits,
            provider,
            messages: TokenBucket::new(limits.messages_per_second, 1_000, MESSAGES_BURST_MS),
            connections: TokenBucket::new(limits.connections_per_minute, 60_000, CONNECTIONS_BURST_MS),
            allowance: None,
            opened_ms: None,
            opened_host: None,
            stored_ms: None,
            used_ms: now.elapsed_ms,
            is_waiting: false,
            timer_ms: None,
            turns: 0,
            work: Arc::default(),
            evict: Arc::default(),
        }
    }

    /// Returns the site of all destinations, which may use all sessions at once.
    pub(super) fn new_single(limits: SiteLimits, now: Now) -> Self {
        Self { throttle: Throttle::new_open(limits.sessions_max), is_single: true, ..Self::new(limits, None, now) }
    }

    /// Continues with the stored throttle of the site. If it accepted mail recently, it is a working site.
    pub(super) fn restore(&mut self, row: &SiteRow, now: Now) {
        self.throttle = Throttle::restore(row, self.limits.sessions_max, now);
        self.stored_ms = Some(row.changed_ms);
        let is_recent = (0..WORKED_RECENTLY_MS).contains(&(now.wall_ms - row.changed_ms));
        if is_recent && row.failures == 0 && row.suspended_until_ms.is_none() {
            self.opened_ms = Some(now.elapsed_ms);
        }
    }

    /// Returns the row to store.
    pub(super) fn row(&mut self, name: &str, now: Now) -> SiteRow {
        self.stored_ms = Some(now.wall_ms);
        self.throttle.row(name, now)
    }

    /// Returns whether a success is to be stored although the throttle is unchanged, for the next start.
    pub(super) fn is_success_due(&self, now: Now) -> bool {
        self.stored_ms.is_none_or(|stored_ms| (now.wall_ms - stored_ms).abs() >= SUCCESS_STORED_EVERY_MS)
    }

    /// Forgets the lanes.
    pub(super) fn clear(&mut self) {
        (self.transactional, self.bulk) = (LaneRotation::default(), LaneRotation::default());
        self.ready = 0;
    }

    /// Forgets the lanes of a class, and the due groups of one of them.
    pub(super) fn forget(&mut self, class: Class, ready: usize) {
        match class {
            Class::Transactional => self.transactional = LaneRotation::default(),
            Class::Broadcast => self.bulk = LaneRotation::default(),
        }
        self.ready = self.ready.saturating_sub(ready);
    }

    pub(super) fn kind(&self, now_ms: i64) -> SiteKind {
        if self.opened_ms.is_some_and(|opened_ms| now_ms - opened_ms < WORKING_MS) {
            SiteKind::Working
        } else if self.throttle.is_after_failure() {
            SiteKind::Failing
        } else {
            SiteKind::New
        }
    }

    /// Returns whether to start one more session. The site must not be paused, must have tokens, be below its limit,
    /// and have more groups than its sessions take next.
    pub(super) fn needs_session(&self, now: Now) -> bool {
        let busy = self.counted().saturating_sub(self.idle + self.stuck);
        let enough = if self.idle > 0 { self.idle * TAKE_MAX } else { busy };
        let has_tokens = self.connections.tokens(now.elapsed_ms) > 0 && self.messages_at_ms(now) <= now.elapsed_ms;
        self.throttle.paused_until_ms() <= now.elapsed_ms
            && self.counted() < self.throttle.limit()
            && self.ready > enough
            && has_tokens
    }

    /// Returns the number of sessions that count for the limit.
    fn counted(&self) -> usize {
        self.sessions.saturating_sub(self.slow)
    }

    /// Returns whether one more session may wait for a slow server: at most a third of the limit does.
    pub(super) fn may_be_slow(&self) -> bool {
        self.slow < (self.throttle.learned_limit() / 3).max(1)
    }

    pub(super) fn set_allowance(&mut self, stored: Allowance) {
        self.allowance.get_or_insert(stored).refresh(stored);
    }

    /// Returns whether a warm-up plan that has not ended limits the messages of the day.
    pub(super) fn is_warming_up(&self) -> bool {
        self.allowance.is_some_and(|allowance| allowance.messages_max.is_some())
    }

    pub(super) fn allowance(&self) -> Option<Allowance> {
        self.allowance
    }

    /// Returns the number of groups of a class that may be taken now.
    pub(super) fn allowed(&self, class: Class, now: Now) -> usize {
        let left = self.allowance.map_or(usize::MAX, |allowance| allowance.left(class, now.wall_ms));
        self.messages.tokens(now.elapsed_ms).min(left)
    }

    /// Counts groups that a session takes.
    pub(super) fn take_messages(&mut self, groups: usize, now: Now) {
        self.messages.take(groups, now.elapsed_ms);
        if let Some(allowance) = &mut self.allowance {
            allowance.take(groups, now.wall_ms);
        }
    }

    /// Counts groups that a session took and did not send.
    pub(super) fn give_back_messages(&mut self, groups: usize) {
        self.messages.give_back(groups);
        if let Some(allowance) = &mut self.allowance {
            allowance.give_back(groups);
        }
    }

    /// Returns the time from which groups may be taken; `now` if the limits allow it. Waits for several tokens, so that
    /// the groups share a commit.
    pub(super) fn messages_at_ms(&self, now: Now) -> i64 {
        let tokens_ms = match self.messages.tokens(now.elapsed_ms) {
            0 => self.messages.available_at_ms(self.ready.clamp(1, TAKE_MAX), now.elapsed_ms),
            _ => now.elapsed_ms,
        };
        tokens_ms.max(if self.is_used_up(now) { now.elapsed_ms + tomorrow_ms(now) } else { now.elapsed_ms })
    }

    /// Returns whether the groups of a class wait for the end of a pause, or for the next day.
    pub(super) fn is_held(&self, class: Class, now: Now) -> bool {
        let is_used_up = self.allowance.is_some_and(|allowance| allowance.left(class, now.wall_ms) == 0);
        self.throttle.paused_until_ms() > now.elapsed_ms || is_used_up
    }

    /// Returns whether no lane has an allowance left.
    pub(super) fn is_used_up(&self, now: Now) -> bool {
        let Some(allowance) = self.allowance else { return false };
        let lanes = [(Class::Transactional, &self.transactional), (Class::Broadcast, &self.bulk)];
        !self.is_empty()
            && lanes.into_iter().all(|(class, lanes)| lanes.is_empty() || allowance.left(class, now.wall_ms) == 0)
    }

    /// Returns the time at which the site can start a session that it cannot start now. `None` if it has no lanes or
    /// its sessions continue on their own.
    pub(super) fn waits_until_ms(&self, now: Now) -> Option<i64> {
        let needs_connection = self.connections.tokens(now.elapsed_ms) == 0 && self.counted() < self.throttle.limit();
        if self.is_empty() || (self.sessions > 0 && !needs_connection) {
            return None;
        }
        let connection_ms = self.connections.available_at_ms(1, now.elapsed_ms);
        let at_ms = self.messages_at_ms(now).max(connection_ms).max(self.throttle.paused_until_ms());
        (at_ms > now.elapsed_ms).then_some(at_ms)
    }

    /// Adds a lane of a team.
    pub(super) fn push(&mut self, team: TeamId, lane: LaneKey) {
        self.rotation(lane.class).push(team, lane);
    }

    /// Puts a lane back that was popped and not taken.
    pub(super) fn put_back(&mut self, team: TeamId, lane: LaneKey) {
        self.rotation(lane.class).put_back(team, lane);
    }

    /// Charges the groups that a session takes of a lane.
    pub(super) fn charge(&mut self, team: TeamId, lane: LaneKey, groups: usize) {
        self.rotation(lane.class).charge(team, lane.stream, groups);
    }

    fn rotation(&mut self, class: Class) -> &mut LaneRotation {
        match class {
            Class::Transactional => &mut self.transactional,
            Class::Broadcast => &mut self.bulk,
        }
    }

    /// Removes and returns the next lane with an allowance. Transactional mail goes first, and bulk mail gets one of ten
    /// turns.
    pub(super) fn pop(&mut self, now: Now) -> Option<LaneKey> {
        self.turns = self.turns.wrapping_add(1);
        let has_bulk = !self.bulk.is_empty() && self.allowed(Class::Broadcast, now) > 0;
        if self.turns.is_multiple_of(BULK_EVERY) && has_bulk {
            return self.bulk.pop();
        }
        let has_transactional = self.allowed(Class::Transactional, now) > 0;
        let transactional = if has_transactional { self.transactional.pop() } else { None };
        transactional.or_else(|| if has_bulk { self.bulk.pop() } else { None })
    }

    pub(super) fn lanes(&self) -> usize {
        self.transactional.len() + self.bulk.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.transactional.is_empty() && self.bulk.is_empty()
    }

    pub(super) fn opened(&mut self, host: &str, now_ms: i64) {
        self.opened_ms = Some(now_ms);
        if self.opened_host.as_deref() != Some(host) {
            self.opened_host = Some(host.to_owned());
        }
    }

    /// Returns the host of the last session that was opened.
    pub(super) fn opened_host(&self) -> Option<&str> {
        self.opened_host.as_deref()
    }

    /// Records that a lane was added.
    pub(super) fn used(&mut self, now_ms: i64) {
        self.used_ms = now_ms;
    }

    /// Returns whether nothing is known about the site that a new entry would not have. The next lane then follows a new
    /// lookup, which reads the stored state.
    pub(super) fn is_forgettable(&self, now_ms: i64) -> bool {
        let is_used = !self.is_empty() || self.sessions > 0 || now_ms - self.used_ms < WORKING_MS;
        !is_used && self.throttle.is_forgettable(now_ms) && self.kind(now_ms) != SiteKind::Working
    }
}

/// Returns the time until the allowance of the next day, or until the clock is read again.
fn tomorrow_ms(now: Now) -> i64 {
    until_tomorrow_ms(now.wall_ms).min(TOMORROW_MAX_MS)
}
