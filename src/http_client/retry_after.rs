//! The `Retry-After` field: RFC 9110 §10.2.3.

use std::time::Duration;

use chrono::NaiveDateTime;

use crate::base::clock::{DAY_MS, TimestampMs};

/// A longer wait says no more than this one.
const RETRY_AFTER_MAX: Duration = Duration::from_millis(DAY_MS.unsigned_abs());

/// RFC 9110 §5.6.7: the preferred format, and two obsolete ones that a recipient must accept.
const DATE_FORMATS: [&str; 3] = ["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"];

/// Reads a number of seconds, or a date and how far it lies ahead of `now_ms`; a date that has passed is no wait.
pub(super) fn parse(value: &str, now_ms: TimestampMs) -> Option<Duration> {
    let value = value.trim();
    if value.is_empty() {
        return None;
    }
    if value.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than fit are as good as the maximum.
        return Some(
            value.parse().map_or(RETRY_AFTER_MAX, |seconds| Duration::from_secs(seconds).min(RETRY_AFTER_MAX)),
        );
    }
    let date = DATE_FORMATS.iter().find_map(|format| NaiveDateTime::parse_from_str(value, format).ok())?;
    let ahead_ms = date.and_utc().timestamp_millis().saturating_sub(now_ms);
    Some(Duration::from_millis(u64::try_from(ahead_ms).unwrap_or(0)).min(RETRY_AFTER_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Sunday, 6 November 1994, 08:49:00.
    const NOW_MS: TimestampMs = 784_111_740_000;

    #[test]
    fn seconds_and_dates_are_read() {
        for (value, want_s) in [
            ("0", Some(0)),
            ("120", Some(120)),
            (" 120 ", Some(120)),
            ("86401", Some(86_400)),
            ("99999999999999999999999999", Some(86_400)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(37)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(37)),
            ("Sun Nov  6 08:49:37 1994", Some(37)),
            ("Sun, 06 Nov 1994 08:48:59 GMT", Some(0)),
            ("Fri, 06 Nov 2015 08:49:37 GMT", Some(86_400)),
            ("", None),
            ("-1", None),
            ("+1", None),
            ("1.5", None),
            ("soon", None),
            ("Sun, 06 Nov 1994 08:49:37 +0200", None),
            ("Sun, 31 Feb 1994 08:49:37 GMT", None),
        ] {
            assert_eq!(parse(value, NOW_MS), want_s.map(Duration::from_secs), "{value:?}");
        }
    }

    proptest! {
        #[test]
        fn reading_never_panics_and_is_bounded(value in "\\PC{0,40}|[A-Z][a-z]{2,8},? [0-9A-Za-z :-]{0,30}", now_ms: i64) {
            prop_assert!(parse(&value, now_ms).unwrap_or_default() <= RETRY_AFTER_MAX);
        }
    }
}
