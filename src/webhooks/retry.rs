//! Retry schedule: the decision after each attempt of a delivery. Pure.

use std::time::Duration;

use super::store::ExhaustedReason;
use crate::base::clock::{DAY_MS, TimestampMs};

/// Delays before the second to the seventh attempt: 17.6 hours in total.
pub(super) const RETRY_DELAYS_MS: [i64; 6] =
    [5_000, 5 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS];
/// Longest time from an attempt to the next one.
pub(super) const RETRY_DELAY_MS_MAX: i64 = RETRY_DELAYS_MS[RETRY_DELAYS_MS.len() - 1];
/// Age at which a delivery expires, independent of the schedule.
pub(super) const EXPIRE_AFTER_MS: i64 = DAY_MS;
/// Longest `Retry-After` that is applied.
const RETRY_AFTER_MS_MAX: i64 = HOUR_MS;
/// Shortest `Retry-After` that is applied. Without it, an endpoint that answers 0 would cause requests without a
/// delay, and none of them would count.
const RETRY_AFTER_MS_MIN: i64 = 1_000;
const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;

/// The parts of a response that decide about retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ResponseInfo {
    /// HTTP status; `None` if there was no response.
    pub(super) status: Option<u16>,
    /// `Retry-After` header.
    pub(super) retry_after: Option<Duration>,
}

impl ResponseInfo {
    /// Returns whether the delivery was successful.
    pub(super) const fn is_success(self) -> bool {
        matches!(self.status, Some(200..=299))
    }

    /// Returns the cooldown that a 429 with `Retry-After` asks for. Such an attempt does not count.
    pub(super) fn retry_after_ms(self) -> Option<i64> {
        if self.status != Some(429) {
            return None;
        }
        let wait_ms = i64::try_from(self.retry_after?.as_millis()).unwrap_or(i64::MAX);
        Some(wait_ms.clamp(RETRY_AFTER_MS_MIN, RETRY_AFTER_MS_MAX))
    }
}

/// The decision after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RetryDecision {
    Delivered,
    Retry {
        due_ms: TimestampMs,
        /// Attempts that count so far.
        counted: u8,
    },
    Exhausted(ExhaustedReason),
}

/// Decides about a delivery after an attempt that ended at `now_ms`. The delivery was queued at `queued_ms` and has
/// `counted` earlier attempts that count.
pub(super) fn decide(queued_ms: TimestampMs, counted: u8, info: ResponseInfo, now_ms: TimestampMs) -> RetryDecision {
    if info.is_success() {
        return RetryDecision::Delivered;
    }
    let (wait_ms, counted) = match info.retry_after_ms() {
        Some(wait_ms) => (wait_ms, counted),
        None => match RETRY_DELAYS_MS.get(usize::from(counted)) {
            Some(delay_ms) => (*delay_ms, counted + 1),
            None => return RetryDecision::Exhausted(ExhaustedReason::Schedule),
        },
    };
    let expiry_ms = queued_ms + EXPIRE_AFTER_MS;
    if now_ms >= expiry_ms {
        return RetryDecision::Exhausted(ExhaustedReason::Expired);
    }
    // A lane loads the delivery at its expiry, and marks it exhausted.
    RetryDecision::Retry { due_ms: (now_ms + wait_ms).min(expiry_ms), counted }
}

/// Returns whether a cooldown until `until_ms` lasts at `now_ms`. A cooldown that is longer than the longest one began
/// before the clock was set back.
pub(super) fn is_cooldown(until_ms: TimestampMs, now_ms: TimestampMs) -> bool {
    (1..=RETRY_AFTER_MS_MAX).contains(&(until_ms - now_ms))
}

/// Returns whether a delivery that was queued at `queued_ms` has expired at `now_ms`.
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
    fn an_endpoint_that_is_down_gets_seven_attempts_in_17_6_hours() {
        let mut now_ms = QUEUED_MS;
        let mut counted = 0;
        let mut waits_ms = Vec::new();
        for info in [status(500), status(301), status(199), status(404), status(429), status(503)] {
            let RetryDecision::Retry { due_ms, counted: next } = decide(QUEUED_MS, counted, info, now_ms) else {
                panic!("{info:?} is retried");
            };
            waits_ms.push(due_ms - now_ms);
            (now_ms, counted) = (due_ms, next);
        }

        let no_response = ResponseInfo { status: None, retry_after: None };
        assert_eq!(
            decide(QUEUED_MS, counted, no_response, now_ms),
            RetryDecision::Exhausted(ExhaustedReason::Schedule)
        );
        assert_eq!(waits_ms, [5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000]);
        assert_eq!(now_ms - QUEUED_MS, 63_305_000);
    }

    #[test]
    fn a_429_with_retry_after_does_not_count() {
        for (retry_after_s, wait_ms) in [(0, 1_000), (30, 30_000), (3_600, 3_600_000), (86_400, 3_600_000)] {
            let info = ResponseInfo { status: Some(429), retry_after: Some(Duration::from_secs(retry_after_s)) };
            let decision = decide(QUEUED_MS, 6, info, QUEUED_MS + 5);
            assert_eq!(
                decision,
                RetryDecision::Retry { due_ms: QUEUED_MS + 5 + wait_ms, counted: 6 },
                "{retry_after_s} s"
            );
        }
    }

    #[test]
    fn retry_after_applies_to_429_only() {
        let info = ResponseInfo { status: Some(503), retry_after: Some(Duration::from_secs(3_600)) };

        assert_eq!(
            decide(QUEUED_MS, 0, info, QUEUED_MS),
            RetryDecision::Retry { due_ms: QUEUED_MS + 5_000, counted: 1 }
        );
    }

    #[test]
    fn no_attempt_is_later_than_24_hours() {
        let info = ResponseInfo { status: Some(429), retry_after: Some(Duration::from_secs(3_600)) };
        let late_ms = QUEUED_MS + EXPIRE_AFTER_MS - 60_000;

        let retry = RetryDecision::Retry { due_ms: QUEUED_MS + EXPIRE_AFTER_MS, counted: 0 };
        assert_eq!(decide(QUEUED_MS, 0, info, late_ms), retry);
        let at_the_end = decide(QUEUED_MS, 0, status(500), QUEUED_MS + EXPIRE_AFTER_MS);
        assert_eq!(at_the_end, RetryDecision::Exhausted(ExhaustedReason::Expired));
        assert!(!is_expired(QUEUED_MS, late_ms));
        assert!(is_expired(QUEUED_MS, QUEUED_MS + EXPIRE_AFTER_MS));
    }
}
