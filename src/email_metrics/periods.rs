//! The periods of a report: hours, days, weeks and months of a time zone. Pure.

use std::ops::Range;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

use super::model::{QUARTER_MS, quarter};
use crate::base::words::words;

/// Periods of a report.
pub(super) const PERIODS_MAX: usize = 10_000;

words! {
    /// Length of the periods of a report.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Granularity {
        Hourly = "hourly",
        Daily = "daily",
        /// From Monday to Sunday.
        Weekly = "weekly",
        Monthly = "monthly",
    } with ALL
}

/// A period of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReportPeriod {
    /// Its first quarter hour in the report.
    pub(super) first: u32,
    /// Local date, or local date and hour, of its start. The first period can begin before the report.
    pub(super) label: String,
}

/// The report has more than [`PERIODS_MAX`] periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooManyPeriods;

/// Returns the periods of a range of quarter hours, in order.
pub(super) fn periods(
    zone: &TimeZone,
    granularity: Granularity,
    quarters: Range<u32>,
) -> Result<Vec<ReportPeriod>, TooManyPeriods> {
    match granularity {
        Granularity::Hourly => hours(zone, quarters),
        Granularity::Daily | Granularity::Weekly | Granularity::Monthly => dates(zone, granularity, quarters),
    }
}

/// Returns the index of the period of a quarter hour.
pub(super) fn period_of(periods: &[ReportPeriod], quarter: u32) -> usize {
    periods.partition_point(|period| period.first <= quarter).saturating_sub(1)
}

/// Groups quarter hours by their local hour. An hour that the clock shows twice is one period.
fn hours(zone: &TimeZone, quarters: Range<u32>) -> Result<Vec<ReportPeriod>, TooManyPeriods> {
    let mut periods: Vec<ReportPeriod> = Vec::new();
    let mut last = None;
    for first in quarters {
        let Some(local) = local(zone, first) else { continue };
        let hour = (local.date(), local.hour());
        if last == Some(hour) {
            continue;
        }
        if periods.len() == PERIODS_MAX {
            return Err(TooManyPeriods);
        }
        last = Some(hour);
        periods.push(ReportPeriod { first, label: format!("{}T{:02}:00", hour.0, hour.1) });
    }
    Ok(periods)
}

/// Returns periods that begin at the start of a local day, which is not midnight if the clock skips it.
fn dates(zone: &TimeZone, granularity: Granularity, quarters: Range<u32>) -> Result<Vec<ReportPeriod>, TooManyPeriods> {
    let mut periods: Vec<ReportPeriod> = Vec::new();
    let mut date = local(zone, quarters.start).and_then(|local| first_date(granularity, local.date()));
    while let Some(start) = date {
        let Some(first) = start_of(zone, start).filter(|first| *first < quarters.end) else { break };
        // A day that the time zone skips has no length.
        periods.pop_if(|period| period.first == first);
        if periods.len() == PERIODS_MAX {
            return Err(TooManyPeriods);
        }
        periods.push(ReportPeriod { first: first.max(quarters.start), label: start.to_string() });
        date = match granularity {
            Granularity::Hourly | Granularity::Daily => start.checked_add(1.day()).ok(),
            Granularity::Weekly => start.checked_add(1.week()).ok(),
            Granularity::Monthly => start.checked_add(1.month()).ok(),
        };
    }
    Ok(periods)
}

fn first_date(granularity: Granularity, date: Date) -> Option<Date> {
    match granularity {
        Granularity::Hourly | Granularity::Daily => Some(date),
        Granularity::Weekly => date.checked_sub(date.weekday().to_monday_zero_offset().days()).ok(),
        Granularity::Monthly => Some(date.first_of_month()),
    }
}

fn local(zone: &TimeZone, quarter: u32) -> Option<DateTime> {
    let at = Timestamp::from_millisecond(i64::from(quarter) * QUARTER_MS).ok()?;
    Some(zone.to_datetime(at))
}

