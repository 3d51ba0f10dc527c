//! A report, and the spans of time that emails are counted over.

use std::ops::RangeInclusive;

use chrono::{DateTime, Datelike, Months, NaiveDate, NaiveTime};

use crate::base::clock::{DAY_MS, TimestampMs};
use crate::teams::Team;

/// What a team has sent, and how much of everything it keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageReport {
    /// The team.
    pub team: Team,
    /// The emails of this UTC day.
    pub today: Sent,
    /// The emails of this UTC month.
    pub month: Sent,
    /// How many contacts there are.
    pub contacts: u64,
    /// How many segments there are.
    pub segments: usize,
    /// How many domains there are.
    pub domains: usize,
}

/// Emails accepted in a span of time that is not over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// How many.
    pub emails: u64,
    /// When the next span begins.
    pub resets_ms: TimestampMs,
}

/// The days of a span up to the present one, as they are counted since 1970, and its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UsagePeriod {
    pub(super) days: RangeInclusive<u32>,
    pub(super) resets_ms: TimestampMs,
}

impl UsagePeriod {
    /// Returns the UTC day of `now_ms`.
    pub(super) fn day(now_ms: TimestampMs) -> Self {
        let today = day(now_ms);
        Self { days: today..=today, resets_ms: (i64::from(today) + 1) * DAY_MS }
    }

    /// Returns the UTC month of `now_ms`, up to its day.
    pub(super) fn month(now_ms: TimestampMs) -> Self {
        let today = DateTime::from_timestamp_millis(now_ms).unwrap_or_default().date_naive();
        let first = today.with_day(1).expect("every month has a first day");
        let next = first.checked_add_months(Months::new(1)).unwrap_or(NaiveDate::MAX);
        Self { days: day(start_ms(first))..=day(now_ms), resets_ms: start_ms(next) }
    }
}

/// Returns the UTC day of a time, counted since 1970.
pub(super) fn day(now_ms: TimestampMs) -> u32 {
    u32::try_from(now_ms.div_euclid(DAY_MS)).unwrap_or(0)
}

fn start_ms(date: NaiveDate) -> TimestampMs {
    date.and_time(NaiveTime::MIN).and_utc().timestamp_millis()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::to_iso;

    fn ms(text: &str) -> TimestampMs {
        DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis()
    }

    #[test]
    fn a_day_ends_at_the_next_utc_midnight() {
        for (now, resets) in [
            ("2026-01-05T00:00:00.000Z", "2026-01-06T00:00:00.000Z"),
            ("2026-01-05T23:59:59.999Z", "2026-01-06T00:00:00.000Z"),
            ("2026-12-31T12:00:00.000Z", "2027-01-01T00:00:00.000Z"),
            ("1970-01-01T00:00:00.000Z", "1970-01-02T00:00:00.000Z"),
        ] {
            let span = UsagePeriod::day(ms(now));

            assert_eq!(span.days, day(ms(now))..=day(ms(now)), "{now}");
            assert_eq!(to_iso(span.resets_ms), resets, "{now}");
        }
    }

    #[test]
    fn a_month_has_the_days_since_its_first() {
        for (now, days, resets) in [
            ("2026-01-01T00:00:00.000Z", 1, "2026-02-01T00:00:00.000Z"),
            ("2026-01-31T23:59:59.999Z", 31, "2026-02-01T00:00:00.000Z"),
            ("2026-02-28T12:00:00.000Z", 28, "2026-03-01T00:00:00.000Z"),
            ("2028-02-29T12:00:00.000Z", 29, "2028-03-01T00:00:00.000Z"),
            ("2026-12-24T18:00:00.000Z", 24, "2027-01-01T00:00:00.000Z"),
        ] {
            let span = UsagePeriod::month(ms(now));

            assert_eq!(span.days.clone().count(), days, "{now}");
            assert_eq!(*span.days.end(), day(ms(now)), "{now}");
            assert_eq!(to_iso(span.resets_ms), resets, "{now}");
        }
    }

    #[test]
    fn times_that_no_calendar_holds_are_no_panic() {
        for now_ms in [i64::MIN, -1, i64::MAX] {
            UsagePeriod::day(now_ms);
            UsagePeriod::month(now_ms);
        }
    }
}
