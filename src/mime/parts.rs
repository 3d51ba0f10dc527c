//! The structure of a received message (RFC 2045): its header, the parts of a multipart, and the encoding of a body.
//!
//! Messages are hostile input: each function is linear in its input, and the number of parts is bounded.

use std::borrow::Cow;

use mail_parser::decoders::base64::base64_decode;
use mail_parser::decoders::quoted_printable::quoted_printable_decode;

/// Bytes of a boundary. RFC 2046 §5.1.1 allows 70, and some systems write more.
const BOUNDARY_BYTES_MAX: usize = 200;

/// Transfer encoding of a received body (RFC 2045 §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferEncoding {
    None,
    Base64,
    QuotedPrintable,
}

impl TransferEncoding {
    /// Returns the encoding that a `Content-Transfer-Encoding` names. Any other value means none.
    pub fn of(value: &str) -> Self {
        match value.to_ascii_lowercase().as_str() {
            "base64" => Self::Base64,
            "quoted-printable" => Self::QuotedPrintable,
            _ => Self::None,
        }
    }

    /// Returns the decoded bytes. A body that does not have its encoding is returned as it is.
    pub fn decode(self, body: &[u8]) -> Cow<'_, [u8]> {
        let decoded = match self {
            Self::None => None,
            Self::Base64 => base64_decode(body),
            Self::QuotedPrintable => quoted_printable_decode(body),
        };
        decoded.map_or(Cow::Borrowed(body), Cow::Owned)
    }
}

/// Splits a message or a part at the first empty line, into header and body.
pub fn split_header(bytes: &[u8]) -> (&[u8], &[u8]) {
    let mut at = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let end = at + line.len();
        if line == b"\n" || line == b"\r\n" {
            return (&bytes[..at], &bytes[end..]);
        }
        at = end;
    }
    (bytes, &[])
}

/// Splits the body of a multipart at its delimiter lines (RFC 2046 §5.1.1), into at most `parts_max` parts, or one if that
/// is 0. The line break before a delimiter stays. In a truncated message, the last part has no closing delimiter and is
/// returned too. Returns no part if the boundary is empty or too long.
pub fn split_parts<'a>(body: &'a [u8], boundary: &str, parts_max: usize) -> Vec<&'a [u8]> {
    let mut parts = Vec::new();
    if !(1..=BOUNDARY_BYTES_MAX).contains(&boundary.len()) {
        return parts;
    }
    let mut part_start = None;
    let mut at = 0;
    for line in body.split_inclusive(|byte| *byte == b'\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        let delimiter = line.strip_prefix(b"--").and_then(|line| line.strip_prefix(boundary.as_bytes()));
        let Some(rest) = delimiter else { continue };
        let is_last = rest.starts_with(b"--");
        if !is_last && !rest.trim_ascii().is_empty() {
            continue;
        }
        if let Some(part_start) = part_start.take() {
            parts.push(&body[part_start..start]);
        }
        if is_last || parts.len() >= parts_max {
            return parts;
        }
        part_start = Some(end);
    }
    parts.extend(part_start.map(|part_start| &body[part_start..]));
    parts
}
