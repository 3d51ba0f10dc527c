//! Percent-encoding of URLs.

/// Decodes percent-encoding (RFC 3986 §2.1); `None` if an escape is not valid.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let (byte, after) = if first == b'%' { escape(rest)? } else { (first, tail) };
        bytes.push(byte);
        rest = after;
    }
    Some(bytes)
}

/// Decodes the escape at the start of a text. Returns its byte and the text after it; `None` without a valid escape.
pub(crate) fn escape(text: &[u8]) -> Option<(u8, &[u8])> {
    let [b'%', high, low, after @ ..] = text else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some((digit(*high)? << 4 | digit(*low)?, after))
}

/// Decodes `+` and percent escapes of a URL-encoded form. An invalid escape is unchanged, and bytes that are not UTF-8
/// become U+FFFD.
pub(crate) fn decode_form(text: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, tail)) = rest.split_first() {
        let (byte, after) = match first {
            b'+' => (b' ', tail),
            _ => escape(rest).unwrap_or((first, tail)),
        };
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_escapes_are_decoded() {
        for (text, decoded) in [
            ("", b"".as_slice()),
            ("a+b", b"a+b".as_slice()),
            ("%2b%2B", b"++".as_slice()),
            ("M%C3%A4rz", "März".as_bytes()),
            ("%00%ff", b"\0\xff".as_slice()),
        ] {
            assert_eq!(decode(text).as_deref(), Some(decoded), "{text}");
        }
        for text in ["%", "a%", "%2", "%zz", "%+1", "%2%32", "%é"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }

    #[test]
    fn invalid_escapes_of_a_form_are_unchanged() {
        for (text, decoded) in
            [("a+b%20c", "a b c"), ("%", "%"), ("%2", "%2"), ("%zz%41", "%zzA"), ("%c3%a4", "ä"), ("%ff", "\u{fffd}")]
        {
            assert_eq!(decode_form(text.as_bytes()), decoded);
        }
    }
}
