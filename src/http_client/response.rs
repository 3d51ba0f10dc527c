//! The response to a request, and its `Retry-After` field.

use std::time::Duration;

use chrono::NaiveDateTime;
use hyper::header::RETRY_AFTER;

use super::connection::RawResponse;
use crate::base::clock::{DAY_MS, TimestampMs};

/// Maximum delay of a `Retry-After` field. A longer one is reduced to it.
const RETRY_AFTER_MAX: Duration = Duration::from_millis(DAY_MS.unsigned_abs());

/// Date formats of RFC 9110 §5.6.7: the preferred one, and two obsolete ones that a recipient must accept.
const DATE_FORMATS: [&str; 3] = ["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"];

/// A response to a request, with any status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    /// Status code. A redirect (3xx) is returned, not followed.
    pub status: u16,
    /// Time from the `Retry-After` field, at most a day; `None` without a valid one.
    pub retry_after: Option<Duration>,
    /// The first 1,024 bytes of the body. Bytes that are not UTF-8 are replaced by U+FFFD, so the text can have up to
    /// 3,072 bytes.
    pub body: String,
}

impl HttpResponse {
    /// Converts a response that was received at `now_ms`.
    pub(super) fn of(raw: &RawResponse, now_ms: TimestampMs) -> Self {
        let retry_after = raw.head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        Self {
            status: raw.head.status.as_u16(),
            retry_after: retry_after.and_then(|value| parse_retry_after(value, now_ms)),
            body: text(&raw.body, raw.is_truncated),
        }
    }
}

/// Parses the value of a `Retry-After` field (RFC 9110 §10.2.3): a number of seconds or a date. Returns the delay from
/// `now_ms`, at most [`RETRY_AFTER_MAX`], and zero for a past date; `None` if the value is neither.
fn parse_retry_after(value: &str, now_ms: TimestampMs) -> Option<Duration> {
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

/// Converts bytes to text, replacing bytes that are not UTF-8. If the bytes are truncated, drops an incomplete last
/// character.
fn text(bytes: &[u8], is_truncated: bool) -> String {
    let end = match std::str::from_utf8(bytes) {
        Err(error) if is_truncated && error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    };
    String::from_utf8_lossy(&bytes[..end]).into_owned()
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
            assert_eq!(parse_retry_after(value, NOW_MS), want_s.map(Duration::from_secs), "{value:?}");
        }
    }

    proptest! {
        #[test]
        fn parsing_never_panics_and_is_bounded(value in "\\PC{0,40}|[A-Z][a-z]{2,8},? [0-9A-Za-z :-]{0,30}", now_ms: i64) {
            prop_assert!(parse_retry_after(&value, now_ms).unwrap_or_default() <= RETRY_AFTER_MAX);
        }
    }

    #[test]
    fn a_body_with_any_bytes_is_converted_to_text() {
        for (bytes, is_truncated, want) in [
            (b"ok".as_slice(), false, "ok"),
            (b"", false, ""),
            ("Gr\u{fc}\u{df}e".as_bytes(), true, "Gr\u{fc}\u{df}e"),
            (b"Gr\xc3", true, "Gr"),
            (b"Gr\xc3", false, "Gr\u{fffd}"),
            (b"\xff\xfe!", true, "\u{fffd}\u{fffd}!"),
        ] {
            assert_eq!(text(bytes, is_truncated), want, "{bytes:?}");
        }
    }
}
