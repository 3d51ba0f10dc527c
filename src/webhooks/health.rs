//! How an endpoint fares, and what follows from it. Pure.

use super::store::HealthRow;
use crate::base::clock::{DAY_MS, TimestampMs};

/// Deliveries in a row that end in vain before the endpoint is disabled.
const DISABLED_AFTER: u32 = 20;
/// Deliveries that have ended last, all of them in vain, of which the owners are told; once a day at most.
const FAILING_AFTER: u8 = 10;
/// The bits of the last ten.
const LAST_TEN: u16 = (1 << FAILING_AFTER) - 1;

/// How a delivery ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeliveryResult {
    /// The endpoint answered 2xx.
    Delivered,
    /// In vain.
    Exhausted,
}

/// What follows for the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HealthAction {
    /// Nothing.
    Nothing,
    /// The owners are told that its deliveries fail.
    Failing,
    /// It is disabled, and the owners are told.
    Disabled,
}

impl HealthRow {
    /// Takes the end of a delivery into account.
    pub(super) fn record(&mut self, end: DeliveryResult, now_ms: TimestampMs) -> HealthAction {
        let in_vain = end == DeliveryResult::Exhausted;
        self.recent_failures = (self.recent_failures << 1 | u16::from(in_vain)) & LAST_TEN;
        self.recent_count = (self.recent_count + 1).min(FAILING_AFTER);
        if !in_vain {
            self.consecutive_failures = 0;
            return HealthAction::Nothing;
        }
        self.consecutive_failures = self.consecutive_failures.saturating_add(1);
        if self.consecutive_failures >= DISABLED_AFTER {
            return HealthAction::Disabled;
        }
        let is_failing = self.recent_count == FAILING_AFTER && self.recent_failures == LAST_TEN;
        if is_failing && self.failing_notified_ms.is_none_or(|told_ms| now_ms - told_ms >= DAY_MS) {
            self.failing_notified_ms = Some(now_ms);
            return HealthAction::Failing;
        }
        HealthAction::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: TimestampMs = 1_700_000_000_000;

    #[test]
    fn ten_in_vain_are_told_once_and_twenty_disable() {
        let mut health = HealthRow::default();

        let followed: Vec<HealthAction> = (0..20).map(|_| health.record(DeliveryResult::Exhausted, NOW_MS)).collect();

        for (number, consequence) in (1..).zip(followed) {
            let expected = match number {
                10 => HealthAction::Failing,
                20 => HealthAction::Disabled,
                _ => HealthAction::Nothing,
            };
            assert_eq!(consequence, expected, "{number}");
        }
    }

    #[test]
    fn one_delivery_that_arrives_begins_the_count_anew() {
        let mut health = HealthRow::default();
        (0..19).for_each(|_| {
            health.record(DeliveryResult::Exhausted, NOW_MS);
        });

        assert_eq!(health.record(DeliveryResult::Delivered, NOW_MS), HealthAction::Nothing);

        let followed: Vec<HealthAction> = (0..19).map(|_| health.record(DeliveryResult::Exhausted, NOW_MS)).collect();
        assert!(!followed.contains(&HealthAction::Disabled));
    }

    #[test]
    fn an_endpoint_that_fails_again_and_again_is_told_of_once_a_day() {
        let mut health = HealthRow::default();
        let mut told_ms = Vec::new();
        for hour in 0..72 {
            let now_ms = NOW_MS + hour * DAY_MS / 24;
            for _ in 0..15 {
                if health.record(DeliveryResult::Exhausted, now_ms) == HealthAction::Failing {
                    told_ms.push(now_ms - NOW_MS);
                }
            }
            health.record(DeliveryResult::Delivered, now_ms);
        }

        assert_eq!(told_ms, [0, DAY_MS, 2 * DAY_MS]);
    }

    #[test]
    fn an_endpoint_that_fares_well_stands_still() {
        let mut health = HealthRow::default();
        (0..10).for_each(|_| {
            health.record(DeliveryResult::Delivered, NOW_MS);
        });
        let settled = health.clone();

        health.record(DeliveryResult::Delivered, NOW_MS);

        assert_eq!(health, settled, "no row has to be written");
    }
}
