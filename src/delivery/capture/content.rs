//! The content of a captured message. Pure.

use mail_parser::{Address, MessageParser};
use serde::{Deserialize, Serialize};

use super::mime_part::{HeaderField, MimePart, field, header_fields, parts};
use crate::mime::text_from_html;

/// Maximum number of attachments that are shown.
const ATTACHMENTS_MAX: usize = 200;
/// Maximum size of all inline images that are returned.
const IMAGES_BYTES_MAX: usize = 10 << 20;
/// Maximum number of characters of the sender and of the subject in the row of a message.
const SUMMARY_CHARS_MAX: usize = 300;
/// Maximum size of the header that is read for the row of a message.
const SUMMARY_BYTES_MAX: usize = 64 << 10;

/// A captured message in its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedContent {
    /// Names and values of the header fields, without line breaks, in the order of the message.
    pub headers: Vec<(String, String)>,
    /// Decoded subject.
    pub subject: Option<String>,
    /// The text part. Without one, the text of the HTML part.
    pub text: Option<String>,
    pub html: Option<String>,
    /// Files and inline images.
    pub parts: Vec<CapturedPart>,
    /// Links to web pages, in order, each once.
    pub links: Vec<String>,
    /// First code of four to eight digits.
    pub code: Option<String>,
}

/// A file or an inline image of a captured message, as `ringmail inbox show --json` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedPart {
    pub filename: String,
    /// Media type.
    pub content_type: String,
    /// Size in bytes, decoded.
    pub size: usize,
    pub content_id: Option<String>,
}

/// Sender and subject of a message, for its row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) from: Option<String>,
    pub(super) subject: Option<String>,
}

/// The parts of a message by their use.
#[derive(Debug, Default)]
struct SortedParts<'a> {
    text: Option<MimePart<'a>>,
    html: Option<MimePart<'a>>,
    files: Vec<MimePart<'a>>,
}

impl Summary {
    /// Reads the header of a message.
    pub(super) fn of(message: &[u8]) -> Self {
        Self::of_fields(&header_fields(&message[..message.len().min(SUMMARY_BYTES_MAX)]))
    }

    fn of_fields(fields: &[HeaderField]) -> Self {
        let value = |name: &str| field(fields, name).unwrap_or_default();
        let header = format!("From: {}\r\nSubject: {}\r\n\r\n", value("From"), value("Subject"));
        let Some(message) = MessageParser::default().parse_headers(&header) else { return Self::default() };
        let short = |text: &str| -> Option<String> {
            let text: String = text.chars().filter(|c| !c.is_control()).take(SUMMARY_CHARS_MAX).collect();
            (!text.is_empty()).then_some(text)
        };
        Self {
            from: message.from().and_then(first_mailbox).as_deref().and_then(short),
            subject: message.subject().and_then(short),
        }
    }
}

impl<'a> SortedParts<'a> {
    /// Sorts the parts of a message: its first text, its first HTML, and files.
    fn of(message: &'a [u8]) -> Self {
        let mut sorted = Self::default();
        for part in parts(message) {
            let is_shown = !part.is_attachment && part.filename.is_none();
            match part.media_type.as_str() {
                "text/plain" if is_shown && sorted.text.is_none() => sorted.text = Some(part),
                "text/html" if is_shown && sorted.html.is_none() => sorted.html = Some(part),
                _ if sorted.files.len() < ATTACHMENTS_MAX => sorted.files.push(part),
                _ => {}
            }
        }
        sorted
    }
}

impl CapturedContent {
    /// Reads a message. Bytes without a header are one text.
    pub fn of(bytes: &[u8]) -> Self {
        let mut content = Self::read(bytes);
        (content.links, content.code) = (content.find_links(), content.find_code());
        content
    }

    fn read(bytes: &[u8]) -> Self {
        let headers = header_fields(bytes);
        if headers.is_empty() {
            return Self { text: Some(String::from_utf8_lossy(bytes).into_owned()), ..Self::default() };
        }
        let SortedParts { text, html, files } = SortedParts::of(bytes);
        let html = html.map(|part| part.text());
        Self {
            subject: Summary::of_fields(&headers).subject,
            headers,
            text: text.map(|part| part.text()).or_else(|| html.as_deref().map(text_from_html)),
            html,
            parts: files.iter().map(part_of).collect(),
            ..Self::default()
        }
    }
}

/// Returns a file of a message with its bytes; `None` if the message has no such file.
pub(super) fn read_part(bytes: &[u8], index: usize) -> Option<(CapturedPart, Vec<u8>)> {
    let sorted = SortedParts::of(bytes);
    let part = sorted.files.get(index)?;
    Some((part_of(part), part.bytes().into_owned()))
}

