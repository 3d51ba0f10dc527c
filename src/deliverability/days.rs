//! The windows of a team, in UTC days.

use std::ops::RangeInclusive;

use super::guardrail::{GuardrailWindows, PAUSE_DAYS, WARNING_DAYS, WindowCounts};
use crate::base::clock::{DAY_MS, TimestampMs, utc_day};
use crate::base::id::TeamId;
use crate::email_metrics::day_totals;
use crate::store::{Reads, StoreError};

/// Returns the start of a UTC day.
pub(super) fn day_start_ms(day: u32) -> TimestampMs {
    i64::from(day) * DAY_MS
}

/// Returns the last `days` days up to the day of `now_ms`.
pub(super) fn last_days(now_ms: TimestampMs, days: u32) -> RangeInclusive<u32> {
    let today = utc_day(now_ms);
    today.saturating_sub(days - 1)..=today
}

/// Reads the windows of the guardrail: two ranges of at most seven rows.
pub(super) fn windows(tx: &impl Reads, team: TeamId, now_ms: TimestampMs) -> Result<GuardrailWindows, StoreError> {
    let warning = day_totals(tx, team, last_days(now_ms, WARNING_DAYS))?.into();
    Ok(GuardrailWindows { warning, pause: pause_window(tx, team, now_ms)? })
}

/// Reads the window of a pause: at most two rows.
pub(super) fn pause_window(tx: &impl Reads, team: TeamId, now_ms: TimestampMs) -> Result<WindowCounts, StoreError> {
    Ok(day_totals(tx, team, last_days(now_ms, PAUSE_DAYS))?.into())
}

/// Returns the earliest end of a pause: the next UTC midnight, or the one after it if the current day alone reaches a
/// limit.
pub(super) fn resumes_ms(tx: &impl Reads, team: TeamId, now_ms: TimestampMs) -> Result<TimestampMs, StoreError> {
    let today = utc_day(now_ms);
    let counts: WindowCounts = day_totals(tx, team, today..=today)?.into();
    let days = if counts.paused_by().is_some() { 2 } else { 1 };
    Ok(day_start_ms(today.saturating_add(days)))
}
