//! Character references of HTML: by number, and by the names that are common in email.

use std::borrow::Cow;

/// Longest name to look for after an ampersand. No name in [`named`] is longer.
const NAME_BYTES_MAX: usize = 8;

/// Decodes the reference at the start of `text`, after its `&`. A name needs its semicolon, because a query string such as
/// `?a=1&copy=2` contains no copyright sign. Returns the character and the number of bytes read; `None` if `text` is no
/// known reference.
pub(crate) fn decode(text: &str) -> Option<(char, usize)> {
    decode_numeric(text).or_else(|| {
        let (name, after) = split_name(text);
        let character = named(name).filter(|_| after.starts_with(';'))?;
        Some((character, name.len() + 1))
    })
}

/// Replaces the references in a text. `decode_one` returns the character of the reference after a `&`, and the number of bytes
/// read; `None` if the `&` stays.
pub(crate) fn decode_all(text: &str, decode_one: impl Fn(&str) -> Option<(char, usize)>) -> Cow<'_, str> {
    let Some(first) = text.find('&') else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len());
    out.push_str(&text[..first]);
    let mut rest = &text[first..];
    while let Some(after) = rest.strip_prefix('&') {
        let (character, bytes) = decode_one(after).unwrap_or(('&', 0));
        out.push(character);
        let after = &after[bytes..];
        let next = after.find('&').unwrap_or(after.len());
        out.push_str(&after[..next]);
        rest = &after[next..];
    }
    Cow::Owned(out)
}

/// Decodes the numeric reference at the start of `text`, after its `&`: `#64;` or `#x40;`. The semicolon may be missing.
/// Returns the character and the number of bytes read; `None` if `text` is no numeric reference. A number that is no
/// character is [`char::REPLACEMENT_CHARACTER`], as in the HTML standard §13.2.5.80.
pub(crate) fn decode_numeric(text: &str) -> Option<(char, usize)> {
    let number = text.strip_prefix('#')?;
    let (digits, radix, prefix_bytes) = match number.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16, "#x".len()),
        None => (number, 10, "#".len()),
    };
    let digit_bytes = digits.bytes().take_while(|&byte| char::from(byte).is_digit(radix)).count();
    if digit_bytes == 0 {
        return None;
    }
    let semicolon_bytes = usize::from(digits[digit_bytes..].starts_with(';'));
    // A number that overflows `u32` is not a character either.
    let character = u32::from_str_radix(&digits[..digit_bytes], radix)
        .ok()
        .and_then(|number| windows_1252(number).or_else(|| char::from_u32(number)))
        .filter(|&character| character != '\0')
        .unwrap_or(char::REPLACEMENT_CHARACTER);
    Some((character, prefix_bytes + digit_bytes + semicolon_bytes))
}

/// Returns the character of a number from 128 to 159, which the HTML standard §13.2.5.80 reads as windows-1252.
fn windows_1252(number: u32) -> Option<char> {
    const HIGH: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘',
        '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
    ];
    let index = usize::try_from(number.checked_sub(128)?).ok()?;
    HIGH.get(index).copied()
}

/// Splits a text after the name at its start. A name that is longer than all known names is cut.
pub(crate) fn split_name(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take(NAME_BYTES_MAX + 1).take_while(u8::is_ascii_alphanumeric).count())
}

/// Returns the character with a name: Latin letters, punctuation and common symbols. Other names stay unchanged in the
/// text.
///
/// `html-escape` 0.3 knows all names of HTML. It takes 1.4 to 3 times as long for a text of 100 KB, and more than ten
/// times as long for one name.
pub(crate) fn named(name: &str) -> Option<char> {
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
    fn a_name_is_decoded_with_its_semicolon() {
        for (text, expected) in [
            ("amp;x", Some(('&', 4))),
            ("eacute;", Some(('é', 7))),
            ("#65;", Some(('A', 4))),
            ("copy=2", None),
            ("unknown;", None),
            (";", None),
            ("", None),
            ("é;", None),
        ] {
            assert_eq!(decode(text), expected, "{text}");
        }
    }

    #[test]
    fn numbers_are_decoded_as_in_html() {
        for (text, expected) in [
            ("#65;", Some(('A', 4))),
            ("#65b", Some(('A', 3))),
            ("#x41;", Some(('A', 5))),
            ("#X41;", Some(('A', 5))),
            ("#00000000000000000000065;", Some(('A', 25))),
            ("#XFFFFFFFFFF;", Some(('\u{fffd}', 13))),
            ("#0;", Some(('\u{fffd}', 3))),
            ("#xD800;", Some(('\u{fffd}', 7))),
            ("#x110000;", Some(('\u{fffd}', 9))),
            ("#128;", Some(('€', 5))),
            ("#150;", Some(('–', 5))),
            ("#159;", Some(('Ÿ', 5))),
            ("#160;", Some(('\u{a0}', 5))),
            ("#;", None),
            ("#x;", None),
            ("#", None),
            ("65;", None),
            ("", None),
        ] {
            assert_eq!(decode_numeric(text), expected, "{text}");
        }
    }
}
