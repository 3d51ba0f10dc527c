//! A report, and the periods of its email counts.

use std::ops::RangeInclusive;

use chrono::{DateTime, Datelike, Months, NaiveDate, NaiveTime};

use crate::base::clock::{DAY_MS, TimestampMs, utc_day};
use crate::teams::Team;

/// The usage of a team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageReport {
    pub team: Team,
    /// Emails of this UTC day.
    pub today: SentEmails,
    /// Emails of this UTC month.
    pub month: SentEmails,
    /// Number of broadcasts that were sent or scheduled in this UTC month.
    pub broadcasts: u64,
    /// Number of domains.
    pub domains: usize,
}

/// Emails accepted in the current day or month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentEmails {
    /// Number of emails.
    pub emails: u64,
    /// Start of the next day or month.
    pub resets_ms: TimestampMs,
}

/// The days of a UTC day or month up to the current day, and its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UsagePeriod {
    /// Days since 1970.
    pub(super) days: RangeInclusive<u32>,
    /// Start of the next day or month.
    pub(super) resets_ms: TimestampMs,
}

impl UsagePeriod {
    /// Returns the UTC day of `now_ms`.
    pub(super) fn day(now_ms: TimestampMs) -> Self {
        let today = utc_day(now_ms);
        Self { days: today..=today, resets_ms: (i64::from(today) + 1) * DAY_MS }
    }

    /// Returns the UTC month of `now_ms`, up to the day of `now_ms`.
    pub(super) fn month(now_ms: TimestampMs) -> Self {
        let today = DateTime::from_timestamp_millis(now_ms).unwrap_or_default().date_naive();
        let first = today.with_day(1).expect("every month has a first day");
        let next = first.checked_add_months(Months::new(1)).unwrap_or(NaiveDate::MAX);
        Self { days: utc_day(start_ms(first))..=utc_day(now_ms), resets_ms: start_ms(next) }
    }
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
            let period = UsagePeriod::day(ms(now));

            assert_eq!(period.days, utc_day(ms(now))..=utc_day(ms(now)), "{now}");
            assert_eq!(to_iso(period.resets_ms), resets, "{now}");
        }
    }

    #[test]
    fn a_month_has_the_days_from_its_first_to_the_current_day() {
        for (now, days, resets) in [
            ("2026-01-01T00:00:00.000Z", 1, "2026-02-01T00:00:00.000Z"),
            ("2026-01-31T23:59:59.999Z", 31, "2026-02-01T00:00:00.000Z"),
            ("2026-02-28T12:00:00.000Z", 28, "2026-03-01T00:00:00.000Z"),
            ("2028-02-29T12:00:00.000Z", 29, "2028-03-01T00:00:00.000Z"),
            ("2026-12-24T18:00:00.000Z", 24, "2027-01-01T00:00:00.000Z"),
        ] {
            let period = UsagePeriod::month(ms(now));

            assert_eq!(period.days.clone().count(), days, "{now}");
            assert_eq!(*period.days.end(), utc_day(ms(now)), "{now}");
            assert_eq!(to_iso(period.resets_ms), resets, "{now}");
        }
    }

    #[test]
    fn a_time_outside_of_the_calendar_does_not_panic() {
        for now_ms in [i64::MIN, -1, i64::MAX] {
            UsagePeriod::day(now_ms);
            UsagePeriod::month(now_ms);
        }
    }
}
