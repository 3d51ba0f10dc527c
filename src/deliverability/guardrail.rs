//! The guardrail: limits of the bounce and complaint rates, and the status of a team. Pure.
//!
//! All comparisons use integers, so that a rate exactly at a limit crosses it.

use crate::base::words::words;
use crate::email_metrics::DayTotals;
use crate::events::RateMetric;

/// Recipients in a window below which no limit applies.
pub const SENT_MIN: u64 = 100;
/// UTC days of the window of a warning, including the current one.
pub(super) const WARNING_DAYS: u32 = 7;
/// UTC days of the window of a pause: the current one and the one before.
pub(super) const PAUSE_DAYS: u32 = 2;

words! {
    /// Status of the sending of a team.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub enum GuardrailStatus {
        #[default]
        Ok = "ok",
        /// A rate is high. Broadcasts are slowed down.
        Warning = "warning",
        /// A rate is too high. New sends are refused.
        Paused = "paused",
    }
}

/// Limit of a rate over a window of days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitLine {
    /// Limit in hundredths of a percent.
    pub per_10_000: u64,
    /// Events below which the limit does not apply.
    pub events_min: u64,
    /// UTC days of the window, including the current one.
    pub window_days: u32,
}

const BOUNCE_WARNING: RateLimitLine = RateLimitLine { per_10_000: 400, events_min: 1, window_days: WARNING_DAYS };
const BOUNCE_PAUSE: RateLimitLine = RateLimitLine { per_10_000: 500, events_min: 10, window_days: PAUSE_DAYS };
const COMPLAINT_WARNING: RateLimitLine = RateLimitLine { per_10_000: 5, events_min: 2, window_days: WARNING_DAYS };
const COMPLAINT_PAUSE: RateLimitLine = RateLimitLine { per_10_000: 10, events_min: 3, window_days: PAUSE_DAYS };

impl RateLimitLine {
    /// Returns the limit of a metric above which a team is warned.
    pub const fn of_warning(metric: RateMetric) -> Self {
        match metric {
            RateMetric::Bounce => BOUNCE_WARNING,
            RateMetric::Complaint => COMPLAINT_WARNING,
        }
    }

    /// Returns the limit of a metric above which sending is paused.
    pub const fn of_pause(metric: RateMetric) -> Self {
        match metric {
            RateMetric::Bounce => BOUNCE_PAUSE,
            RateMetric::Complaint => COMPLAINT_PAUSE,
        }
    }

    /// Returns the limit as a fraction.
    pub fn fraction(self) -> f64 {
        fraction(self.per_10_000, 10_000)
    }

    /// Returns whether `count` of `sent` recipients reach the limit.
    pub fn is_crossed(self, count: u64, sent: u64) -> bool {
        self.is_crossed_from(count, sent, SENT_MIN)
    }

    /// Does the same as [`RateLimitLine::is_crossed`], with a minimum number of recipients.
    pub fn is_crossed_from(self, count: u64, sent: u64, sent_min: u64) -> bool {
        sent >= sent_min
            && count >= self.events_min
            && u128::from(count) * 10_000 >= u128::from(self.per_10_000) * u128::from(sent)
    }

    /// Returns whether `count` of `sent` recipients are below nine tenths of the limit.
    fn is_left(self, count: u64, sent: u64) -> bool {
        u128::from(count) * 100_000 < u128::from(self.per_10_000) * 9 * u128::from(sent)
    }
}

/// Returns a rate between 0 and 1, rounded to millionths; 0 without recipients.
#[expect(clippy::cast_precision_loss, reason = "counts of emails are far below 2^52")]
pub fn fraction(count: u64, sent: u64) -> f64 {
    if sent == 0 { 0.0 } else { (count as f64 / sent as f64 * 1e6).round() / 1e6 }
}

/// Recipients that email was sent to in a window of days. A bounce or a complaint belongs to the day of the send. A
/// late report about many emails is therefore not divided by the few sends of its own day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowCounts {
    pub sent: u64,
    /// Bounced permanently.
    pub bounced: u64,
    pub complained: u64,
}

