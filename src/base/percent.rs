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
}
