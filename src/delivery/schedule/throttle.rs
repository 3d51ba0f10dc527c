//! The throttle of a site: its limit of sessions, its pause and its suspension, from the replies to its messages.
//!
//! The limit increases by one after [`CLEAN_SESSIONS`] sessions in a row and is halved by a refusal. Messages do not count,
//! because a long session would otherwise raise the limit within a second. A refusal for reputation suspends the site: one
//! message for each probe, or none for hours. An accepted message ends both.

use std::sync::Arc;

use super::Now;
use super::health::PAUSE_MAX_MS;
use crate::base::clock::{DAY_MS, TimestampMs};
use crate::delivery::rows::SiteRow;
use crate::delivery::site_refusal::{SiteRefusal, severity};
use crate::delivery::smtp::SiteThrottle;

/// Number of sessions in a row with a message and without a refusal after which a site gets one more session.
const CLEAN_SESSIONS: u32 = 5;
/// Number of sessions of a site that is new.
const SESSIONS_START: usize = 2;
/// Longest suspension. It doubles with each repetition.
const STOP_MAX_MS: i64 = DAY_MS;
const MINUTE_MS: i64 = 60_000;
/// Time for which the limit of a site is kept after its last change.
const KEPT_MS: i64 = 7 * DAY_MS;
/// Maximum difference of the two clocks that is not a step.
const JITTER_MAX_MS: i64 = 1_000;

/// Suspension of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Suspension {
    /// Whether no message is sent. Otherwise one message is sent at a time, after a pause each.
    pub(super) is_stop: bool,
    /// End on the monotonic clock.
    pub(super) until_ms: i64,
}

/// Times of the last changes of the parts of a row, on the wall clock; `None` without a change.
#[derive(Clone, Copy, Debug, Default)]
struct Changes {
    sessions_ms: Option<TimestampMs>,
    failures_ms: Option<TimestampMs>,
    suspension_ms: Option<TimestampMs>,
    reply_ms: Option<TimestampMs>,
    /// Whether `suspension_ms` is earlier than the stored time of the same change, because the clock was set back.
    is_suspension_limited: bool,
    /// Time of the last comparison of the clocks, on the monotonic clock. All changes were made until then.
    compared_ms: i64,
}

impl Changes {
    /// Compares the clocks. If the wall clock was set back, limits the times to that of the last comparison. A part
    /// that has not changed since then is therefore older than each part that has, also if another process changed it.
    /// Call it before a change.
    fn follow_clock(&mut self, now: Now) {
        let at_last_ms = now.wall_ms - (now.elapsed_ms - self.compared_ms);
        let suspension_ms = self.suspension_ms;
        let times = [&mut self.sessions_ms, &mut self.failures_ms, &mut self.suspension_ms, &mut self.reply_ms];
        for at_ms in times.into_iter().flatten() {
            // Without a step, the time stays equal to that of the stored part.
            if *at_ms > at_last_ms + JITTER_MAX_MS {
                *at_ms = at_last_ms;
            }
        }
        self.is_suspension_limited |= self.suspension_ms != suspension_ms;
        self.compared_ms = self.compared_ms.max(now.elapsed_ms);
    }
}

/// The throttle of a site.
#[derive(Clone, Debug)]
pub(super) struct Throttle {
    /// Current limit of the sessions.
    limit: usize,
    limit_max: usize,
    /// Sessions without a refusal since the limit last changed, at most [`CLEAN_SESSIONS`].
    clean: u32,
    /// Whether the limit has grown and is not stored yet.
    has_grown: bool,
    /// Number of failures since the last success.
    failures: u32,
    /// Time of the last failure.
    failed_ms: i64,
    /// Time of the last refusal.
    refused_ms: i64,
    paused_until_ms: i64,
    suspension: Option<Suspension>,
    /// Number of stops since the last success.
    stops: u32,
    /// Last refusal, without addresses.
    last_reply: Option<Arc<str>>,
    changes: Changes,
}

impl Throttle {
    pub(super) fn new(limit_max: usize) -> Self {
        Self {
            limit: SESSIONS_START.min(limit_max),
            limit_max,
            clean: 0,
            has_grown: false,
            failures: 0,
            failed_ms: 0,
            refused_ms: i64::MIN,
            paused_until_ms: 0,
            suspension: None,
            stops: 0,
            last_reply: None,
            changes: Changes::default(),
        }
    }

    /// Returns the throttle of a site that may use all its sessions at once.
    pub(super) fn new_open(limit_max: usize) -> Self {
        Self { limit: limit_max, ..Self::new(limit_max) }
    }

