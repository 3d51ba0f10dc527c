//! The state of all sites, for operators.

use std::sync::Arc;
use std::time::Duration;

use super::shares::SiteKind;
use super::site::SiteState;
use super::{Now, Schedule};
use crate::base::clock::TimestampMs;
use crate::delivery::warm_up::until_tomorrow_ms;

/// The state of a site at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteSnapshot {
    /// Name of the site, as in the log.
    pub name: Arc<str>,
    pub kind: SiteKind,
    /// Number of sessions, including the idle ones and those that are being opened.
    pub sessions: usize,
    /// Number of open sessions that wait for groups or tokens.
    pub idle: usize,
    /// Current limit of the sessions.
    pub sessions_max: usize,
    /// Number of lanes with due groups that wait for a session.
    pub lanes: usize,
    /// Number of due groups in these lanes, as far as known: a lane counts at most some dozens.
    pub ready: usize,
    /// Reason why the site gets no further message now, and the time left.
    pub hold: Option<(SiteHold, Duration)>,
    /// Time left until a suspension for the reputation of this server ends. A message that is accepted ends it earlier.
    pub suspended: Option<Duration>,
    /// Last refusal without addresses, and its time.
    pub last_reply: Option<(Arc<str>, TimestampMs)>,
    /// URL to request removal from the blocklist of the provider, or its page for senders.
    pub delisting: Option<&'static str>,
    /// Maximum number of messages a second; `None` is no limit.
    pub messages_per_second: Option<f64>,
    /// Messages of today and their maximum; `None` without a warm-up plan, or after its end.
    pub warm_up: Option<(u32, u32)>,
}

/// Reason why a site gets no further message now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SiteHold {
    /// A session or a message failed. One message follows after the pause.
    Failure,
    /// The site refuses mail for the reputation of this server. One message follows after the pause.
    Reputation,
    /// The messages or connections of the site have reached their rate.
    Rate,
    /// The messages of today have reached the allowance of the warm-up plan.
    WarmUp,
}

impl Schedule {
    /// Returns the state of all sites, in no order. Costs some hundred nanoseconds a site, and blocks the schedule.
    pub(in crate::delivery) fn sites(&self, now: Now) -> Vec<SiteSnapshot> {
        self.sites.iter().map(|(name, site)| site.snapshot(name, now)).collect()
    }
}

impl SiteState {
    fn snapshot(&self, name: &Arc<str>, now: Now) -> SiteSnapshot {
        let left = |until_ms: i64| Duration::from_millis(u64::try_from(until_ms - now.elapsed_ms).unwrap_or(0));
        let suspension = self.throttle.suspension(now.elapsed_ms);
        SiteSnapshot {
            name: Arc::clone(name),
            kind: self.kind(now.elapsed_ms),
            sessions: self.sessions,
            idle: self.idle,
            sessions_max: self.throttle.limit(),
            lanes: self.lanes(),
            ready: self.ready,
            hold: self.hold(now).map(|(hold, until_ms)| (hold, left(until_ms))),
            suspended: suspension.map(|suspension| left(suspension.until_ms)),
            last_reply: self.throttle.last_reply(),
            delisting: self.provider.and_then(|provider| provider.delisting),
            messages_per_second: self.messages.per_second(),
            warm_up: self
                .allowance()
                .and_then(|allowance| Some((allowance.used(now.wall_ms), allowance.messages_max?))),
        }
    }

    /// Returns the reason that the site gets no further message now, and its end.
    pub(super) fn hold(&self, now: Now) -> Option<(SiteHold, i64)> {
        let paused_until_ms = self.throttle.paused_until_ms();
        if paused_until_ms > now.elapsed_ms {
            let is_suspended = self.throttle.suspension(now.elapsed_ms).is_some();
            let hold = if is_suspended { SiteHold::Reputation } else { SiteHold::Failure };
            return Some((hold, paused_until_ms));
        }
        if self.is_used_up(now) {
            return Some((SiteHold::WarmUp, now.elapsed_ms + until_tomorrow_ms(now.wall_ms)));
        }
        let connection_ms = self.connections.available_at_ms(1, now.elapsed_ms);
        let needs_connection = self.sessions == 0 && !self.is_empty();
        let at_ms = self.messages_at_ms(now).max(if needs_connection { connection_ms } else { now.elapsed_ms });
        (at_ms > now.elapsed_ms).then_some((SiteHold::Rate, at_ms))
    }
}
