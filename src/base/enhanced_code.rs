//! Enhanced status codes of mail servers (RFC 3463), such as `5.1.1`.

/// Class, subject and detail of an enhanced status code. The detail of Microsoft's `5.7.708` exceeds a `u8`.
pub type EnhancedCode = (u8, u16, u16);

/// Splits an enhanced status code (RFC 2034 §4) from the start of a line. Accepts the `#` that some gateways prefix.
pub(crate) fn split_enhanced_code(text: &[u8]) -> Option<(EnhancedCode, &[u8])> {
    let text = text.trim_ascii_start();
    let text = text.strip_prefix(b"#").unwrap_or(text);
    let [class @ (b'2' | b'4' | b'5'), b'.', rest @ ..] = text else {
        return None;
    };
    let (subject, rest) = split_number(rest)?;
    let rest = rest.strip_prefix(b".")?;
    let (detail, rest) = split_number(rest)?;
    // `5.1.1.7` is an IP address and `5.7.1st` is a word.
    if rest.first().is_some_and(|&byte| byte == b'.' || byte.is_ascii_alphanumeric()) {
        return None;
    }
    Some(((class - b'0', subject, detail), rest.trim_ascii_start()))
}

/// Splits one to three digits from the start.
fn split_number(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !(1..=3).contains(&digits) {
        return None;
    }
    let (number, rest) = bytes.split_at(digits);
    let number = number.iter().fold(0, |sum, byte| sum * 10 + u16::from(byte - b'0'));
    Some((number, rest))
}
