//! The response to a request.

use std::time::Duration;

use hyper::header::RETRY_AFTER;

use super::connection::RawResponse;
use super::retry_after;
use crate::base::clock::TimestampMs;

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
    /// Time from the call to the last byte read.
    pub duration_ms: u64,
}

impl HttpResponse {
    /// Converts a response that was received `duration_ms` after `sent_ms`.
    pub(super) fn of(raw: &RawResponse, duration_ms: u64, sent_ms: TimestampMs) -> Self {
        let now_ms = sent_ms.saturating_add_unsigned(duration_ms);
        let retry_after = raw.head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        Self {
            status: raw.head.status.as_u16(),
            retry_after: retry_after.and_then(|value| retry_after::parse(value, now_ms)),
            body: text(&raw.body, raw.is_truncated),
            duration_ms,
        }
    }
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
