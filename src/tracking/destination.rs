//! The destination of a link: the value of its `href` as a browser reads it, and its form in a `Location` header.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt::Write as _;

use crate::base::address::DomainName;
use crate::base::char_reference::{decode_all, decode_numeric};

/// Longest destination of a rewritten link. A longer link stays as it is. Some mail clients cut a URL above 2,083
/// characters, and the tracked URL is a third longer than its destination.
pub(super) const DESTINATION_BYTES_MAX: usize = 1_400;
/// Longest destination of a token that is opened. Sent emails contain such tokens, so that it must never be less.
pub(super) const OPENED_DESTINATION_BYTES_MAX: usize = 2_000;
/// Longest value of an `href` that is decoded. A character reference is longer than its character.
pub(super) const VALUE_BYTES_MAX: usize = 8 * DESTINATION_BYTES_MAX;
const SCHEMES: [&str; 2] = ["http://", "https://"];
/// Start of a placeholder that was not replaced.
const PLACEHOLDER: &str = "{{{";

/// Returns the destination of an `href` value; `None` if the link is not to be tracked. Such a link is relative, has
/// another scheme, contains a placeholder, or is too long.
pub(super) fn of_href(value: &str) -> Option<String> {
    if value.len() > VALUE_BYTES_MAX {
        return None;
    }
    let destination = url_of_href(value)?;
    let is_scheme =
        |scheme: &&&str| destination.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    let scheme = SCHEMES.iter().find(is_scheme)?;
    let has_host =
        !destination[scheme.len()..].starts_with(['/', '\\', '?', '#', ' ']) && destination.len() > scheme.len();
    let is_tracked = has_host
        && destination.len() <= DESTINATION_BYTES_MAX
        && !destination.contains(PLACEHOLDER)
        && !destination.chars().any(char::is_control);
    is_tracked.then_some(destination)
}

/// Returns the URL of an `href` value, which can be one with merge fields; `None` if a browser could read another one.
pub(super) fn url_of_href(value: &str) -> Option<String> {
    let decoded = decode_references(value)?;
    // URL Standard §4.4: a browser removes these characters before it parses the URL.
    let trimmed = decoded.trim_matches(|c: char| c <= ' ');
    Some(trimmed.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')).collect())
}

/// Decodes the character references of an attribute value. Returns `None` for a name that this function does not know:
/// a browser could read another destination.
fn decode_references(value: &str) -> Option<Cow<'_, str>> {
    let has_unknown = Cell::new(false);
    let decoded = decode_all(value, |after| {
        reference(after).unwrap_or_else(|| {
            has_unknown.set(true);
            None
        })
    });
    (!has_unknown.get()).then_some(decoded)
}

/// Parses the text after an ampersand: `Some(None)` if the ampersand is literal, and `None` for an unknown reference.
fn reference(body: &str) -> Option<Option<(char, usize)>> {
    if let Some(numeric) = decode_numeric(body) {
        return Some(Some(numeric));
    }
    let name_bytes = body.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let (name, after) = body.split_at(name_bytes);
    if name.is_empty() {
        return Some(None);
    }
    let known = match name {
        "amp" | "AMP" => Some('&'),
        "lt" | "LT" => Some('<'),
        "gt" | "GT" => Some('>'),
        "quot" | "QUOT" => Some('"'),
        "apos" => Some('\''),
        "colon" => Some(':'),
        "sol" => Some('/'),
        "period" => Some('.'),
        "comma" => Some(','),
        "semi" => Some(';'),
        "quest" => Some('?'),
        "equals" => Some('='),
        "num" => Some('#'),
        "percnt" => Some('%'),
        "plus" => Some('+'),
        "lowbar" => Some('_'),
        "commat" => Some('@'),
        "Tab" => Some('\t'),
        "NewLine" => Some('\n'),
        _ => None,
    };
    if after.starts_with(';') {
        return known.map(|character| Some((character, name_bytes + 1)));
    }
    // HTML Standard §13.2.5.73: without a semicolon, only the oldest names are references, and not before `=`.
    if after.starts_with('=') || !is_oldest_name(name) {
        return Some(None);
    }
    known.map(|character| Some((character, name_bytes)))
}

/// Returns whether a reference with this name needs no semicolon.
fn is_oldest_name(name: &str) -> bool {
    const NAMES: [&str; 106] = [
        "AElig", "AMP", "Aacute", "Acirc", "Agrave", "Aring", "Atilde", "Auml", "COPY", "Ccedil", "ETH", "Eacute",
        "Ecirc", "Egrave", "Euml", "GT", "Iacute", "Icirc", "Igrave", "Iuml", "LT", "Ntilde", "Oacute", "Ocirc",
        "Ograve", "Oslash", "Otilde", "Ouml", "QUOT", "REG", "THORN", "Uacute", "Ucirc", "Ugrave", "Uuml", "Yacute",
        "aacute", "acirc", "acute", "aelig", "agrave", "amp", "aring", "atilde", "auml", "brvbar", "ccedil", "cedil",
        "cent", "copy", "curren", "deg", "divide", "eacute", "ecirc", "egrave", "eth", "euml", "frac12", "frac14",
        "frac34", "gt", "iacute", "icirc", "iexcl", "igrave", "iquest", "iuml", "laquo", "lt", "macr", "micro",
        "middot", "nbsp", "not", "ntilde", "oacute", "ocirc", "ograve", "ordf", "ordm", "oslash", "otilde", "ouml",
        "para", "plusmn", "pound", "quot", "raquo", "reg", "sect", "shy", "sup1", "sup2", "sup3", "szlig", "thorn",
        "times", "uacute", "ucirc", "ugrave", "uml", "uuml", "yacute", "yen", "yuml",
    ];
    NAMES.contains(&name)
}

