//! Validation of the content types of attachments.

use super::header::is_token;
use crate::base::media_type::OCTET_STREAM;

/// Longest name of a type or a subtype (RFC 6838 §4.2).
const NAME_BYTES_MAX: usize = 127;
const PARAMETERS_MAX: usize = 8;
const PARAMETER_BYTES_MAX: usize = 200;

/// A valid content type: its names and attributes are tokens, its values printable ASCII.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MediaType<'a> {
    pub(super) essence: &'a str,
    pub(super) parameters: Vec<(&'a str, String)>,
}

/// Returns the content type of an attachment: `declared` if it is valid, else `application/octet-stream`.
pub(super) fn of_attachment(declared: &str) -> MediaType<'_> {
    parse(declared).unwrap_or_else(|| MediaType { essence: OCTET_STREAM, parameters: Vec::new() })
}

/// Parses a content type. `None` if it is not `type/subtype`, or if it is composite. RFC 2046 §5 forbids base64 for
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

    fn of(declared: &str) -> String {
        let media_type = of_attachment(declared);
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
            assert_eq!(of(declared), expected, "{declared:?}");
        }
    }

    proptest! {
        #[test]
        fn any_declared_type_gives_a_printable_content_type(declared in any::<String>()) {
            let written = of(&declared);
            prop_assert!(written.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' '));
        }
    }
}
