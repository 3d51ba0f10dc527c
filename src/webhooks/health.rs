//! How an endpoint fares, and what follows from it. Pure.

use super::store::HealthRow;
use crate::clock::{DAY_MS, TimestampMs};

/// Deliveries in a row that end in vain before the endpoint is disabled.
const DISABLED_AFTER: u32 = 20;
/// Deliveries that have ended last, all of them in vain, of which the owners are told; once a day at most.
const FAILING_AFTER: u8 = 10;
/// The bits of the last ten.
const LAST_TEN: u16 = (1 << FAILING_AFTER) - 1;

/// How a delivery ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The endpoint answered 2xx.
    Delivered,
    /// In vain.
    Exhausted,
}

/// What follows for the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Consequence {
    /// Nothing.
    Nothing,
    /// The owners are told that its deliveries fail.
    Failing,
    /// It is disabled, and the owners are told.
    Disabled,
}

impl HealthRow {
    /// Takes the end of a delivery into account.
    pub(super) fn take(&mut self, end: End, now_ms: TimestampMs) -> Consequence {
        let in_vain = end == End::Exhausted;
        self.last_ten = (self.last_ten << 1 | u16::from(in_vain)) & LAST_TEN;
        self.ended = (self.ended + 1).min(FAILING_AFTER);
        if !in_vain {
            self.exhausted_in_a_row = 0;
            return Consequence::Nothing;
        }
        self.exhausted_in_a_row = self.exhausted_in_a_row.saturating_add(1);
        if self.exhausted_in_a_row >= DISABLED_AFTER {
            return Consequence::Disabled;
        }
        let is_failing = self.ended == FAILING_AFTER && self.last_ten == LAST_TEN;
        if is_failing && self.told_failing_ms.is_none_or(|told_ms| now_ms - told_ms >= DAY_MS) {
            self.told_failing_ms = Some(now_ms);
            return Consequence::Failing;
        }
        Consequence::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: TimestampMs = 1_700_000_000_000;

    #[test]
    fn ten_in_vain_are_told_once_and_twenty_disable() {
        let mut health = HealthRow::default();

        let followed: Vec<Consequence> = (0..20).map(|_| health.take(End::Exhausted, NOW_MS)).collect();

        for (number, consequence) in (1..).zip(followed) {
            let expected = match number {
                10 => Consequence::Failing,
                20 => Consequence::Disabled,
                _ => Consequence::Nothing,
            };
            assert_eq!(consequence, expected, "{number}");
        }
    }

    #[test]
    fn one_delivery_that_arrives_begins_the_count_anew() {
        let mut health = HealthRow::default();
        (0..19).for_each(|_| {
            health.take(End::Exhausted, NOW_MS);
        });

        assert_eq!(health.take(End::Delivered, NOW_MS), Consequence::Nothing);

        let followed: Vec<Consequence> = (0..19).map(|_| health.take(End::Exhausted, NOW_MS)).collect();
        assert!(!followed.contains(&Consequence::Disabled));
    }

    #[test]
    fn an_endpoint_that_fails_again_and_again_is_told_of_once_a_day() {
        let mut health = HealthRow::default();
        let mut told_ms = Vec::new();
        for hour in 0..72 {
            let now_ms = NOW_MS + hour * DAY_MS / 24;
            for _ in 0..15 {
                if health.take(End::Exhausted, now_ms) == Consequence::Failing {
                    told_ms.push(now_ms - NOW_MS);
                }
            }
            health.take(End::Delivered, now_ms);
        }

        assert_eq!(told_ms, [0, DAY_MS, 2 * DAY_MS]);
    }

    #[test]
    fn an_endpoint_that_fares_well_stands_still() {
        let mut health = HealthRow::default();
        (0..10).for_each(|_| {
            health.take(End::Delivered, NOW_MS);
        });
        let settled = health.clone();

        health.take(End::Delivered, NOW_MS);

        assert_eq!(health, settled, "no row has to be written");
    }
}
