//! Character references in text and in attributes.

use std::borrow::Cow;

use crate::base::char_reference::{decode, decode_all, named, split_name};

/// Result of parsing at an ampersand.
pub(super) enum CharReference {
    /// A character, and the length of the reference in bytes including the ampersand.
    Char(char, usize),
    /// A literal ampersand.
    Literal,
}

/// Parses the reference at the start of `text`, which must start with an ampersand.
pub(super) fn parse(text: &str) -> CharReference {
    let body = &text[1..];
    if let Some((c, bytes)) = decode(body) {
        return CharReference::Char(c, bytes + 1);
    }
    let (name, _) = split_name(body);
    // The semicolon is optional only for the oldest names, which authors still write without it.
    let semicolon_optional = matches!(name, "amp" | "lt" | "gt" | "quot" | "nbsp" | "copy" | "reg");
    match named(name) {
        Some(c) if semicolon_optional => CharReference::Char(c, name.len() + 1),
        _ => CharReference::Literal,
    }
}

/// Decodes the references in an attribute. A name needs its semicolon here, because a query string such as
/// `?a=1&copy=2` contains no copyright sign.
pub(super) fn decode_attribute(value: &str) -> Cow<'_, str> {
    decode_all(value, decode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_parsed_by_name_and_by_number() {
        for (text, expected) in [
            ("&amp;", Some(('&', 5))),
            ("&ampx", None),
            ("&amp x", Some(('&', 4))),
            ("&eacute;t", Some(('é', 8))),
            ("&eacute t", None),
            ("&unknown;", None),
            ("&", None),
            ("&;", None),
            ("&#65;", Some(('A', 5))),
            ("&#x41b", Some(('\u{41b}', 6))),
            ("&#150;", Some(('–', 6))),
            ("&#;", None),
            ("&#x;", None),
        ] {
            let found = match parse(text) {
                CharReference::Char(c, bytes) => Some((c, bytes)),
                CharReference::Literal => None,
            };
            assert_eq!(found, expected, "{text}");
        }
        assert_eq!(decode_attribute("?a=1&copy=2&amp;b&x&#65b"), "?a=1&copy=2&b&xAb");
    }
}