/// Returns the form of a destination in a `Location` header: ASCII without spaces. A host name with other characters is
/// written in A-labels.
pub(super) fn location(destination: &str) -> String {
    let authority_start = destination.find("://").map_or(0, |at| at + "://".len());
    let authority_end =
        destination[authority_start..].find(['/', '\\', '?', '#']).map_or(destination.len(), |at| authority_start + at);
    let authority = &destination[authority_start..authority_end];
    let (host, port) = authority.split_at(authority.rfind(':').unwrap_or(authority.len()));
    let ascii_host = if host.is_ascii() { None } else { DomainName::parse(host).ok() };
    let host = ascii_host.as_ref().map_or(host, DomainName::as_str);
    let mut location = String::with_capacity(destination.len() + 16);
    for part in [&destination[..authority_start], host, port, &destination[authority_end..]] {
        push_encoded(&mut location, part);
    }
    location
}

/// Appends a text, and percent-encodes the bytes that a URL cannot contain.
fn push_encoded(out: &mut String, text: &str) {
    for byte in text.bytes() {
        if matches!(byte, b'!'..=b'~') && !matches!(byte, b'"' | b'<' | b'>') {
            out.push(char::from(byte));
        } else {
            // Writing to a `String` does not fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_destination_is_read_as_a_browser_reads_it() {
        let long = format!("https://a.example/{}", "x".repeat(DESTINATION_BYTES_MAX));
        let longest = &long[..DESTINATION_BYTES_MAX];
        for (href, expected) in [
            ("https://a.example", Some("https://a.example")),
            ("HTTP://A.example/X", Some("HTTP://A.example/X")),
            (" \n https://a.example/ \t", Some("https://a.example/")),
            ("https://a.exa\nmple/a\tb", Some("https://a.example/ab")),
            ("https://a.example/?a=1&amp;b=2", Some("https://a.example/?a=1&b=2")),
            ("https://a.example/?a=1&b=2", Some("https://a.example/?a=1&b=2")),
            ("https://a.example/?a=1&copy=2", Some("https://a.example/?a=1&copy=2")),
            ("https://a.example/?a=1&amp=2", Some("https://a.example/?a=1&amp=2")),
            ("https://a.example/?a=1&ampere", Some("https://a.example/?a=1&ampere")),
            ("https://a.example/?a=1&amp", Some("https://a.example/?a=1&")),
            ("https://a.example/?a=1&", Some("https://a.example/?a=1&")),
            ("&#104;ttps&#x3A;&sol;&sol;a.example", Some("https://a.example")),
            ("https://a.example/{{name}}", Some("https://a.example/{{name}}")),
            ("https://münchen.example/ä b", Some("https://münchen.example/ä b")),
            (longest, Some(longest)),
            // A browser decodes these, and this server does not know the first two.
            ("https://a.example/?a=1&hearts;", None),
            ("https://a.example/?a=1&copy", None),
            ("https://a.example/?a=&#0;&#10;b&#1;", Some("https://a.example/?a=\u{fffd}b")),
            ("https://a.example/?a=&#1;b", None),
            (&long, None),
            ("https://a.example/{{{X}}}", None),
            ("{{{UNSUBSCRIBE_URL}}}", None),
            ("mailto:ada@example.com", None),
            ("tel:+4930", None),
            ("#top", None),
            ("/path", None),
            ("//a.example", None),
            ("a.example", None),
            ("ftp://a.example", None),
            ("javascript:alert(1)", None),
            ("https:a.example", None),
            ("https:///a.example", None),
            ("https://", None),
            ("http", None),
            ("", None),
        ] {
            assert_eq!(of_href(href).as_deref(), expected, "{href:.80}");
        }
    }

    #[test]
    fn a_location_is_ascii() {
        for (destination, expected) in [
            ("https://a.example/?a=1&b=%20#x", "https://a.example/?a=1&b=%20#x"),
            ("https://münchen.example:8443/ä b", "https://xn--mnchen-3ya.example:8443/%C3%A4%20b"),
            ("https://ada@a.example/", "https://ada@a.example/"),
            ("https://[2001:db8::1]/", "https://[2001:db8::1]/"),
            ("https://ä@b/\"<>", "https://%C3%A4@b/%22%3C%3E"),
            ("HTTP://A.example", "HTTP://A.example"),
        ] {
            assert_eq!(location(destination), expected);
        }
    }

    proptest! {
        #[test]
        fn no_value_panics_and_every_location_is_printable(value in "(https?://)?.{0,60}|(https?://|&|#|;|amp|x41){0,12}") {
            if let Some(destination) = of_href(&value) {
                let location = location(&destination);
                prop_assert!(location.bytes().all(|byte| byte.is_ascii_graphic()), "{}", location);
            }
        }
    }
}