impl From<DayTotals> for WindowCounts {
    fn from(totals: DayTotals) -> Self {
        let DayTotals { sent, sent_and_bounced, sent_and_complained, .. } = totals;
        Self { sent, bounced: sent_and_bounced, complained: sent_and_complained }
    }
}

impl WindowCounts {
    /// Returns the number of events of a metric.
    pub const fn count(&self, metric: RateMetric) -> u64 {
        match metric {
            RateMetric::Bounce => self.bounced,
            RateMetric::Complaint => self.complained,
        }
    }

    /// Returns the sums of two windows.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            sent: self.sent.saturating_add(other.sent),
            bounced: self.bounced.saturating_add(other.bounced),
            complained: self.complained.saturating_add(other.complained),
        }
    }

    /// Returns a window without the counts of a part of it.
    #[must_use]
    pub const fn minus(self, part: Self) -> Self {
        Self {
            sent: self.sent.saturating_sub(part.sent),
            bounced: self.bounced.saturating_sub(part.bounced),
            complained: self.complained.saturating_sub(part.complained),
        }
    }

    /// Returns the metric that reaches its limit for a pause; the bounces if both do.
    pub fn paused_by(&self) -> Option<RateMetric> {
        METRICS.into_iter().find(|metric| RateLimitLine::of_pause(*metric).is_crossed(self.count(*metric), self.sent))
    }

    fn warned_by(&self) -> Option<RateMetric> {
        METRICS.into_iter().find(|metric| RateLimitLine::of_warning(*metric).is_crossed(self.count(*metric), self.sent))
    }

    fn has_left_warning(&self) -> bool {
        let is_left = |metric: RateMetric| RateLimitLine::of_warning(metric).is_left(self.count(metric), self.sent);
        self.sent == 0 || METRICS.into_iter().all(is_left)
    }
}

/// Every metric, in the order in which they are checked.
pub const METRICS: [RateMetric; 2] = [RateMetric::Bounce, RateMetric::Complaint];

/// A rate that reaches a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateBreach {
    pub metric: RateMetric,
    pub line: RateLimitLine,
    pub count: u64,
    pub sent: u64,
}

/// The windows of the guardrail of a team.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GuardrailWindows {
    /// The last [`WARNING_DAYS`] days.
    pub warning: WindowCounts,
    /// The last [`PAUSE_DAYS`] days.
    pub pause: WindowCounts,
}

impl GuardrailWindows {
    /// Returns the status.
    pub fn status(&self) -> GuardrailStatus {
        if self.pause.paused_by().is_some() {
            GuardrailStatus::Paused
        } else if self.warning.warned_by().is_some() {
            GuardrailStatus::Warning
        } else {
            GuardrailStatus::Ok
        }
    }

    /// Returns the rate that causes a status; `None` if no rate causes it.
    pub fn breach(&self, status: GuardrailStatus) -> Option<RateBreach> {
        let (window, metric, line): (_, _, fn(RateMetric) -> RateLimitLine) = match status {
            GuardrailStatus::Ok => return None,
            GuardrailStatus::Warning => (self.warning, self.warning.warned_by()?, RateLimitLine::of_warning),
            GuardrailStatus::Paused => (self.pause, self.pause.paused_by()?, RateLimitLine::of_pause),
        };
        Some(RateBreach { metric, line: line(metric), count: window.count(metric), sent: window.sent })
    }

