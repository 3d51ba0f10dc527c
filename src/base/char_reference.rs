//! Numeric character references of HTML.

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

#[cfg(test)]
mod tests {
    use super::*;

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