    /// Returns the stored throttle of a site.
    pub(super) fn restore(row: &SiteRow, limit_max: usize, now: Now) -> Self {
        let left_ms = |until_ms: TimestampMs| now.left_ms(until_ms, row.changed_ms, STOP_MAX_MS);
        let suspended = row.suspended_until_ms.map(left_ms).filter(|left_ms| *left_ms > 0);
        let mut changes = Changes {
            sessions_ms: row.sessions_changed_ms,
            failures_ms: row.failures_changed_ms,
            suspension_ms: row.suspension_changed_ms,
            reply_ms: row.last_reply_ms,
            compared_ms: now.elapsed_ms,
            ..Changes::default()
        };
        // The clock can have been set back since the row was stored.
        changes.follow_clock(now);
        Self {
            limit: usize::from(row.sessions).clamp(1, limit_max),
            failures: row.failures,
            failed_ms: now.elapsed_ms,
            paused_until_ms: now.elapsed_ms + left_ms(row.paused_until_ms),
            suspension: suspended
                .map(|left_ms| Suspension { is_stop: row.is_stopped, until_ms: now.elapsed_ms + left_ms }),
            stops: row.stops,
            last_reply: row.last_reply.as_deref().map(Arc::from),
            changes,
            ..Self::new(limit_max)
        }
    }

    /// Returns the row of a site with this throttle.
    pub(super) fn row(&mut self, name: &str, now: Now) -> SiteRow {
        self.changes.follow_clock(now);
        SiteRow {
            name: name.to_owned(),
            sessions: u16::try_from(self.limit).unwrap_or(u16::MAX),
            sessions_changed_ms: self.changes.sessions_ms,
            failures: self.failures,
            paused_until_ms: now.wall_end_ms(self.paused_until_ms),
            failures_changed_ms: self.changes.failures_ms,
            suspended_until_ms: self.suspension(now.elapsed_ms).map(|suspension| now.wall_end_ms(suspension.until_ms)),
            is_stopped: self.suspension.is_some_and(|suspension| suspension.is_stop),
            stops: self.stops,
            suspension_changed_ms: self.changes.suspension_ms,
            last_reply: self.last_reply.as_deref().map(str::to_owned),
            last_reply_ms: self.changes.reply_ms,
            changed_ms: now.wall_ms,
        }
    }

    /// Returns the current limit of the sessions. After a failure, one session tests whether the site works again.
    pub(super) fn limit(&self) -> usize {
        if self.failures > 0 { 1 } else { self.limit }
    }

    /// Returns the limit that applies when the site works.
    pub(super) fn learned_limit(&self) -> usize {
        self.limit
    }

    /// Returns whether the last session or message failed, so that one group tests whether the site works again.
    pub(super) fn is_after_failure(&self) -> bool {
        self.failures > 0
    }

    /// Returns the time of the last failure; `None` if no session or message failed.
    pub(super) fn failed_ms(&self) -> Option<i64> {
        (self.failed_ms > 0).then_some(self.failed_ms)
    }

    pub(super) fn paused_until_ms(&self) -> i64 {
        self.paused_until_ms
    }

    /// Ends the pause. Returns whether there was one. The next failure doubles the pause as if it had not been ended.
    pub(super) fn end_pause(&mut self, now_ms: i64) -> bool {
        let was_paused = self.paused_until_ms > now_ms;
        self.paused_until_ms = self.paused_until_ms.min(now_ms);
        was_paused
    }

    pub(super) fn suspension(&self, now_ms: i64) -> Option<Suspension> {
        self.suspension.filter(|suspension| suspension.until_ms > now_ms)
    }

    /// Returns the last refusal, without addresses, and its time.
    pub(super) fn last_reply(&self) -> Option<(Arc<str>, TimestampMs)> {
        self.last_reply.clone().zip(self.changes.reply_ms)
    }

    /// Records a message without a refusal that a session took at `taken_ms`. Returns whether the stored state changed. A
    /// message that was taken before the last refusal ends neither a pause nor a suspension. The time of the change is
    /// that of the message, so that a later refusal of another process remains.
    pub(super) fn succeeded(&mut self, taken_ms: i64, now: Now) -> bool {
        if taken_ms <= self.refused_ms {
            return false;
        }
        self.changes.follow_clock(now);
        let at_ms = now.wall_ms - (now.elapsed_ms - taken_ms);
        let (has_failed, was_suspended) = (self.failures > 0, self.suspension.is_some() || self.stops > 0);
        if has_failed {
            latest(&mut self.changes.failures_ms, at_ms);
        }
        if was_suspended {
            latest(&mut self.changes.suspension_ms, at_ms);
        }
        (self.failures, self.stops, self.suspension) = (0, 0, None);
        self.paused_until_ms = 0;
        std::mem::take(&mut self.has_grown) || has_failed || was_suspended
    }

    /// Counts a session that has ended, whose last message was taken at `taken_ms` and not refused. Has no effect if the
    /// site has refused a message since then. The next message stores a limit that has grown.
    pub(super) fn ended_clean(&mut self, taken_ms: i64, now: Now) {
        if taken_ms <= self.refused_ms {
            return;
        }
        self.clean = (self.clean + 1).min(CLEAN_SESSIONS);
        if self.clean == CLEAN_SESSIONS && self.limit < self.limit_max {
            (self.clean, self.has_grown) = (0, true);
            self.limit += 1;
            self.changes.follow_clock(now);
            latest(&mut self.changes.sessions_ms, now.wall_ms);
        }
    }