/// Returns the inline images of a message, up to a size: content id, media type and bytes.
pub(super) fn inline_images(bytes: &[u8]) -> Vec<(String, String, Vec<u8>)> {
    let (mut images, mut bytes_left) = (Vec::new(), IMAGES_BYTES_MAX);
    for part in SortedParts::of(bytes).files {
        let Some(content_id) = part.content_id.clone().filter(|_| part.media_type.starts_with("image/")) else {
            continue;
        };
        let image = part.bytes();
        let Some(left) = bytes_left.checked_sub(image.len()) else { continue };
        bytes_left = left;
        images.push((content_id, part.media_type.clone(), image.into_owned()));
    }
    images
}

fn part_of(part: &MimePart<'_>) -> CapturedPart {
    CapturedPart {
        filename: part.filename.clone().unwrap_or_else(|| "attachment".to_owned()),
        content_type: part.media_type.clone(),
        size: part.bytes().len(),
        content_id: part.content_id.clone(),
    }
}

fn first_mailbox(address: &Address<'_>) -> Option<String> {
    let first = address.first()?;
    match (first.name(), first.address()) {
        (Some(name), Some(address)) => Some(format!("{name} <{address}>")),
        (None, Some(address)) => Some(address.to_owned()),
        (name, None) => name.map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &str = "From: \"Acme, Shop\" <shop@example.com>\r\nTo: ada@example.net\r\n\
        Subject: =?utf-8?q?Caf=C3=A9?=\r\nX-Long: one\r\n two\r\nMIME-Version: 1.0\r\n\
        Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/html; charset=utf-8\r\n\r\n\
        <p>Hi <b>Ada</b></p>\r\n--b\r\nContent-Type: image/png\r\nContent-ID: <logo>\r\n\
        Content-Disposition: attachment; filename=\"a.png\"\r\nContent-Transfer-Encoding: base64\r\n\r\naGk=\r\n--b--\r\n";

    #[test]
    fn a_message_is_read_in_its_parts() {
        let content = CapturedContent::of(MESSAGE.as_bytes());

        assert_eq!(content.headers[3], ("X-Long".to_owned(), "one two".to_owned()));
        assert_eq!(content.subject.as_deref(), Some("Café"));
        assert_eq!(content.html.as_deref(), Some("<p>Hi <b>Ada</b></p>"));
        assert_eq!(content.text.as_deref(), Some("Hi Ada"));
        let png = CapturedPart {
            filename: "a.png".to_owned(),
            content_type: "image/png".to_owned(),
            size: 2,
            content_id: Some("logo".to_owned()),
        };
        assert_eq!(content.parts, std::slice::from_ref(&png));
        assert_eq!(read_part(MESSAGE.as_bytes(), 0), Some((png, b"hi".to_vec())));
        assert_eq!(read_part(MESSAGE.as_bytes(), 1), None);
        assert_eq!(inline_images(MESSAGE.as_bytes()), [("logo".to_owned(), "image/png".to_owned(), b"hi".to_vec())]);
    }

    #[test]
    fn further_texts_and_named_texts_are_files() {
        let message = "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain; name=a.txt\r\n\r\n\
            named\r\n--b\r\n\r\nHi\r\n--b\r\n\r\n-- \r\nlist footer\r\n--b--\r\n";

        let content = CapturedContent::of(message.as_bytes());

        assert_eq!(content.text.as_deref(), Some("Hi"));
        let names: Vec<&str> = content.parts.iter().map(|part| part.filename.as_str()).collect();
        assert_eq!(names, ["a.txt", "attachment"]);
        assert_eq!(read_part(message.as_bytes(), 1).unwrap().1, b"-- \r\nlist footer");
    }

    #[test]
    fn the_row_of_a_message_has_its_sender_and_its_subject() {
        let summary = Summary::of(MESSAGE.as_bytes());

        assert_eq!(summary.from.as_deref(), Some("Acme, Shop <shop@example.com>"));
        assert_eq!(summary.subject.as_deref(), Some("Café"));
        assert_eq!(Summary::of(b"\r\n\r\nno header"), Summary::default());
    }

    #[test]
    fn a_message_in_many_messages_is_one_file() {
        // A value for each message would exhaust the stack of the thread that drops them.
        let message = format!("Subject: x\r\n{}Hi", "Content-Type: message/rfc822\r\n\r\n".repeat(200_000));

        let content = CapturedContent::of(message.as_bytes());

        assert_eq!((content.subject.as_deref(), content.parts.len()), (Some("x"), 1));
        assert_eq!(content.parts[0].content_type, "message/rfc822");
        assert!(inline_images(message.as_bytes()).is_empty());
    }

    #[test]
    fn bytes_that_are_no_message_do_not_panic() {
        for bytes in
            [&b""[..], b"\xff\xfe", b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n--b\r\n--b", b"\0"]
        {
            let _ = CapturedContent::of(bytes);
            let _ = Summary::of(bytes);
            let _ = inline_images(bytes);
        }
    }
}
