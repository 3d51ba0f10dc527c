//! Conversion between local times and UTC.
//!
//! A time zone database is not needed: of the accepted names, only the four of the United States have
//! daylight saving time.

use chrono::{Datelike, NaiveDate, Weekday};

use super::{DAY_MS, HOUR_MS, days_since_epoch};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zone {
    /// Fixed offset from UTC.
    Fixed { ahead_ms: i64 },
    /// Standard offset from UTC, with the daylight saving time of the United States.
    UnitedStates { winter_ahead_ms: i64 },
}

impl Zone {
    pub(super) const UTC: Self = Self::Fixed { ahead_ms: 0 };

    /// Returns the zone of a lower-case name. `EST` and similar names are fixed offsets. `ET` and similar names
    /// have daylight saving time.
    pub(super) fn named(name: &str) -> Option<Self> {
        let fixed = |hours: i64| Some(Self::Fixed { ahead_ms: hours * HOUR_MS });
        let seasonal = |hours: i64| Some(Self::UnitedStates { winter_ahead_ms: hours * HOUR_MS });
        match name {
            "utc" | "gmt" | "z" => fixed(0),
            "cet" | "bst" => fixed(1),
            "cest" => fixed(2),
            "edt" => fixed(-4),
            "est" | "cdt" => fixed(-5),
            "cst" | "mdt" => fixed(-6),
            "mst" | "pdt" => fixed(-7),
            "pst" => fixed(-8),
            "et" => seasonal(-5),
            "ct" => seasonal(-6),
            "mt" => seasonal(-7),
            "pt" => seasonal(-8),
            _ => None,
        }
    }

    /// Converts UTC to local time.
    pub(super) fn wall_ms(self, utc_ms: i64) -> i64 {
        match self {
            Self::Fixed { ahead_ms } => utc_ms.saturating_add(ahead_ms),
            Self::UnitedStates { winter_ahead_ms } => {
                let winter_ms = utc_ms.saturating_add(winter_ahead_ms);
                match summer_days(winter_ms) {
                    // Daylight saving time ends at 02:00, which is 01:00 of standard time.
                    Some((first, last))
                        if winter_ms >= first * DAY_MS + 2 * HOUR_MS && winter_ms < last * DAY_MS + HOUR_MS =>
                    {
                        winter_ms.saturating_add(HOUR_MS)
                    }
                    _ => winter_ms,
                }
            }
        }
    }

    /// Converts local time to UTC. A repeated hour means its first occurrence. A skipped hour uses the offset
    /// before the gap (RFC 5545 §3.3.5).
    pub(super) fn utc_ms(self, wall_ms: i64) -> i64 {
        match self {
            Self::Fixed { ahead_ms } => wall_ms.saturating_sub(ahead_ms),
            Self::UnitedStates { winter_ahead_ms } => {
                let summer_ms = match summer_days(wall_ms) {
                    Some((first, last))
                        if wall_ms >= first * DAY_MS + 3 * HOUR_MS && wall_ms < last * DAY_MS + 2 * HOUR_MS =>
                    {
                        HOUR_MS
                    }
                    _ => 0,
                };
                wall_ms.saturating_sub(winter_ahead_ms + summer_ms)
            }
        }
    }
}

/// Returns the days on which daylight saving time starts and ends in the year of a local time. They are the second
/// Sunday of March and the first Sunday of November (15 U.S.C. §260a).
fn summer_days(wall_ms: i64) -> Option<(i64, i64)> {
    let day = i32::try_from(wall_ms.div_euclid(DAY_MS)).ok()?;
    let year = NaiveDate::from_epoch_days(day)?.year();
    let sunday =
        |month, nth| NaiveDate::from_weekday_of_month_opt(year, month, Weekday::Sun, nth).map(days_since_epoch);
    Some((sunday(3, 2)?, sunday(11, 1)?))
}
