//! The retry schedule: the time of the next attempt for a deferred group. No I/O.

use std::time::Duration;

use super::rows::{Class, DueRow};
use crate::base::clock::TimestampMs;

/// Maximum deviation of a delay in percent, in both directions. Groups that failed together get
/// different retry times.
const JITTER_PERCENT: i64 = 20;
/// Maximum delay after greylisting. Such servers accept a retry after some minutes.
const SHORT_MS_MAX: i64 = 5 * 60_000;
/// Period of these short delays, from the first due time of a group. Greylisting ends within hours. A server that
/// still refuses has another reason.
const SHORT_PERIOD_MS: i64 = 4 * 3_600_000;
/// Text of the failure of a recipient whose retry period has ended. RFC 3463 §3.5: 4.4.7 is an expired delivery time.
pub(super) const EXPIRED_TEXT: &str = "4.4.7 delivery time expired";
/// Age of a group from which each of its `email.delivery_delayed` events is recorded, in
/// milliseconds since its first due time.
const DELAY_REPORTED_AFTER_MS: [i64; 3] = [0, 4 * 3_600_000, 24 * 3_600_000];

/// Delays between attempts, and the retry periods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetrySchedule {
    /// Delay after each attempt. The last one repeats.
    pub delays: Vec<Duration>,
    /// Retry period of transactional email, from the first due time of a group.
    pub expire_after: Duration,
    /// Retry period of broadcasts, from the first attempt of a group.
    pub expire_broadcasts_after: Duration,
    /// Minimum time between the two attempts that must find a destination missing before its recipients bounce.
    pub confirm_after: Duration,
}

/// Delay before the next attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RetryDelay {
    /// Delay of the schedule.
    Ordinary,
    /// Delay of the schedule, in the first four hours at most five minutes.
    Short,
    /// Pause that the reply names, but not shorter than [`RetryDelay::Short`].
    Named { pause: Duration },
    /// No delay: the recipient continues in another transaction.
    Immediate,
    /// No delay: the group stays due while its destination is paused.
    Held,
    /// [`RetrySchedule::confirm_after`], before a second attempt confirms that the destination is missing.
    Confirm,
}

impl RetrySchedule {
    /// Returns the time of the next attempt after attempt number `attempts` (from 1), at most the end of the retry
    /// period. `None` if the period has ended. An attempt that continues in another transaction ignores the period.
    ///
    /// `spread` is a random number that selects the jitter. Equal numbers return equal times.
    pub(super) fn next_attempt(
        &self,
        delay: RetryDelay,
        attempts: u16,
        (class, due): (Class, &DueRow),
        now_ms: TimestampMs,
        spread: u64,
    ) -> Option<TimestampMs> {
        let expires_ms = self.expires_ms(class, due);
        // The last attempt is at the end of the period, and can need several transactions.
        if now_ms >= expires_ms && delay != RetryDelay::Immediate {
            return None;
        }
        let delay_ms = match delay {
            RetryDelay::Immediate | RetryDelay::Held => return Some(now_ms),
            RetryDelay::Confirm => return Some((now_ms + millis(self.confirm_after)).min(expires_ms)),
            RetryDelay::Short if now_ms - due.first_due_ms < SHORT_PERIOD_MS => {
                self.delay_ms(attempts).min(SHORT_MS_MAX)
            }
            RetryDelay::Ordinary | RetryDelay::Short => self.delay_ms(attempts),
            RetryDelay::Named { pause } => {
                let delay_ms = millis(pause).max(self.delay_ms(attempts).min(SHORT_MS_MAX));
                // Not before the end of the pause.
                let later_ms = i64::try_from(spread % 1_000).unwrap_or(0) * delay_ms * JITTER_PERCENT / 100 / 1_000;
                return Some((now_ms + delay_ms + later_ms).min(expires_ms));
            }
        };
        let jitter_ms = delay_ms * JITTER_PERCENT / 100;
        let span = u64::try_from(2 * jitter_ms + 1).unwrap_or(1);
        let offset_ms = i64::try_from(spread % span).unwrap_or(0) - jitter_ms;
        // The last attempt is at the end of the period, not after it.
        Some((now_ms + delay_ms + offset_ms).min(expires_ms))
    }