fn start_of(zone: &TimeZone, date: Date) -> Option<u32> {
    zone.to_timestamp(date.at(0, 0, 0, 0)).ok().map(|at| quarter(at.as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> u32 {
        quarter(text.parse::<Timestamp>().unwrap().as_millisecond())
    }

    /// Returns the labels with the number of quarter hours of each period.
    fn lengths(zone: &str, granularity: Granularity, from: &str, to: &str) -> Vec<(String, u32)> {
        let zone = TimeZone::get(zone).unwrap();
        let end = at(to);
        let found = periods(&zone, granularity, at(from)..end).unwrap();
        let ends = found.iter().skip(1).map(|next| next.first).chain([end]);
        found.iter().zip(ends).map(|(period, end)| (period.label.clone(), end - period.first)).collect()
    }

    fn expect(expected: &[(&str, u32)]) -> Vec<(String, u32)> {
        expected.iter().map(|(label, quarters)| ((*label).to_owned(), *quarters)).collect()
    }

    #[test]
    fn a_day_has_23_or_25_hours_when_the_clocks_change() {
        let spring = lengths("America/New_York", Granularity::Daily, "2026-03-07T05:00:00Z", "2026-03-10T04:00:00Z");
        assert_eq!(spring, expect(&[("2026-03-07", 96), ("2026-03-08", 92), ("2026-03-09", 96)]));
        let autumn = lengths("America/New_York", Granularity::Daily, "2026-10-31T04:00:00Z", "2026-11-03T05:00:00Z");
        assert_eq!(autumn, expect(&[("2026-10-31", 96), ("2026-11-01", 100), ("2026-11-02", 96)]));
    }

    #[test]
    fn a_zone_can_be_45_minutes_beside_the_hour() {
        let days = lengths("Asia/Kathmandu", Granularity::Daily, "2026-01-01T18:15:00Z", "2026-01-03T18:15:00Z");
        assert_eq!(days, expect(&[("2026-01-02", 96), ("2026-01-03", 96)]));
        let hours = lengths("Asia/Kathmandu", Granularity::Hourly, "2026-01-01T18:15:00Z", "2026-01-01T20:00:00Z");
        assert_eq!(hours, expect(&[("2026-01-02T00:00", 4), ("2026-01-02T01:00", 3)]));
    }

    #[test]
    fn the_clocks_of_a_zone_can_change_by_half_an_hour() {
        let days = lengths("Australia/Lord_Howe", Granularity::Daily, "2026-04-03T13:00:00Z", "2026-04-05T13:30:00Z");
        assert_eq!(days, expect(&[("2026-04-04", 96), ("2026-04-05", 98)]));
        let hours = lengths("Australia/Lord_Howe", Granularity::Hourly, "2026-04-04T14:00:00Z", "2026-04-04T16:30:00Z");
        assert_eq!(hours, expect(&[("2026-04-05T01:00", 6), ("2026-04-05T02:00", 4)]), "half an hour is repeated");
    }

    #[test]
    fn a_week_begins_on_monday_and_a_month_on_its_first_day() {
        let weeks = lengths("UTC", Granularity::Weekly, "2026-07-01T00:00:00Z", "2026-07-08T00:00:00Z");
        assert_eq!(weeks, expect(&[("2026-06-29", 5 * 96), ("2026-07-06", 2 * 96)]));
        let months = lengths("UTC", Granularity::Monthly, "2026-01-15T00:00:00Z", "2026-03-02T00:00:00Z");
        assert_eq!(months, expect(&[("2026-01-01", 17 * 96), ("2026-02-01", 28 * 96), ("2026-03-01", 96)]));
    }

    #[test]
    fn a_day_that_a_zone_skips_is_no_period() {
        let days = lengths("Pacific/Apia", Granularity::Daily, "2011-12-29T10:00:00Z", "2011-12-31T10:00:00Z");
        assert_eq!(days, expect(&[("2011-12-29", 96), ("2011-12-31", 96)]));
    }

    #[test]
    fn a_quarter_hour_belongs_to_the_last_period_that_has_begun() {
        let found = periods(&TimeZone::UTC, Granularity::Daily, 10..300).unwrap();

        assert_eq!(found.iter().map(|period| period.first).collect::<Vec<_>>(), [10, 96, 192, 288]);
        assert_eq!([10, 95, 96, 299].map(|quarter| period_of(&found, quarter)), [0, 0, 1, 3]);
    }

    #[test]
    fn the_number_of_periods_is_bounded() {
        let hours = |count: u32| periods(&TimeZone::UTC, Granularity::Hourly, 0..count * 4);

        assert_eq!(hours(10_000).unwrap().len(), PERIODS_MAX);
        assert_eq!(hours(10_001), Err(TooManyPeriods));
    }
}
