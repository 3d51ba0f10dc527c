//! Character references: by number, and by the names that are common in email.

use std::borrow::Cow;

use crate::base::char_reference;

/// Longest name to look for after an ampersand. No name below is longer.
const NAME_BYTES_MAX: usize = 8;

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
    if let Some((c, bytes)) = char_reference::decode_numeric(body) {
        return CharReference::Char(c, bytes + 1);
    }
    let name_bytes = body.bytes().take(NAME_BYTES_MAX + 1).take_while(u8::is_ascii_alphanumeric).count();
    let (name, after) = body.split_at(name_bytes);
    // The semicolon is optional only for the oldest names, which authors still write without it.
    let semicolon_optional = matches!(name, "amp" | "lt" | "gt" | "quot" | "nbsp" | "copy" | "reg");
    match named(name) {
        Some(c) if after.starts_with(';') => CharReference::Char(c, name_bytes + 2),
        Some(c) if semicolon_optional => CharReference::Char(c, name_bytes + 1),
        _ => CharReference::Literal,
    }
}

/// Decodes the references in an attribute. The semicolon is required here, because a query string such as
/// `?a=1&copy=2` contains no copyright sign.
pub(super) fn decode_attribute(value: &str) -> Cow<'_, str> {
    if !value.contains('&') {
        return Cow::Borrowed(value);
    }
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match parse(rest) {
            CharReference::Char(c, bytes) if rest[..bytes].ends_with(';') => {
                out.push(c);
                rest = &rest[bytes..];
            }
            _ => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Returns the character with a name: Latin letters, punctuation and common symbols. Other names stay unchanged in the
/// text.
fn named(name: &str) -> Option<char> {
    Some(match name {
        "amp" | "AMP" => '&',
        "lt" | "LT" => '<',
        "gt" | "GT" => '>',
        "quot" | "QUOT" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        "ensp" => '\u{2002}',
        "emsp" => '\u{2003}',
        "thinsp" => '\u{2009}',
        "zwnj" => '\u{200c}',
        "zwj" => '\u{200d}',
        "shy" => '\u{ad}',
        "lrm" => '\u{200e}',
        "rlm" => '\u{200f}',
        "ndash" => '–',
        "mdash" => '—',
        "hellip" => '…',
        "bull" => '•',
        "middot" => '·',
        "lsquo" => '‘',
        "rsquo" => '’',
        "sbquo" => '‚',
        "ldquo" => '“',
        "rdquo" => '”',
        "bdquo" => '„',
        "laquo" => '«',
        "raquo" => '»',
        "lsaquo" => '‹',
        "rsaquo" => '›',
        "iexcl" => '¡',
        "iquest" => '¿',
        "copy" | "COPY" => '©',
        "reg" | "REG" => '®',
        "trade" => '™',
        "euro" => '€',
        "pound" => '£',
        "yen" => '¥',
        "cent" => '¢',
        "curren" => '¤',
        "sect" => '§',
        "para" => '¶',
        "dagger" => '†',
        "deg" => '°',
        "micro" => 'µ',
        "times" => '×',
        "divide" => '÷',
        "plusmn" => '±',
        "minus" => '−',
        "ne" => '≠',
        "le" => '≤',
        "ge" => '≥',
        "infin" => '∞',
        "frac12" => '½',
        "frac14" => '¼',
        "frac34" => '¾',
        "sup1" => '¹',
        "sup2" => '²',
        "sup3" => '³',
        "ordf" => 'ª',
        "ordm" => 'º',
        "not" => '¬',
        "brvbar" => '¦',
        "larr" => '←',
        "uarr" => '↑',
        "rarr" => '→',
        "darr" => '↓',
        "check" => '✓',
        "star" => '☆',
        "starf" => '★',
        "hearts" => '♥',
        "Agrave" => 'À',
        "Aacute" => 'Á',
        "Acirc" => 'Â',
        "Atilde" => 'Ã',
        "Auml" => 'Ä',
        "Aring" => 'Å',
        "AElig" => 'Æ',
        "Ccedil" => 'Ç',
        "Egrave" => 'È',
        "Eacute" => 'É',
        "Ecirc" => 'Ê',
        "Euml" => 'Ë',
        "Igrave" => 'Ì',
        "Iacute" => 'Í',
        "Icirc" => 'Î',
        "Iuml" => 'Ï',
        "ETH" => 'Ð',
        "Ntilde" => 'Ñ',
        "Ograve" => 'Ò',
        "Oacute" => 'Ó',
        "Ocirc" => 'Ô',
        "Otilde" => 'Õ',
        "Ouml" => 'Ö',
        "Oslash" => 'Ø',
        "OElig" => 'Œ',
        "Scaron" => 'Š',
        "Ugrave" => 'Ù',
        "Uacute" => 'Ú',
        "Ucirc" => 'Û',
        "Uuml" => 'Ü',
        "Yacute" => 'Ý',
        "THORN" => 'Þ',
        "szlig" => 'ß',
        "agrave" => 'à',
        "aacute" => 'á',
        "acirc" => 'â',
        "atilde" => 'ã',
        "auml" => 'ä',
        "aring" => 'å',
        "aelig" => 'æ',
        "ccedil" => 'ç',
        "egrave" => 'è',
        "eacute" => 'é',
        "ecirc" => 'ê',
        "euml" => 'ë',
        "igrave" => 'ì',
        "iacute" => 'í',
        "icirc" => 'î',
        "iuml" => 'ï',
        "eth" => 'ð',
        "ntilde" => 'ñ',
        "ograve" => 'ò',
        "oacute" => 'ó',
        "ocirc" => 'ô',
        "otilde" => 'õ',
        "ouml" => 'ö',
        "oslash" => 'ø',
        "oelig" => 'œ',
        "scaron" => 'š',
        "ugrave" => 'ù',
        "uacute" => 'ú',
        "ucirc" => 'û',
        "uuml" => 'ü',
        "yacute" => 'ý',
        "yuml" => 'ÿ',
        "thorn" => 'þ',
        _ => return None,
    })
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
        assert_eq!(decode_attribute("?a=1&copy=2&amp;b&x"), "?a=1&copy=2&b&x");
    }
}
