//! The parts of a message (RFC 2045), bounded in depth and number. Pure.
//!
//! Messages are hostile input. A parser of whole messages nests each `message/rfc822` in a value of its own, so that a
//! small message can exhaust the stack. Here a message in a message is a file, and multiparts are split down to a
//! depth. Only short values of header fields reach the library.

use std::borrow::Cow;

use mail_parser::decoders::charsets::map::charset_decoder;
use mail_parser::{MessageParser, MimeHeaders as _};

use crate::mime::{TransferEncoding, split_header, split_parts};

/// Maximum depth of multiparts. A deeper one is a file.
const DEPTH_MAX: usize = 10;
/// Maximum number of parts with the multiparts among them.
const PARTS_MAX: usize = 500;
/// Bytes of a header that are read.
const HEADER_BYTES_MAX: usize = 256 << 10;
/// Maximum number of header fields.
const FIELDS_MAX: usize = 500;
/// Bytes of the value of a header field that the library parses. Its cost is quadratic in the length of a value.
const VALUE_BYTES_MAX: usize = 4 << 10;

/// Name and value of a header field. The value has no line break.
pub(super) type HeaderField = (String, String);

/// A part of a message that is no multipart, or a multipart that is not split.
#[derive(Clone, Debug)]
pub(super) struct MimePart<'a> {
    /// Type and subtype in lower case.
    pub(super) media_type: String,
    pub(super) filename: Option<String>,
    /// Without angle brackets.
    pub(super) content_id: Option<String>,
    /// Whether the sender marked the part as an attachment.
    pub(super) is_attachment: bool,
    charset: Option<String>,
    boundary: Option<String>,
    encoding: TransferEncoding,
    body: &'a [u8],
}

/// Returns the header fields of a message in their order.
pub(super) fn header_fields(message: &[u8]) -> Vec<HeaderField> {
    let (header, _) = split_header(message);
    let header = String::from_utf8_lossy(&header[..header.len().min(HEADER_BYTES_MAX)]);
    let mut fields: Vec<HeaderField> = Vec::new();
    for line in header.split(['\r', '\n']).filter(|line| !line.trim().is_empty()) {
        // RFC 5322 §2.2.3: a line that begins with white space continues the field before it.
        if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = fields.last_mut() {
                value.push_str(line);
            }
            continue;
        }
        if fields.len() == FIELDS_MAX {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            fields.push((name.trim_end().to_owned(), value.to_owned()));
        }
    }
    for (_, value) in &mut fields {
        *value = value.trim().to_owned();
    }
    fields
}

/// Returns the beginning of the first field with a name, as much as the library parses.
pub(super) fn field<'f>(fields: &'f [HeaderField], name: &str) -> Option<&'f str> {
    let (_, value) = fields.iter().find(|(its, value)| its.eq_ignore_ascii_case(name) && !value.is_empty())?;
    Some(&value[..value.floor_char_boundary(VALUE_BYTES_MAX)])
}

/// Returns the parts of a message in their order, without the multiparts around them.
pub(super) fn parts(message: &[u8]) -> Vec<MimePart<'_>> {
    let (mut found, mut left) = (Vec::new(), PARTS_MAX);
    collect(message, 0, &mut left, &mut found);
    found
}

fn collect<'a>(bytes: &'a [u8], depth: usize, left: &mut usize, found: &mut Vec<MimePart<'a>>) {
    *left = left.saturating_sub(1);
    let part = MimePart::read(bytes);
    let inner = match &part.boundary {
        Some(boundary) if depth < DEPTH_MAX => split(part.body, boundary, *left),
        _ => Vec::new(),
    };
    if inner.is_empty() {
        found.push(part);
        return;
    }
    for bytes in inner {
        if *left == 0 {
            return;
        }
        collect(bytes, depth + 1, left, found);
    }
}

impl<'a> MimePart<'a> {
    fn read(bytes: &'a [u8]) -> Self {
        let (fields, (_, body)) = (header_fields(bytes), split_header(bytes));
        let encoding = TransferEncoding::of(field(&fields, "Content-Transfer-Encoding").unwrap_or_default());
        let mut part = Self {
            media_type: "text/plain".to_owned(),
            filename: None,
            content_id: None,
            is_attachment: false,
            charset: None,
            boundary: None,
            encoding,
            body,
        };
        // The library gets only these bounded values.
        let mut header = String::new();
        for name in ["Content-Type", "Content-Disposition", "Content-ID"] {
            if let Some(value) = field(&fields, name) {
                header.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        header.push_str("\r\n");
        if let Some(parsed) = MessageParser::default().parse_headers(&header) {
            if let Some(kind) = parsed.content_type() {
                let subtype = kind.subtype().map(|subtype| format!("/{subtype}")).unwrap_or_default();
                part.media_type = format!("{}{subtype}", kind.ctype()).to_ascii_lowercase();
                part.charset = kind.attribute("charset").map(str::to_owned);
                let boundary = kind.attribute("boundary").filter(|_| part.media_type.starts_with("multipart/"));
                part.boundary = boundary.map(str::to_owned);
            }
            part.is_attachment = parsed.content_disposition().is_some_and(|disposition| disposition.is_attachment());
            part.filename = parsed.attachment_name().map(str::to_owned);
            let id = parsed.content_id().map(|id| id.trim().trim_matches(['<', '>']));
            part.content_id = id.filter(|id| !id.is_empty()).map(str::to_owned);
        }
        part
    }

    /// Returns the decoded bytes. A body that does not have its encoding is returned as it is.
    pub(super) fn bytes(&self) -> Cow<'a, [u8]> {
        self.encoding.decode(self.body)
    }

    /// Returns the decoded text.
    pub(super) fn text(&self) -> String {
        let bytes = self.bytes();
        match self.charset.as_deref().and_then(|charset| charset_decoder(charset.as_bytes())) {
            Some(decode) => decode(&bytes),
            None => String::from_utf8_lossy(&bytes).into_owned(),
        }
    }
}

/// Splits a multipart. The line break before a delimiter belongs to the delimiter (RFC 2046 §5.1.1), and a part that ends
/// with the body has none.
fn split<'a>(body: &'a [u8], boundary: &str, parts_max: usize) -> Vec<&'a [u8]> {
    let end = body.as_ptr_range().end;
    let is_open = |part: &[u8]| part.as_ptr_range().end == end;
    let parts = split_parts(body, boundary, parts_max).into_iter();
    parts.map(|part| if is_open(part) { part } else { without_line_break(part) }).collect()
}

