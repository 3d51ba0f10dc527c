//! Content types of attachments: the declared type if it is valid, else one derived from the filename.

use super::header::is_token;
use super::message::MimeAttachment;

const OCTET_STREAM: &str = "application/octet-stream";

/// Longest name of a type or a subtype (RFC 6838 §4.2).
const NAME_BYTES_MAX: usize = 127;
const PARAMETERS_MAX: usize = 8;
const PARAMETER_BYTES_MAX: usize = 200;

/// Content types by file extension, for attachments without a declared type. Mail clients select the program for a
/// file by its name, so a short list is sufficient.
const BY_EXTENSION: [(&str, &str); 37] = [
    ("avi", "video/x-msvideo"),
    ("bmp", "image/bmp"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("doc", "application/msword"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("epub", "application/epub+zip"),
    ("gif", "image/gif"),
    ("gz", "application/gzip"),
    ("heic", "image/heic"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("ics", "text/calendar"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("json", "application/json"),
    ("md", "text/markdown"),
    ("mov", "video/quicktime"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("ppt", "application/vnd.ms-powerpoint"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("rtf", "application/rtf"),
    ("svg", "image/svg+xml"),
    ("tiff", "image/tiff"),
    ("txt", "text/plain"),
    ("vcf", "text/vcard"),
    ("wav", "audio/wav"),
    ("webp", "image/webp"),
    ("xls", "application/vnd.ms-excel"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("zip", "application/zip"),
];

/// A valid content type: its names and attributes are tokens, its values printable ASCII.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MediaType<'a> {
    pub(super) essence: &'a str,
    pub(super) parameters: Vec<(&'a str, String)>,
}

/// Returns the content type for an attachment.
pub(super) fn of_attachment<'a>(attachment: &MimeAttachment<'a>) -> MediaType<'a> {
    match attachment.content_type {
        Some(declared) => parse(declared).unwrap_or_else(|| plain(OCTET_STREAM)),
        None => plain(by_extension(attachment.filename.unwrap_or_default())),
    }
}

fn plain(essence: &str) -> MediaType<'_> {
    MediaType { essence, parameters: Vec::new() }
}

fn by_extension(filename: &str) -> &'static str {
    let extension = filename.rsplit_once('.').map_or("", |(_, extension)| extension);
    BY_EXTENSION
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(extension))
        .map_or(OCTET_STREAM, |(_, essence)| essence)
}

/// Parses a content type. `None` if it is not `type/subtype`, or if it is composite: RFC 2046 §5 forbids base64 for
/// composite types, and a mail client would parse their content.
fn parse(declared: &str) -> Option<MediaType<'_>> {
    let (essence, rest) = declared.split_once(';').unwrap_or((declared, ""));
    let essence = essence.trim_matches([' ', '\t']);
    let (top, sub) = essence.split_once('/')?;
    let named = |name: &str| is_token(name) && name.len() <= NAME_BYTES_MAX;
    let composite = ["multipart", "message"].iter().any(|kind| top.eq_ignore_ascii_case(kind));
    if !named(top) || !named(sub) || composite {
        return None;
    }

    let parameters = parameters(rest)
        .take(PARAMETERS_MAX)
        .filter(|(attribute, value)| {
            // The composer writes `name` itself, a boundary has no meaning here, and an asterisk starts the extended
            // form of RFC 2231.
            is_token(attribute)
                && !attribute.contains('*')
                && !attribute.eq_ignore_ascii_case("name")
                && !attribute.eq_ignore_ascii_case("boundary")
                && attribute.len() + value.len() <= PARAMETER_BYTES_MAX
                && value.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
        })
        .collect();
    Some(MediaType { essence, parameters })
}

/// Iterates over a list of `; attribute=value`, in which values can be quoted. Stops at the first syntax error.
fn parameters(text: &str) -> impl Iterator<Item = (&str, String)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches([' ', '\t', ';']);
        let (attribute, after) = rest.split_once('=')?;
        let value = if let Some(quoted) = after.strip_prefix('"') {
            let mut value = String::new();
            let mut chars = quoted.char_indices();
            let closed_at = loop {
                match chars.next()? {
                    (at, '"') => break at,
                    (_, '\\') => value.push(chars.next()?.1),
                    (_, c) => value.push(c),
                }
            };
            rest = &quoted[closed_at + 1..];
            value
        } else {
            let end = after.find(';').unwrap_or(after.len());
            rest = &after[end..];
            after[..end].trim_matches([' ', '\t']).to_owned()
        };
        Some((attribute.trim_matches([' ', '\t']), value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(filename: Option<&str>, content_type: Option<&str>) -> String {
        let attachment = MimeAttachment { filename, content_type, content: b"" };
        let media_type = of_attachment(&attachment);
        let parameters: String =
            media_type.parameters.iter().map(|(attribute, value)| format!(";{attribute}={value}")).collect();
        format!("{}{parameters}", media_type.essence)
    }

    #[test]
    fn a_declared_type_is_used_if_it_is_valid() {
        for (declared, expected) in [
            ("application/pdf", "application/pdf"),
            (" Image/PNG ", "Image/PNG"),
            ("text/calendar; method=REQUEST; charset=\"utf-8\"", "text/calendar;method=REQUEST;charset=utf-8"),
            ("text/x;a=\"b;\\\"c\";d=e", "text/x;a=b;\"c;d=e"),
            ("application/pdf; name=\"x.pdf\"; boundary=b; f*=x", "application/pdf"),
            ("text/plain; broken", "text/plain"),
            ("text/plain; a=\"open", "text/plain"),
            ("text/plain; a=é", "text/plain"),
            ("", OCTET_STREAM),
            ("pdf", OCTET_STREAM),
            ("a/b/c", OCTET_STREAM),
            ("text/", OCTET_STREAM),
            ("te xt/plain", OCTET_STREAM),
            ("text/plain\r\nBcc: x@y.co", OCTET_STREAM),
            ("multipart/mixed; boundary=b", OCTET_STREAM),
            ("message/rfc822", OCTET_STREAM),
        ] {
            assert_eq!(of(Some("x.csv"), Some(declared)), expected, "{declared:?}");
        }
    }

    #[test]
    fn an_absent_type_is_derived_from_the_filename() {
        for (filename, expected) in [
            (Some("invoice.PDF"), "application/pdf"),
            (Some("archive.tar.gz"), "application/gzip"),
            (Some("noextension"), OCTET_STREAM),
            (Some("odd."), OCTET_STREAM),
            (Some("mail.eml"), OCTET_STREAM),
            (None, OCTET_STREAM),
        ] {
            assert_eq!(of(filename, None), expected, "{filename:?}");
        }
    }

    proptest! {
        #[test]
        fn any_declared_type_gives_a_printable_content_type(declared in any::<String>()) {
            let written = of(None, Some(&declared));
            prop_assert!(written.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' '));
        }
    }
}
