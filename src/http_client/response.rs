//! What came back.

use std::time::Duration;

use hyper::header::RETRY_AFTER;

use super::connection::RawResponse;
use super::retry_after;
use crate::base::clock::TimestampMs;

/// An answer to a request, whatever its status is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    /// As sent: a redirect is a 3xx, never followed.
    pub status: u16,
    /// How long the receiver wants to be left alone; at most a day.
    pub retry_after: Option<Duration>,
    /// The first 1,024 bytes of the body. What is no UTF-8 is replaced, which may make it three times as long.
    pub body: String,
    /// From the call to the end of what was read.
    pub duration_ms: u64,
}

impl HttpResponse {
    /// Reads an answer that came `duration_ms` after `sent_ms`.
    pub(super) fn of(reply: &RawResponse, duration_ms: u64, sent_ms: TimestampMs) -> Self {
        let now_ms = sent_ms.saturating_add_unsigned(duration_ms);
        let retry_after = reply.head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        Self {
            status: reply.head.status.as_u16(),
            retry_after: retry_after.and_then(|value| retry_after::parse(value, now_ms)),
            body: text(&reply.body, reply.is_cut),
            duration_ms,
        }
    }
}

/// Reads bytes as text; a character that the cut went through is left out.
fn text(bytes: &[u8], is_cut: bool) -> String {
    let end = match std::str::from_utf8(bytes) {
        Err(error) if is_cut && error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    };
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_becomes_text_whatever_it_holds() {
        for (bytes, is_cut, want) in [
            (b"ok".as_slice(), false, "ok"),
            (b"", false, ""),
            ("Gr\u{fc}\u{df}e".as_bytes(), true, "Gr\u{fc}\u{df}e"),
            (b"Gr\xc3", true, "Gr"),
            (b"Gr\xc3", false, "Gr\u{fffd}"),
            (b"\xff\xfe!", true, "\u{fffd}\u{fffd}!"),
        ] {
            assert_eq!(text(bytes, is_cut), want, "{bytes:?}");
        }
    }
}