    /// Returns the end of the retry period of a group.
    pub(super) fn expires_ms(&self, class: Class, due: &DueRow) -> TimestampMs {
        let period = match class {
            Class::Transactional => self.expire_after,
            Class::Broadcast => self.expire_broadcasts_after,
        };
        due.first_due_ms.saturating_add(millis(period))
    }

    /// Returns whether the destination of a group has been missing for the confirmation time.
    pub(super) fn is_confirmed_missing(&self, due: &DueRow, now_ms: TimestampMs) -> bool {
        due.vanished_ms.is_some_and(|since_ms| now_ms - since_ms >= millis(self.confirm_after))
    }

    fn delay_ms(&self, attempts: u16) -> i64 {
        let index = usize::from(attempts.saturating_sub(1)).min(self.delays.len().saturating_sub(1));
        millis(self.delays.get(index).copied().unwrap_or(Duration::from_secs(60)))
    }
}

/// Returns a duration in milliseconds, at most a quarter of the range so that sums with it do not overflow.
fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 4).min(i64::MAX / 4)
}

/// Returns whether to record the next `email.delivery_delayed` event of a group, after `reported` earlier ones. A group
/// gets one immediately, one after four hours and one after a day.
pub(super) fn should_report_delay(reported: u8, due: &DueRow, now_ms: TimestampMs) -> bool {
    let age_ms = now_ms - due.first_due_ms;
    DELAY_REPORTED_AFTER_MS.get(usize::from(reported)).is_some_and(|after_ms| age_ms >= *after_ms)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::base::id::Id;

    const MINUTE_MS: i64 = 60_000;

    fn due() -> DueRow {
        DueRow::fresh(Id::MIN, "example.net".into(), 0)
    }

    /// Returns the next attempt of a transactional group.
    fn next_attempt(delay: RetryDelay, attempts: u16, due: &DueRow, now_ms: i64, spread: u64) -> Option<i64> {
        schedule().next_attempt(delay, attempts, (Class::Transactional, due), now_ms, spread)
    }

    fn schedule() -> RetrySchedule {
        let minutes = [1, 3, 5, 10, 20, 40, 60, 120, 240];
        RetrySchedule {
            delays: minutes.map(|minutes| Duration::from_secs(minutes * 60)).to_vec(),
            expire_after: Duration::from_secs(48 * 3600),
            expire_broadcasts_after: Duration::from_secs(72 * 3600),
            confirm_after: Duration::from_secs(15 * 60),
        }
    }

    #[test]
    fn the_delays_follow_the_schedule_and_the_last_one_repeats() {
        // The middle of the jitter range is an offset of zero.
        for (attempts, minutes) in [(1, 1), (2, 3), (6, 40), (9, 240), (30, 240)] {
            let delay_ms = minutes * MINUTE_MS;
            let middle = u64::try_from(delay_ms * JITTER_PERCENT / 100).unwrap();

            let next = next_attempt(RetryDelay::Ordinary, attempts, &due(), 0, middle);

            assert_eq!(next, Some(delay_ms), "attempt {attempts}");
        }
    }

    #[test]
    fn an_expired_group_has_no_next_attempt_and_the_last_attempt_is_at_the_end_of_the_period() {
        for (class, hours) in [(Class::Transactional, 48), (Class::Broadcast, 72)] {
            let expires_ms = hours * 60 * MINUTE_MS;
            let next = |now_ms| schedule().next_attempt(RetryDelay::Ordinary, 20, (class, &due()), now_ms, 0);

            assert_eq!(next(expires_ms), None, "{class:?}");
            assert_eq!(next(expires_ms - 1), Some(expires_ms), "{class:?}");
        }
    }

    #[test]
    fn the_delay_after_greylisting_is_short_for_four_hours() {
        let short = |attempts, now_ms| {
            let middle = |delay_ms: i64| u64::try_from(delay_ms * JITTER_PERCENT / 100).unwrap();
            let delay_ms = if now_ms < 240 * MINUTE_MS { 5 } else { 240 } * MINUTE_MS;
            next_attempt(RetryDelay::Short, attempts, &due(), now_ms, middle(delay_ms)).unwrap() - now_ms
        };

        assert_eq!(short(9, 0), 5 * MINUTE_MS);
        assert_eq!(short(40, 240 * MINUTE_MS - 1), 5 * MINUTE_MS);
        assert_eq!(short(40, 240 * MINUTE_MS), 240 * MINUTE_MS);
        assert_eq!(next_attempt(RetryDelay::Short, 1, &due(), 0, 12_000), Some(MINUTE_MS));
    }

    #[test]
    fn the_delay_that_a_reply_names_is_at_least_the_short_one_and_gets_only_later() {
        for (seconds, attempts, spread, delay_ms) in [
            (300, 1, 0, 300_000),
            (300, 1, 500, 330_000),
            (300, 1, 999, 359_940),
            (1, 1, 0, MINUTE_MS),
            (1, 9, 0, 5 * MINUTE_MS),
            (7_200, 9, 0, 7_200_000),
        ] {
            let delay = RetryDelay::Named { pause: Duration::from_secs(seconds) };
            let next = next_attempt(delay, attempts, &due(), 0, spread);
            assert_eq!(next, Some(delay_ms), "{seconds} {attempts} {spread}");
        }
    }

    #[test]
    fn only_an_attempt_that_continues_in_another_transaction_may_follow_the_period() {
        let expires_ms = schedule().expires_ms(Class::Transactional, &due());
        let next = |delay| next_attempt(delay, 1, &due(), expires_ms, 7);

        assert_eq!(next(RetryDelay::Immediate), Some(expires_ms));
        for delay in [RetryDelay::Ordinary, RetryDelay::Short, RetryDelay::Held, RetryDelay::Confirm] {
            assert_eq!(next(delay), None, "{delay:?}");
        }
    }

    #[test]
    fn a_missing_destination_is_confirmed_after_fifteen_minutes() {
        let since = DueRow { vanished_ms: Some(1_000), ..due() };

        assert_eq!(next_attempt(RetryDelay::Confirm, 1, &since, 1_000, 7), Some(1_000 + 15 * MINUTE_MS));
        assert!(!schedule().is_confirmed_missing(&since, 1_000 + 15 * MINUTE_MS - 1));
        assert!(schedule().is_confirmed_missing(&since, 1_000 + 15 * MINUTE_MS));
        assert!(!schedule().is_confirmed_missing(&due(), 1_000 + 15 * MINUTE_MS));
    }

    #[test]
    fn a_delay_is_reported_immediately_after_four_hours_and_after_a_day() {
        let hours = |hours: i64| hours * 60 * MINUTE_MS;
        for (reported, at_ms, expected) in [
            (0, 0, true),
            (1, hours(3), false),
            (1, hours(4), true),
            (2, hours(23), false),
            (2, hours(24), true),
            (3, hours(47), false),
        ] {
            assert_eq!(should_report_delay(reported, &due(), at_ms), expected, "{reported} reported, at {at_ms}");
        }
    }

    proptest! {
        #[test]
        fn the_next_attempt_is_within_the_jitter(attempts in 1_u16..40, spread: u64, now_ms in 0_i64..1_000_000) {
            let delay_ms = schedule().delay_ms(attempts);

            let next = next_attempt(RetryDelay::Ordinary, attempts, &due(), now_ms, spread).unwrap();

            prop_assert!(next >= now_ms + delay_ms * 8 / 10);
            prop_assert!(next <= now_ms + delay_ms * 12 / 10);
        }
    }
}