fn without_line_break(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;

    fn types(message: &str) -> Vec<String> {
        parts(message.as_bytes()).into_iter().map(|part| part.media_type).collect()
    }

    #[test]
    fn multiparts_are_split_in_the_order_of_their_parts() {
        let message = "Content-Type: multipart/mixed; boundary=\"a\"\r\n\r\npreamble\r\n--a\r\n\
                       Content-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\n\r\nHi\r\n--b\r\n\
                       Content-Type: TEXT/HTML; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n\
                       <p>Gr=FC=DFe</p>\r\n--b--\r\n--a\r\nContent-Type: application/pdf; name=\"n.pdf\"\r\n\
                       Content-Disposition: attachment; filename*=utf-8''%C3%A9.pdf\r\nContent-ID: <x@y>\r\n\
                       Content-Transfer-Encoding: base64\r\n\r\naG\r\nk=\r\n--a--\r\nepilogue\r\n";

        let found = parts(message.as_bytes());

        assert_eq!(types(message), ["text/plain", "text/html", "application/pdf"]);
        assert_eq!((found[0].text().as_str(), found[1].text().as_str()), ("Hi", "<p>Grüße</p>"));
        assert!(!found[0].is_attachment && found[2].is_attachment);
        assert_eq!((found[2].filename.as_deref(), found[2].content_id.as_deref()), (Some("é.pdf"), Some("x@y")));
        assert_eq!(*found[2].bytes(), *b"hi");
    }

    #[test]
    fn a_message_in_a_message_is_one_part() {
        let message = "Content-Type: multipart/mixed; boundary=a\n\n--a\nContent-Type: message/rfc822\n\nSubject: x\n\n\
                       Hi\n--a--\n";

        let found = parts(message.as_bytes());

        assert_eq!((found.len(), found[0].media_type.as_str()), (1, "message/rfc822"));
        assert_eq!(*found[0].bytes(), *b"Subject: x\n\nHi");
    }

    #[test]
    fn a_multipart_without_parts_is_one_part() {
        for message in [
            "Content-Type: multipart/mixed; boundary=a\n\nno part",
            "Content-Type: multipart/mixed\n\n--a\nHi",
            "Hi",
            "",
        ] {
            assert_eq!(parts(message.as_bytes()).len(), 1, "{message:?}");
        }
    }

    #[test]
    fn deep_and_numerous_parts_are_bounded() {
        let nested = "Content-Type: message/rfc822\r\n\r\n".repeat(300_000);
        let encoded = format!(
            "Content-Type: message/rfc822\r\nContent-Transfer-Encoding: base64\r\n\r\n{}",
            STANDARD.encode(&nested)
        );
        let multiparts: String = (0..20_000)
            .map(|depth| format!("Content-Type: multipart/mixed; boundary=b{depth}\r\n\r\n--b{depth}\r\n"))
            .collect();
        let head = "Content-Type: multipart/mixed; boundary=b\r\n\r\n";
        let many = format!("{head}{}", "--b\r\n\r\n".repeat(1_000_000));
        let empty_multiparts = format!("{head}{}", format!("--b\r\n{head}--b\r\n\r\n").repeat(100_000));
        let words = format!("Subject: {}\r\n\r\n", "=?ab?q? ".repeat(100_000));
        let pieces: String = (0..50_000).map(|number| format!(";\r\n a*{number}=b")).collect();
        let pieces = format!("Content-Type: text/plain{pieces}\r\n\r\nHi");
        let fields = "X: y\r\n".repeat(100_000);
        for message in [nested, encoded, multiparts, many, empty_multiparts, words, pieces, fields] {
            let found = parts(message.as_bytes());

            assert!((1..=PARTS_MAX).contains(&found.len()), "{}", found.len());
            assert!(header_fields(message.as_bytes()).len() <= FIELDS_MAX);
        }
    }

    #[test]
    fn a_header_is_unfolded_and_keeps_its_order() {
        let fields = header_fields(b"Received: a\r\n\tb\r\nX : 1\r\nno field\r\nReceived: c\r\n\r\nX: body");

        let expected = [("Received", "a\tb"), ("X", "1"), ("Received", "c")];
        assert_eq!(fields, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(field(&fields, "RECEIVED"), Some("a\tb"));
        assert_eq!(field(&fields, "absent"), None);
    }

    proptest! {
        #[test]
        fn no_input_causes_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            for part in parts(&bytes) {
                let _ = part.text();
            }
        }

        #[test]
        fn a_hostile_multipart_stays_within_the_limits(body in "(--b(--)?\r?\n|[a-zA-Z:;/=\"* \t]{0,20}\r?\n){0,60}") {
            let message = format!("Content-Type: multipart/mixed; boundary=b\r\n\r\n{body}");
            prop_assert!((1..=PARTS_MAX).contains(&parts(message.as_bytes()).len()));
        }
    }
}
