//! One site: its lanes in turn, its sessions, and its pauses.

use std::sync::Arc;

use tokio::sync::Notify;

use super::health::PAUSE_MAX_MS;
use super::rotation::LaneRotation;
use super::shares::SiteKind;
use crate::delivery::queue::LaneKey;
use crate::delivery::rows::Class;

/// Maximum number of groups that a session takes at a time. Their leases share a commit.
pub(super) const TAKE_MAX: usize = 8;
/// Of this many turns, bulk mail gets at least one.
const BULK_EVERY: u32 = 10;
/// Number of messages without a refusal after which a site gets one more session.
const CLEAN_MESSAGES: u32 = 5;
/// Number of sessions of a site that is new. It grows with each success.
const SESSIONS_START: usize = 2;
/// Time for which a site counts as working after a session was opened.
const WORKING_MS: i64 = 10 * 60 * 1_000;

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
    /// Current limit of the sessions.
    limit: usize,
    limit_max: usize,
    /// Messages without a refusal since the limit last changed.
    clean: u32,
    /// Number of failures since the last success.
    failures: u32,
    failed_ms: i64,
    pub(super) paused_until_ms: i64,
    /// Time of the last session that was opened.
    opened_ms: Option<i64>,
    /// Whether the site is among those that wait for a session.
    pub(super) is_waiting: bool,
    turns: u32,
    /// Notified once for each further due group.
    pub(super) work: Arc<Notify>,
    /// Notified if another site needs the idle sessions.
    pub(super) evict: Arc<Notify>,
}

impl SiteState {
    pub(super) fn new(limit_max: usize) -> Self {
        Self {
            transactional: LaneRotation::default(),
            bulk: LaneRotation::default(),
            ready: 0,
            sessions: 0,
            slow: 0,
            stuck: 0,
            idle: 0,
            limit: SESSIONS_START.min(limit_max),
            limit_max,
            clean: 0,
            failures: 0,
            failed_ms: 0,
            paused_until_ms: 0,
            opened_ms: None,
            is_waiting: false,
            turns: 0,
            work: Arc::default(),
            evict: Arc::default(),
        }
    }

    /// Returns the site of all destinations, which may use all sessions at once.
    pub(super) fn new_single(limit_max: usize) -> Self {
        Self { limit: limit_max, ..Self::new(limit_max) }
    }

    /// Forgets the lanes.
    pub(super) fn clear(&mut self) {
        (self.transactional, self.bulk) = (LaneRotation::default(), LaneRotation::default());
        self.ready = 0;
    }

    /// Returns whether the last session or message failed, so that one group tests whether the site works again.
    pub(super) fn is_after_failure(&self) -> bool {
        self.failures > 0
    }

    pub(super) fn kind(&self, now_ms: i64) -> SiteKind {
        if self.opened_ms.is_some_and(|opened_ms| now_ms - opened_ms < WORKING_MS) {
            SiteKind::Working
        } else if self.failures > 0 {
            SiteKind::Failing
        } else {
            SiteKind::New
        }
    }

    /// Returns whether to start one more session: the site is not paused, is below its limit, and has more groups than
    /// its sessions take next. After a failure, one session tests whether the site works again.
    pub(super) fn needs_session(&self, now_ms: i64) -> bool {
        let counted = self.sessions.saturating_sub(self.slow);
        let busy = counted.saturating_sub(self.idle + self.stuck);
        let enough = if self.idle > 0 { self.idle * TAKE_MAX } else { busy };
        let limit = if self.failures > 0 { 1 } else { self.limit };
        self.paused_until_ms <= now_ms && counted < limit && self.ready > enough
    }

    /// Returns whether one more session may wait for a slow server: at most a third of the limit does.
    pub(super) fn may_be_slow(&self) -> bool {
        self.slow < (self.limit / 3).max(1)
    }

    pub(super) fn push(&mut self, lane: LaneKey) {
        match lane.class {
            Class::Transactional => self.transactional.push(lane),
            Class::Broadcast => self.bulk.push(lane),
        }
    }

    /// Removes and returns the next lane. Transactional mail goes first, and bulk mail gets one of ten turns.
    pub(super) fn pop(&mut self) -> Option<LaneKey> {
        self.turns = self.turns.wrapping_add(1);
        if self.turns.is_multiple_of(BULK_EVERY) && !self.bulk.is_empty() {
            return self.bulk.pop();
        }
        self.transactional.pop().or_else(|| self.bulk.pop())
    }

    pub(super) fn lanes(&self) -> usize {
        self.transactional.len() + self.bulk.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.transactional.is_empty() && self.bulk.is_empty()
    }

    pub(super) fn opened(&mut self, now_ms: i64) {
        self.opened_ms = Some(now_ms);
    }

    /// Counts a message without a refusal.
    pub(super) fn succeeded(&mut self) {
        self.failures = 0;
        self.paused_until_ms = 0;
        self.clean += 1;
        if self.clean >= CLEAN_MESSAGES && self.limit < self.limit_max {
            self.clean = 0;
            self.limit += 1;
        }
    }

    /// Counts a session that could not be opened.
    pub(super) fn open_failed(&mut self, now_ms: i64) {
        self.failures = self.failures.saturating_add(1);
        self.failed_ms = now_ms;
    }

    /// Halves the limit and pauses the site. Returns the end of the pause. Failures of concurrent sessions count once.
    pub(super) fn pause(&mut self, now_ms: i64, pause_ms: impl Fn(u32) -> i64) -> i64 {
        if self.paused_until_ms <= now_ms {
            self.limit = (self.limit / 2).max(1);
            self.clean = 0;
            self.failures = self.failures.saturating_add(1);
            self.failed_ms = now_ms;
            self.paused_until_ms = now_ms + pause_ms(self.failures);
        }
        self.paused_until_ms
    }

    /// Returns whether nothing is known about the site that a new entry would not have.
    pub(super) fn is_forgettable(&self, now_ms: i64) -> bool {
        let is_used = !self.is_empty() || self.sessions > 0 || self.paused_until_ms > now_ms;
        let failed_recently = self.failures > 0 && now_ms - self.failed_ms < 2 * PAUSE_MAX_MS;
        !is_used && !failed_recently && self.kind(now_ms) != SiteKind::Working
    }
}