    /// Counts a session that could not be opened.
    pub(super) fn open_failed(&mut self, now: Now) {
        self.failures = self.failures.saturating_add(1);
        self.failed_ms = now.elapsed_ms;
        self.changes.follow_clock(now);
        latest(&mut self.changes.failures_ms, now.wall_ms);
    }

    /// Limits the sessions and pauses the site. Returns whether the refusal counts: those of concurrent sessions count
    /// once, unless one is more severe. `pause_ms` returns the pause after a number of failures.
    pub(super) fn refused(&mut self, refusal: &SiteRefusal, now: Now, pause_ms: impl Fn(u32) -> i64) -> bool {
        let now_ms = now.elapsed_ms;
        let is_paused = self.paused_until_ms > now_ms;
        let current = match self.suspension(now_ms) {
            Some(Suspension { is_stop: true, .. }) => SiteThrottle::Stop { minutes: 0 },
            Some(Suspension { is_stop: false, .. }) => SiteThrottle::Trickle { minutes: 0 },
            None => SiteThrottle::Halve,
        };
        if is_paused && severity(refusal.throttle) <= severity(current) {
            return false;
        }
        self.failures = self.failures.saturating_add(1);
        (self.clean, self.failed_ms, self.refused_ms) = (0, now_ms, now_ms);
        self.has_grown = false;
        self.changes.follow_clock(now);
        latest(&mut self.changes.failures_ms, now.wall_ms);
        latest(&mut self.changes.sessions_ms, now.wall_ms);
        // Without this change, the stored suspension would continue after a restart.
        let has_ended = self.changes.is_suspension_limited
            && self.suspension.take_if(|suspension| suspension.until_ms <= now_ms).is_some();
        if refusal.is_suspension() || has_ended {
            latest(&mut self.changes.suspension_ms, now.wall_ms);
            self.changes.is_suspension_limited = false;
        }
        (self.last_reply, self.changes.reply_ms) = (Some(refusal.reply.as_str().into()), Some(now.wall_ms));
        let pause_min_ms = pause_ms(1);
        let named_ms =
            refusal.pause.map(|pause| i64::try_from(pause.as_millis()).unwrap_or(i64::MAX).max(pause_min_ms));
        let pause_ms = match refusal.throttle {
            SiteThrottle::Halve if self.suspension(now_ms).is_none() => {
                self.limit = (self.limit / 2).max(1);
                named_ms.unwrap_or_else(|| pause_ms(self.failures))
            }
            // A suspended site stays suspended, with a constant pause between the messages.
            SiteThrottle::Halve => named_ms.unwrap_or(pause_min_ms),
            SiteThrottle::Trickle { minutes } => {
                self.limit = 1;
                let until_ms = now_ms + i64::from(minutes) * MINUTE_MS;
                self.suspension = Some(Suspension { is_stop: false, until_ms });
                named_ms.unwrap_or(pause_min_ms)
            }
            SiteThrottle::Stop { minutes } => {
                self.limit = 1;
                let stop_ms = (i64::from(minutes) * MINUTE_MS).saturating_mul(1 << self.stops.min(10)).min(STOP_MAX_MS);
                self.stops = self.stops.saturating_add(1);
                self.suspension = Some(Suspension { is_stop: true, until_ms: now_ms + stop_ms });
                stop_ms
            }
        };
        self.paused_until_ms = now_ms + pause_ms;
        true
    }

    /// Returns whether nothing is known that a new throttle would not have. A success of the last minutes is known by the
    /// site.
    pub(super) fn is_forgettable(&self, now_ms: i64) -> bool {
        let failed_recently = self.failures > 0 && now_ms - self.failed_ms < 2 * PAUSE_MAX_MS;
        self.paused_until_ms <= now_ms && !failed_recently && self.suspension(now_ms).is_none()
    }
}

/// Moves the time of a change forward. A message can have been taken before the last change.
fn latest(changed_ms: &mut Option<TimestampMs>, at_ms: TimestampMs) {
    *changed_ms = (*changed_ms).max(Some(at_ms));
}

impl SiteRow {
    /// Returns whether the row has no effect any more.
    pub(in crate::delivery) fn is_expired(&self, now_ms: TimestampMs) -> bool {
        let until_ms =
            self.suspended_until_ms.map_or(self.paused_until_ms, |until_ms| until_ms.max(self.paused_until_ms));
        let is_paused = (1..=STOP_MAX_MS).contains(&(until_ms - now_ms));
        !is_paused && (now_ms - self.changed_ms).abs() >= KEPT_MS
    }
}
