//! Text from other people in the output of a terminal.

/// Returns the text with spaces in place of the characters that control a terminal: control characters, line
/// separators and marks that change the text direction. Text of more than `chars_max` characters ends with an
/// ellipsis.
pub(crate) fn printable(text: &str, chars_max: usize) -> String {
    let mut shown: String = text.chars().take(chars_max).map(|c| if is_control(c) { ' ' } else { c }).collect();
    if text.chars().nth(chars_max).is_some() {
        shown.push('…');
    }
    shown
}

/// Returns whether a character is a control character, a line separator or a mark that changes the text
/// direction (Unicode Standard Annex #9 §2).
fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_at_its_maximum_and_controls_no_terminal() {
        for (text, shown) in [
            ("Wöche 📬", "Wöche 📬"),
            ("12345678", "12345678"),
            ("123456789", "12345678…"),
            ("a\u{1b}[2Jb\n", "a [2Jb "),
            ("a\u{202e}b\u{2028}", "a b "),
        ] {
            assert_eq!(printable(text, 8), shown, "{text:?}");
        }
    }
}