    /// Returns whether an episode ends. The status must be `ok`. Both rates of seven days must be below nine tenths of
    /// the limits of a warning, or nothing was sent in that time.
    pub fn has_recovered(&self) -> bool {
        self.status() == GuardrailStatus::Ok && self.warning.has_left_warning()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(sent: u64, bounced: u64, complained: u64) -> WindowCounts {
        WindowCounts { sent, bounced, complained }
    }

    fn status(warning: WindowCounts, pause: WindowCounts) -> GuardrailStatus {
        GuardrailWindows { warning, pause }.status()
    }

    #[test]
    fn a_warning_begins_exactly_at_its_limits() {
        for (sent, bounced, complained, expected) in [
            (100, 4, 0, GuardrailStatus::Warning),
            (101, 4, 0, GuardrailStatus::Ok),
            (100, 3, 0, GuardrailStatus::Ok),
            (99, 99, 99, GuardrailStatus::Ok),
            (10_000, 400, 0, GuardrailStatus::Warning),
            (10_000, 399, 0, GuardrailStatus::Ok),
            (4_000, 0, 2, GuardrailStatus::Warning),
            (4_001, 0, 2, GuardrailStatus::Ok),
            (100, 0, 1, GuardrailStatus::Ok),
            (100, 0, 2, GuardrailStatus::Warning),
            (u64::MAX, u64::MAX, 0, GuardrailStatus::Warning),
        ] {
            let found = status(counts(sent, bounced, complained), WindowCounts::default());

            assert_eq!(found, expected, "{sent} {bounced} {complained}");
        }
    }

    #[test]
    fn a_pause_begins_exactly_at_its_limits() {
        for (sent, bounced, complained, is_paused) in [
            (200, 10, 0, true),
            (201, 10, 0, false),
            (199, 9, 0, false),
            (100, 9, 0, false),
            (100, 10, 0, true),
            (99, 99, 99, false),
            (10_000, 500, 0, true),
            (10_000, 499, 0, false),
            (3_000, 0, 3, true),
            (3_001, 0, 3, false),
            (100, 0, 2, false),
            (100, 0, 3, true),
        ] {
            let found = status(WindowCounts::default(), counts(sent, bounced, complained));

            assert_eq!(found == GuardrailStatus::Paused, is_paused, "{sent} {bounced} {complained}");
        }
    }

    #[test]
    fn a_breach_has_the_figures_of_its_window() {
        let windows = GuardrailWindows { warning: counts(1_000, 45, 0), pause: counts(200, 10, 3) };

        let paused = windows.breach(GuardrailStatus::Paused).unwrap();
        assert_eq!(
            (paused.metric, paused.count, paused.sent, paused.line),
            (RateMetric::Bounce, 10, 200, BOUNCE_PAUSE)
        );
        let warning = windows.breach(GuardrailStatus::Warning).unwrap();
        assert_eq!((warning.metric, warning.count, warning.sent), (RateMetric::Bounce, 45, 1_000));
        assert_eq!(windows.breach(GuardrailStatus::Ok), None);
    }

    #[test]
    fn an_episode_ends_below_nine_tenths_of_the_limits_or_without_sends() {
        let has_recovered = |warning| GuardrailWindows { warning, pause: WindowCounts::default() }.has_recovered();
        // Nine tenths of 4 % are 3.6 %, and of 0.05 % are 0.045 %.
        assert!(has_recovered(counts(1_000, 35, 0)));
        assert!(!has_recovered(counts(1_000, 36, 0)), "exactly at nine tenths");
        assert!(!has_recovered(counts(1_000, 39, 0)));
        assert!(!has_recovered(counts(20_000, 0, 9)), "exactly at nine tenths");
        assert!(has_recovered(counts(20_001, 0, 9)));
        assert!(has_recovered(counts(0, 0, 0)) && has_recovered(counts(0, 5, 5)));
        assert!(!has_recovered(counts(10, 5, 0)), "few sends do not end an episode");
        let paused = GuardrailWindows { warning: counts(100_000, 200, 0), pause: counts(200, 20, 0) };
        assert!(!paused.has_recovered(), "a pause is within an episode");
    }

    #[test]
    fn a_rate_is_a_fraction_in_millionths() {
        assert_eq!(fraction(0, 0).to_string(), "0");
        assert_eq!(fraction(1, 3).to_string(), "0.333333");
        assert_eq!(BOUNCE_PAUSE.fraction().to_string(), "0.05");
        assert_eq!(COMPLAINT_WARNING.fraction().to_string(), "0.0005");
    }
}
