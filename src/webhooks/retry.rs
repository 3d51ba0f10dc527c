//! What an attempt means for its delivery. Pure.

use std::time::Duration;

use super::store::ExhaustedReason;
use crate::base::clock::{DAY_MS, TimestampMs};

/// The waits before the second to the seventh attempt: 17.6 hours in all.
pub(super) const RETRY_DELAYS_MS: [i64; 6] =
    [5_000, 5 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS];
/// How long after it was queued a delivery is given up, whatever the schedule says.
pub(super) const EXPIRE_AFTER_MS: i64 = DAY_MS;
/// The longest wait an endpoint can ask for.
const RETRY_AFTER_MS_MAX: i64 = HOUR_MS;
/// The shortest: an endpoint that asks for none would be asked again and again, uncounted.
const RETRY_AFTER_MS_MIN: i64 = 1_000;
const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;

/// How an endpoint answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ResponseInfo {
    /// The status; none when there was no answer.
    pub(super) status: Option<u16>,
    /// The wait it asked for.
    pub(super) retry_after: Option<Duration>,
}

impl ResponseInfo {
    /// Returns whether the delivery has arrived.
    pub(super) const fn is_success(self) -> bool {
        matches!(self.status, Some(200..=299))
    }

    /// Returns how long the endpoint asks to be left alone: of a 429 with a `Retry-After`, which is no
    /// attempt that counts.
    pub(super) fn retry_after_ms(self) -> Option<i64> {
        if self.status != Some(429) {
            return None;
        }
        let asked_ms = i64::try_from(self.retry_after?.as_millis()).unwrap_or(i64::MAX);
        Some(asked_ms.clamp(RETRY_AFTER_MS_MIN, RETRY_AFTER_MS_MAX))
    }
}

/// What becomes of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RetryDecision {
    /// It has arrived.
    Delivered,
    /// It is tried again.
    Retry {
        /// When.
        due_ms: TimestampMs,
        /// Attempts that count by then.
        counted: u8,
    },
    /// It is given up.
    Exhausted(ExhaustedReason),
}

/// Decides what becomes of a delivery that was queued at `queued_ms` and had `counted` attempts before
/// the one that was answered at `now_ms`.
pub(super) fn decide(
    queued_ms: TimestampMs,
    counted: u8,
    answered: ResponseInfo,
    now_ms: TimestampMs,
) -> RetryDecision {
    if answered.is_success() {
        return RetryDecision::Delivered;
    }
    let (wait_ms, counted) = match answered.retry_after_ms() {
        Some(wait_ms) => (wait_ms, counted),
        None => match RETRY_DELAYS_MS.get(usize::from(counted)) {
            Some(delay_ms) => (*delay_ms, counted + 1),
            None => return RetryDecision::Exhausted(ExhaustedReason::Schedule),
        },
    };
    let drop_ms = queued_ms + EXPIRE_AFTER_MS;
    if now_ms >= drop_ms {
        return RetryDecision::Exhausted(ExhaustedReason::Expired);
    }
    // At the end of the 24 hours it is taken up once more, to be dropped.
    RetryDecision::Retry { due_ms: (now_ms + wait_ms).min(drop_ms), counted }
}

/// Returns whether a delivery is given up instead of being tried at `now_ms`.
pub(super) fn is_expired(queued_ms: TimestampMs, now_ms: TimestampMs) -> bool {
    now_ms - queued_ms >= EXPIRE_AFTER_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUEUED_MS: TimestampMs = 1_767_604_353_456;

    fn status(status: u16) -> ResponseInfo {
        ResponseInfo { status: Some(status), retry_after: None }
    }

    #[test]
    fn any_2xx_delivers() {
        for code in [200, 201, 204, 299] {
            assert_eq!(decide(QUEUED_MS, 3, status(code), QUEUED_MS), RetryDecision::Delivered, "{code}");
        }
    }

    #[test]
    fn a_receiver_that_is_down_is_asked_seven_times_in_17_6_hours() {
        let mut now_ms = QUEUED_MS;
        let mut counted = 0;
        let mut waits = Vec::new();
        for answered in [status(500), status(301), status(199), status(404), status(429), status(503)] {
            let RetryDecision::Retry { due_ms, counted: next } = decide(QUEUED_MS, counted, answered, now_ms) else {
                panic!("{answered:?} is tried again");
            };
            waits.push(due_ms - now_ms);
            (now_ms, counted) = (due_ms, next);
        }

        let nothing = ResponseInfo { status: None, retry_after: None };
        assert_eq!(decide(QUEUED_MS, counted, nothing, now_ms), RetryDecision::Exhausted(ExhaustedReason::Schedule));
        assert_eq!(waits, [5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000]);
        assert_eq!(now_ms - QUEUED_MS, 63_305_000);
    }

    #[test]
    fn a_429_that_says_when_does_not_count() {
        for (asked_s, waits_ms) in [(0, 1_000), (30, 30_000), (3_600, 3_600_000), (86_400, 3_600_000)] {
            let answered = ResponseInfo { status: Some(429), retry_after: Some(Duration::from_secs(asked_s)) };
            let verdict = decide(QUEUED_MS, 6, answered, QUEUED_MS + 5);
            assert_eq!(verdict, RetryDecision::Retry { due_ms: QUEUED_MS + 5 + waits_ms, counted: 6 }, "{asked_s} s");
        }
    }

    #[test]
    fn only_a_429_is_waited_for_as_it_asks() {
        let answered = ResponseInfo { status: Some(503), retry_after: Some(Duration::from_secs(3_600)) };

        assert_eq!(
            decide(QUEUED_MS, 0, answered, QUEUED_MS),
            RetryDecision::Retry { due_ms: QUEUED_MS + 5_000, counted: 1 }
        );
    }

    #[test]
    fn nothing_is_tried_past_its_day() {
        let answered = ResponseInfo { status: Some(429), retry_after: Some(Duration::from_secs(3_600)) };
        let late_ms = QUEUED_MS + EXPIRE_AFTER_MS - 60_000;

        let again = RetryDecision::Retry { due_ms: QUEUED_MS + EXPIRE_AFTER_MS, counted: 0 };
        assert_eq!(decide(QUEUED_MS, 0, answered, late_ms), again);
        let at_the_end = decide(QUEUED_MS, 0, status(500), QUEUED_MS + EXPIRE_AFTER_MS);
        assert_eq!(at_the_end, RetryDecision::Exhausted(ExhaustedReason::Expired));
        assert!(!is_expired(QUEUED_MS, late_ms));
        assert!(is_expired(QUEUED_MS, QUEUED_MS + EXPIRE_AFTER_MS));
    }
}
