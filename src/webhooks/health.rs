//! Health of an endpoint: its recent delivery results and their consequences. Pure.

use super::model::FailingEndpoint;
use super::retry::{EXPIRE_AFTER_MS, ResponseInfo};
use super::store::{FailedAttemptsRow, HealthRow};
use crate::base::clock::{DAY_MS, TimestampMs};
use crate::base::id::WebhookId;

/// Consecutive exhausted deliveries after which the endpoint is disabled.
pub const DISABLED_AFTER: u32 = 20;
/// Failed attempts in a row that make an endpoint a failing one.
const FAILING_ATTEMPTS: u32 = 3;
/// Number of most recent deliveries that must all be exhausted before the owners are notified. At most one notice a
/// day.
const FAILING_AFTER: u8 = 10;
/// Bit mask of the results that the row stores.
const RECENT_MASK: u16 = (1 << FAILING_AFTER) - 1;

/// Result of a complete delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeliveryResult {
    /// The endpoint answered 2xx.
    Delivered,
    Exhausted,
}

/// Consequence for the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HealthAction {
    Nothing,
    /// The owners are notified that deliveries fail.
    Failing,
    /// The endpoint is disabled, and the owners are notified.
    Disabled,
}

impl HealthRow {
    /// Records the result of a delivery.
    pub(super) fn record(&mut self, result: DeliveryResult, now_ms: TimestampMs) -> HealthAction {
        let is_exhausted = result == DeliveryResult::Exhausted;
        self.recent_failures = (self.recent_failures << 1 | u16::from(is_exhausted)) & RECENT_MASK;
        self.recent_count = (self.recent_count + 1).min(FAILING_AFTER);
        if !is_exhausted {
            self.consecutive_failures = 0;
            return HealthAction::Nothing;
        }
        self.consecutive_failures = self.consecutive_failures.saturating_add(1);
        if self.consecutive_failures >= DISABLED_AFTER {
            return HealthAction::Disabled;
        }
        let is_failing = self.recent_count == FAILING_AFTER && self.recent_failures == RECENT_MASK;
        if is_failing && self.failing_notified_ms.is_none_or(|notified_ms| now_ms - notified_ms >= DAY_MS) {
            self.failing_notified_ms = Some(now_ms);
            return HealthAction::Failing;
        }
        HealthAction::Nothing
    }

    /// Records the response to an attempt that began at `sent_ms`. An attempt that does not count in the retry schedule
    /// changes nothing.
    pub(super) fn record_attempt(&mut self, response: ResponseInfo, sent_ms: TimestampMs) {
        if response.is_success() {
            self.failed_attempts = None;
        } else if response.retry_after_ms().is_none() {
            let first = FailedAttemptsRow { count: 0, since_ms: sent_ms, last_ms: sent_ms, status: None };
            let failed = self.failed_attempts.get_or_insert(first);
            failed.count = failed.count.saturating_add(1);
            failed.since_ms = failed.since_ms.min(sent_ms);
            if sent_ms >= failed.last_ms {
                (failed.last_ms, failed.status) = (sent_ms, response.status);
            }
        }
    }

    /// Returns the state of a failing endpoint: its last [`FAILING_ATTEMPTS`] attempts failed, and the last one began less
    /// than [`EXPIRE_AFTER_MS`] ago. `None` for any other endpoint.
    pub(super) fn failing_endpoint(&self, webhook: WebhookId, now_ms: TimestampMs) -> Option<FailingEndpoint> {
        let FailedAttemptsRow { count, since_ms, last_ms, status } = *self.failed_attempts.as_ref()?;
        let is_failing = count >= FAILING_ATTEMPTS && now_ms - last_ms < EXPIRE_AFTER_MS;
        is_failing.then_some(FailingEndpoint { webhook, since_ms, status, exhausted: self.consecutive_failures })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::base::id::Id;

    const NOW_MS: TimestampMs = 1_700_000_000_000;

    #[test]
    fn ten_exhausted_deliveries_notify_once_and_twenty_disable() {
        let mut health = HealthRow::default();

        let actions: Vec<HealthAction> = (0..20).map(|_| health.record(DeliveryResult::Exhausted, NOW_MS)).collect();

        for (number, action) in (1..).zip(actions) {
            let expected = match number {
                10 => HealthAction::Failing,
                20 => HealthAction::Disabled,
                _ => HealthAction::Nothing,
            };
            assert_eq!(action, expected, "{number}");
        }
    }

    #[test]
    fn one_success_resets_the_count() {
        let mut health = HealthRow::default();
        (0..19).for_each(|_| {
            health.record(DeliveryResult::Exhausted, NOW_MS);
        });

        assert_eq!(health.record(DeliveryResult::Delivered, NOW_MS), HealthAction::Nothing);

        let actions: Vec<HealthAction> = (0..19).map(|_| health.record(DeliveryResult::Exhausted, NOW_MS)).collect();
        assert!(!actions.contains(&HealthAction::Disabled));
    }

    #[test]
    fn owners_of_a_failing_endpoint_are_notified_once_a_day() {
        let mut health = HealthRow::default();
        let mut notices_ms = Vec::new();
        for hour in 0..72 {
            let now_ms = NOW_MS + hour * DAY_MS / 24;
            for _ in 0..15 {
                if health.record(DeliveryResult::Exhausted, now_ms) == HealthAction::Failing {
                    notices_ms.push(now_ms - NOW_MS);
                }
            }
            health.record(DeliveryResult::Delivered, now_ms);
        }

        assert_eq!(notices_ms, [0, DAY_MS, 2 * DAY_MS]);
    }

    #[test]
    fn three_failed_attempts_in_a_row_make_a_failing_endpoint_until_one_succeeds_or_a_day_passes() {
        let response = |status| ResponseInfo { status, retry_after: None };
        let mut health = HealthRow::default();
        health.record_attempt(response(Some(500)), NOW_MS - 1);
        health.record_attempt(response(Some(204)), NOW_MS - 1);
        health.record_attempt(response(Some(503)), NOW_MS + 1);
        health.record_attempt(response(Some(500)), NOW_MS);
        let wait = ResponseInfo { status: Some(429), retry_after: Some(Duration::from_secs(9)) };
        health.record_attempt(wait, NOW_MS + 2);
        assert_eq!(health.failing_endpoint(Id::MIN, NOW_MS + 2), None, "two in a row");

        health.record_attempt(response(None), NOW_MS + 3);

        let failing = FailingEndpoint { webhook: Id::MIN, since_ms: NOW_MS, status: None, exhausted: 0 };
        assert_eq!(health.failing_endpoint(Id::MIN, NOW_MS + 2 + DAY_MS), Some(failing));
        assert_eq!(health.failing_endpoint(Id::MIN, NOW_MS + 3 + DAY_MS), None);
        health.record_attempt(response(Some(200)), NOW_MS + 4);
        assert_eq!(health, HealthRow::default());
    }

    #[test]
    fn the_health_of_a_working_endpoint_does_not_change() {
        let mut health = HealthRow::default();
        (0..10).for_each(|_| {
            health.record(DeliveryResult::Delivered, NOW_MS);
        });
        let before = health.clone();

        health.record(DeliveryResult::Delivered, NOW_MS);

        assert_eq!(health, before, "no row has to be written");
    }
}
