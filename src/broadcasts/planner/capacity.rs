//! The room of broadcasts under the sending limits.

use super::SLOT_MS;

/// Percentage of the quota that is reserved for transactional email.
const TRANSACTIONAL_RESERVE_PERCENT: u64 = 30;
/// Percentage of the quota that all messages together may use.
const TOTAL_PERCENT: u64 = 98;
/// Lowest rate of broadcasts, in messages per second.
const RATE_MIN: f64 = 0.5;
const DAY_SECONDS: f64 = 86_400.0;

/// Limits of this server for all messages that it sends. Off by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendLimits {
    /// Messages per second; `None` is no limit.
    pub per_second: Option<u32>,
    /// Messages in any 24 hours; `None` is no limit.
    pub per_day: Option<u64>,
}

impl SendLimits {
    /// Returns whether there is no limit.
    pub const fn are_off(self) -> bool {
        self.per_second.is_none() && self.per_day.is_none()
    }
}

/// The room of broadcasts, from the limits and the transactional email of the last 24 hours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SendCapacity {
    /// Messages of broadcasts in any 24 hours; `None` is no limit.
    pub share: Option<u64>,
    /// Time between two messages of broadcasts, in milliseconds; 0 without a rate.
    pub interval_ms: f64,
}

impl SendCapacity {
    /// Returns the room beside `transactional` messages in 24 hours; `None` without limits.
    pub fn of(limits: SendLimits, transactional: u64) -> Option<Self> {
        if limits.are_off() {
            return None;
        }
        let share = limits.per_day.map(|quota| {
            let reserved = quota.saturating_mul(100 - TRANSACTIONAL_RESERVE_PERCENT) / 100;
            let total = quota.saturating_mul(TOTAL_PERCENT) / 100;
            reserved.min(total.saturating_sub(transactional))
        });
        let interval_ms = limits.per_second.map_or(0.0, |rate| {
            let rate = f64::from(rate) - transactional as f64 / DAY_SECONDS;
            1_000.0 / rate.max(RATE_MIN)
        });
        Some(Self { share, interval_ms })
    }

    /// Returns the number of messages that the rate allows in a slot.
    pub(super) fn slot_messages_max(&self) -> u32 {
        if self.interval_ms > 0.0 { (SLOT_MS as f64 / self.interval_ms) as u32 } else { u32::MAX }
    }

    /// Returns the number of messages of broadcasts that fit in 24 hours.
    pub(super) fn day_messages_max(&self) -> u64 {
        let by_rate = match self.interval_ms > 0.0 {
            true => (DAY_SECONDS * 1_000.0 / self.interval_ms) as u64,
            false => u64::MAX,
        };
        by_rate.min(self.share.unwrap_or(u64::MAX))
    }
}
