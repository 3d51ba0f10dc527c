//! The `Retry-After` field: RFC 9110 §10.2.3.

use std::time::Duration;

use chrono::NaiveDateTime;

use crate::base::clock::{DAY_MS, TimestampMs};

/// Maximum delay. A longer one is reduced to it.
const RETRY_AFTER_MAX: Duration = Duration::from_millis(DAY_MS.unsigned_abs());

/// Date formats of RFC 9110 §5.6.7: the preferred one, and two obsolete ones that a recipient must accept.
const DATE_FORMATS: [&str; 3] = ["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"];

/// Parses a number of seconds or a date. Returns the delay from `now_ms`, at most [`RETRY_AFTER_MAX`], and zero for a
/// past date; `None` if the value is neither.
pub(super) fn parse(value: &str, now_ms: TimestampMs) -> Option<Duration> {
    let value = value.trim();
    if value.is_empty() {
        return None;
    }
    if value.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number that does not fit is above the maximum.
        return Some(
            value.parse().map_or(RETRY_AFTER_MAX, |seconds| Duration::from_secs(seconds).min(RETRY_AFTER_MAX)),
        );
    }
    let date = DATE_FORMATS.iter().find_map(|format| NaiveDateTime::parse_from_str(value, format).ok())?;
    let delay_ms = date.and_utc().timestamp_millis().saturating_sub(now_ms);
    Some(Duration::from_millis(u64::try_from(delay_ms).unwrap_or(0)).min(RETRY_AFTER_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Sunday, 6 November 1994, 08:49:00.
    const NOW_MS: TimestampMs = 784_111_740_000;

    #[test]
    fn seconds_and_dates_are_parsed() {
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
        fn parsing_never_panics_and_is_bounded(value in "\\PC{0,40}|[A-Z][a-z]{2,8},? [0-9A-Za-z :-]{0,30}", now_ms: i64) {
            prop_assert!(parse(&value, now_ms).unwrap_or_default() <= RETRY_AFTER_MAX);
        }
    }
}
