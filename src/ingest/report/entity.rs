//! A message or one of its parts (RFC 2045): its type, its header, its body, and the parts inside.

use mail_parser::{MessageParser, MimeHeaders as _};

use super::fields::HeaderFields;
use crate::mime::{TransferEncoding, split_header, split_parts};

/// Bytes of a header that are read. Mail servers refuse longer headers.
const HEADER_BYTES_MAX: usize = 128 << 10;
/// Parts of a report that are read. RFC 6522 §3 specifies three.
const PARTS_MAX: usize = 8;
/// Bytes of text that are read from a part. A status of a hundred recipients needs a third of that.
const TEXT_BYTES_MAX: usize = 128 << 10;

pub(super) struct MimeEntity<'a> {
    /// Type and subtype in lower case; by default `text/plain` (RFC 2045 §5.2).
    pub(super) media_type: String,
    boundary: Option<String>,
    encoding: TransferEncoding,
    pub(super) header: HeaderFields,
    body: &'a [u8],
}

impl<'a> MimeEntity<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Self {
        let (header, body) = split_header(bytes);
        let header = &header[..header.len().min(HEADER_BYTES_MAX)];
        let header = HeaderFields::header(&String::from_utf8_lossy(header));
        let ContentType { media_type, boundary } =
            header.one("Content-Type").and_then(content_type).unwrap_or_default();
        let encoding = TransferEncoding::of(header.one("Content-Transfer-Encoding").unwrap_or_default());
        Self { media_type, boundary, encoding, header, body }
    }

    /// Returns the beginning of the decoded body as text.
    pub(super) fn text(&self) -> String {
        let bytes = self.encoding.decode(self.body);
        String::from_utf8_lossy(&bytes[..bytes.len().min(TEXT_BYTES_MAX)]).into_owned()
    }

    /// Returns the parts of a multipart; empty for any other type.
    pub(super) fn parts(&self) -> Vec<MimeEntity<'a>> {
        let boundary = self.boundary.as_deref().filter(|_| self.media_type.starts_with("multipart/"));
        let parts = boundary.map(|boundary| split_parts(self.body, boundary, PARTS_MAX)).unwrap_or_default();
        parts.into_iter().map(MimeEntity::read).collect()
    }
}

struct ContentType {
    media_type: String,
    boundary: Option<String>,
}

impl Default for ContentType {
    fn default() -> Self {
        Self { media_type: "text/plain".to_owned(), boundary: None }
    }
}

/// Parses a `Content-Type`. The parser gets only this bounded value. It starts again after each incomplete encoded
/// word, so that its cost is quadratic in the length of the input.
fn content_type(value: &str) -> Option<ContentType> {
    let field = format!("Content-Type: {value}\r\n\r\n");
    let parsed = MessageParser::default().parse_headers(&field)?;
    let read = parsed.content_type()?;
    let subtype = read.subtype().unwrap_or_default();
    Some(ContentType {
        media_type: format!("{}/{subtype}", read.ctype()).to_ascii_lowercase(),
        boundary: read.attribute("boundary").map(ToOwned::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parts(body: &str) -> Vec<&str> {
        split_parts(body.as_bytes(), "x", PARTS_MAX)
            .into_iter()
            .map(|part| std::str::from_utf8(part).unwrap())
            .collect()
    }

    #[test]
    fn a_multipart_is_split_only_at_its_delimiter_lines() {
        assert_eq!(parts("before\n--x\na\n--x \t\r\nb\n--x--\nafter\n--x\nc"), ["a\n", "b\n"]);
        assert_eq!(parts("--x\na\n--xy\n --x\n--x\nb"), ["a\n--xy\n --x\n", "b"]);
        assert_eq!(parts("no delimiter"), [""; 0]);
        assert_eq!(parts(&"--x\na\n".repeat(100)).len(), PARTS_MAX);
    }

    #[test]
    fn a_media_type_is_in_lower_case_and_defaults_to_plain_text() {
        for (head, expected) in [
            ("Content-Type: Message/Delivery-Status\n\n", "message/delivery-status"),
            ("content-type: text/RFC822-Headers; charset=utf-8\r\n\r\n", "text/rfc822-headers"),
            ("Subject: x\n\n", "text/plain"),
            ("Subject: x\n \n y\nContent-Type:\n \n text/html\n\n", "text/html"),
            ("Content-Type: ;\n\n", "text/plain"),
            ("\nbody", "text/plain"),
            ("", "text/plain"),
        ] {
            assert_eq!(MimeEntity::read(head.as_bytes()).media_type, expected, "{head:?}");
        }
    }

    #[test]
    fn only_the_bounded_content_type_is_parsed() {
        // Parsing all of this header would take a second.
        let words = "=?ab?q? ".repeat(16_000);
        let boundary = |head: String| MimeEntity::read(head.as_bytes()).boundary;

        assert_eq!(boundary(format!("Content-Type: a/b;\n boundary=b\nSubject: {words}\n\n")).as_deref(), Some("b"));
        assert_eq!(boundary("Content-Type: a/b;\n boundary=\"b\n c\"\n\n".to_owned()).as_deref(), Some("b c"));
        assert_eq!(boundary(format!("Content-Type: a/b; x=\"{}\";\n boundary=b\n\n", "x".repeat(4_096))), None);
    }

    #[test]
    fn an_encoded_part_is_decoded() {
        for (encoding, body) in [("base64", "QWN0aW9uOiBmYWlsZWQ="), ("Quoted-Printable", "Action:=20fa=\r\niled")] {
            let part = format!("Content-Transfer-Encoding: {encoding}\r\n\r\n{body}");
            assert_eq!(MimeEntity::read(part.as_bytes()).text(), "Action: failed");
        }
    }

    proptest! {
        #[test]
        fn no_input_causes_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), boundary in "[a-z]{1,3}") {
            let entity = MimeEntity::read(&bytes);
            let _ = (entity.text(), entity.parts().len());
            prop_assert!(split_parts(&bytes, &boundary, PARTS_MAX).len() <= PARTS_MAX);
        }

        #[test]
        fn a_hostile_multipart_stays_within_the_limits(body in "(--b(--)?\r?\n|[a-zA-Z:;/=\"* \t]{0,20}\r?\n){0,60}") {
            let message = format!("Content-Type: multipart/report; boundary=b\r\n\r\n{body}");
            prop_assert!(MimeEntity::read(message.as_bytes()).parts().len() <= PARTS_MAX);
        }
    }
}
