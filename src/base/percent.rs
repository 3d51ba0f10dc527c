//! Percent-encoding of URLs.

/// Decodes percent-encoding (RFC 3986 §2.1); `None` if an escape is not valid.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        if first != b'%' {
            bytes.push(first);
            rest = tail;
            continue;
        }
        let (pair, tail) = tail.split_at_checked(2)?;
        // `from_str_radix` would accept a plus sign.
        if !pair.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        bytes.push(u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?);
        rest = tail;
    }
    Some(bytes)
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
