//! When a deferred group is tried again. Pure.

use std::time::Duration;

use super::rows::DueRow;
use crate::base::clock::TimestampMs;

/// The delay is spread by this many percent either way, so that what failed together does not
/// come back together.
const JITTER_PERCENT: i64 = 20;
/// The delay after a greylisting: servers that do it ask for minutes.
const SHORT_MS_MAX: i64 = 5 * 60_000;
/// How long a destination whose name has vanished is given to come back.
pub(super) const CONFIRM_AFTER_MS: i64 = 15 * 60_000;
/// After how long a delay is told again, in hours since the first attempt was due.
const DELAY_REPORTED_AFTER_MS: [i64; 3] = [0, 4 * 3_600_000, 24 * 3_600_000];

/// How often and how long delivery is tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetrySchedule {
    /// The delay after each attempt; the last one repeats.
    pub delays: Vec<Duration>,
    /// How long after it was first due a group is given up.
    pub expire_after: Duration,
}

/// Which delay applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RetryDelay {
    /// The schedule's.
    Ordinary,
    /// The schedule's, but minutes at the most.
    Short,
    /// None: what is left of a transaction goes on in another.
    Immediate,
    /// As long as it takes to tell a name that is gone from one that was lost for a moment.
    Confirm,
}

impl RetrySchedule {
    /// Returns when a group is tried again after its attempt number `attempts` (from 1), or `None`
    /// when it has expired. `spread` is any number; the same one gives the same time.
    pub(super) fn next_attempt(
        &self,
        pace: RetryDelay,
        attempts: u16,
        due: &DueRow,
        now_ms: TimestampMs,
        spread: u64,
    ) -> Option<TimestampMs> {
        if now_ms >= self.expires_ms(due) {
            return None;
        }
        let delay_ms = match pace {
            RetryDelay::Immediate => return Some(now_ms),
            RetryDelay::Confirm => return Some((now_ms + CONFIRM_AFTER_MS).min(self.expires_ms(due))),
            RetryDelay::Ordinary => self.delay_ms(attempts),
            RetryDelay::Short => self.delay_ms(attempts).min(SHORT_MS_MAX),
        };
        let jitter_ms = delay_ms * JITTER_PERCENT / 100;
        let span = u64::try_from(2 * jitter_ms + 1).unwrap_or(1);
        let offset_ms = i64::try_from(spread % span).unwrap_or(0) - jitter_ms;
        // A last attempt is made when the time is up, not after it.
        Some((now_ms + delay_ms + offset_ms).min(self.expires_ms(due)))
    }

    /// Returns when a group is given up.
    pub(super) fn expires_ms(&self, due: &DueRow) -> TimestampMs {
        due.first_due_ms.saturating_add(i64::try_from(self.expire_after.as_millis()).unwrap_or(i64::MAX))
    }

    fn delay_ms(&self, attempts: u16) -> i64 {
        let index = usize::from(attempts.saturating_sub(1)).min(self.delays.len().saturating_sub(1));
        let delay = self.delays.get(index).copied().unwrap_or(Duration::from_secs(60));
        i64::try_from(delay.as_millis()).unwrap_or(i64::MAX / 4)
    }
}

/// Returns whether a delay is told once more, `told` times after it was first: at once, after four
/// hours and after a day.
pub(super) fn should_report_delay(told: u8, due: &DueRow, now_ms: TimestampMs) -> bool {
    let age_ms = now_ms - due.first_due_ms;
    DELAY_REPORTED_AFTER_MS.get(usize::from(told)).is_some_and(|after_ms| age_ms >= *after_ms)
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

    fn schedule() -> RetrySchedule {
        let minutes = [1, 3, 5, 10, 20, 40, 60, 120, 240];
        RetrySchedule {
            delays: minutes.map(|minutes| Duration::from_secs(minutes * 60)).to_vec(),
            expire_after: Duration::from_secs(48 * 3600),
        }
    }

    #[test]
    fn the_delays_follow_the_schedule_and_the_last_one_repeats() {
        // The middle of the spread is no offset at all.
        for (attempts, minutes) in [(1, 1), (2, 3), (6, 40), (9, 240), (30, 240)] {
            let delay_ms = minutes * MINUTE_MS;
            let middle = u64::try_from(delay_ms * JITTER_PERCENT / 100).unwrap();

            let next = schedule().next_attempt(RetryDelay::Ordinary, attempts, &due(), 0, middle);

            assert_eq!(next, Some(delay_ms), "attempt {attempts}");
        }
    }

    #[test]
    fn an_expired_group_is_given_up_and_one_about_to_expire_gets_a_last_attempt() {
        let expires_ms = 48 * 60 * MINUTE_MS;

        assert_eq!(schedule().next_attempt(RetryDelay::Ordinary, 20, &due(), expires_ms, 0), None);
        assert_eq!(schedule().next_attempt(RetryDelay::Ordinary, 20, &due(), expires_ms - 1, 0), Some(expires_ms));
    }

    #[test]
    fn a_delay_is_told_at_once_after_four_hours_and_after_a_day() {
        let hours = |hours: i64| hours * 60 * MINUTE_MS;
        for (told, at_ms, tells) in [
            (0, 0, true),
            (1, hours(3), false),
            (1, hours(4), true),
            (2, hours(23), false),
            (2, hours(24), true),
            (3, hours(47), false),
        ] {
            assert_eq!(should_report_delay(told, &due(), at_ms), tells, "told {told} at {at_ms}");
        }
    }

    proptest! {
        #[test]
        fn the_next_attempt_lies_within_the_spread(attempts in 1_u16..40, spread: u64, now_ms in 0_i64..1_000_000) {
            let schedule = schedule();
            let delay_ms = schedule.delay_ms(attempts);

            let next = schedule.next_attempt(RetryDelay::Ordinary, attempts, &due(), now_ms, spread).unwrap();

            prop_assert!(next >= now_ms + delay_ms * 8 / 10);
            prop_assert!(next <= now_ms + delay_ms * 12 / 10);
        }
    }
}
