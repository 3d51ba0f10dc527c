//! Dates in conditions on `created_at`: an ISO 8601 day or time, in UTC unless it has an offset.

use chrono::{NaiveDate, NaiveTime};

use crate::base::clock::TimestampMs;

const MINUTE_MS: i64 = 60_000;
/// Length of `2026-01-05`.
const DAY_BYTES: usize = 10;
/// Formats of a time: with seconds and an optional fraction, or without seconds.
const TIME_FORMATS: [&str; 2] = ["%H:%M:%S%.f", "%H:%M"];

/// Parses a day or a time. A day means its midnight.
pub(super) fn parse(text: &str) -> Option<TimestampMs> {
    let (day, rest) = text.trim().split_at_checked(DAY_BYTES)?;
    let midnight_ms = midnight_ms(day)?;
    if rest.is_empty() {
        return Some(midnight_ms);
    }
    let (time, offset_ms) = split_offset(rest.strip_prefix(['T', 't', ' '])?)?;
    let time = TIME_FORMATS.iter().find_map(|format| NaiveTime::parse_from_str(time, format).ok())?;
    let since_midnight_ms = time.signed_duration_since(NaiveTime::MIN).num_milliseconds();
    Some(midnight_ms + since_midnight_ms - offset_ms)
}

fn midnight_ms(day: &str) -> Option<TimestampMs> {
    // `NaiveDate` also accepts signs, spaces and shorter numbers.
    let is_plain = day.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    let day = is_plain.then(|| NaiveDate::parse_from_str(day, "%Y-%m-%d").ok())??;
    Some(day.and_time(NaiveTime::MIN).and_utc().timestamp_millis())
}

/// Splits `09:12:33+02:00` into the time and the offset from UTC.
fn split_offset(text: &str) -> Option<(&str, i64)> {
    if let Some(time) = text.strip_suffix(['Z', 'z']) {
        return Some((time, 0));
    }
    let Some(at) = text.rfind(['+', '-']) else { return Some((text, 0)) };
    let (time, offset) = text.split_at(at);
    let (sign, digits) = offset.split_at_checked(1)?;
    let (hours, minutes) = match digits.len() {
        2 => (digits, "0"),
        4 => digits.split_at_checked(2)?,
        5 => digits.split_once(':')?,
        _ => return None,
    };
    let part = |text: &str, max: i64| -> Option<i64> {
        let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_plain.then(|| text.parse().ok())?.filter(|value| *value <= max)
    };
    let minutes = part(hours, 23)? * 60 + part(minutes, 59)?;
    Some((time, if sign == "-" { -minutes * MINUTE_MS } else { minutes * MINUTE_MS }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_day_or_a_time_is_parsed() {
        for (text, ms) in [
            ("1970-01-01", 0),
            ("2026-01-05", 1_767_571_200_000),
            ("2026-01-05T09:12:33.456Z", 1_767_604_353_456),
            ("2026-01-05t09:12:33.456z", 1_767_604_353_456),
            ("2026-01-05 09:12:33.456789+00", 1_767_604_353_456),
            ("2026-01-05T10:12:33.456+01:00", 1_767_604_353_456),
            ("2026-01-05T03:42:33.456-0530", 1_767_604_353_456),
            ("2026-01-05T09:12", 1_767_604_320_000),
            (" 2026-01-05T09:12:33 ", 1_767_604_353_000),
            ("1969-12-31T23:59:59.999Z", -1),
        ] {
            assert_eq!(parse(text), Some(ms), "{text}");
        }
    }

    #[test]
    fn any_other_text_is_refused() {
        for text in [
            "",
            "tomorrow",
            "2026",
            "2026-1-5",
            "2026-02-30",
            "+2026-01-5",
            "20260105",
            "2026-01-05T",
            "2026-01-05X09:12",
            "2026-01-05T25:00",
            "2026-01-05T09:12+",
            "2026-01-05T09:12+24:00",
            "2026-01-05T09:12+1:00",
            "2026-01-05 9am",
            "2026-01-05T09:12:33 +01:00:00",
            "2026-01-05é",
            "05/01/2026",
            "1767604353456",
            "9999-99-99",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_time_in_a_response_is_parsed_to_the_same_time(ms in 0_i64..253_402_300_799_999) {
            prop_assert_eq!(parse(&crate::base::clock::to_iso(ms)), Some(ms));
        }

        #[test]
        fn the_parser_never_panics(text in "[0-9TZ:+. -]{0,30}|.{0,40}") {
            let _ = parse(&text);
        }
    }
}
