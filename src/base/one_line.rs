//! Validation of names that customers choose: one line of text.

/// Returns `text` without surrounding white space. `None` if the rest is empty, has more than `chars_max` characters,
/// or contains a control character such as a line break.
pub(crate) fn one_line(text: &str, chars_max: usize) -> Option<&str> {
    let text = text.trim();
    let fits = (1..=chars_max).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    fits.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_line_within_the_limit() {
        for (text, expected) in [
            (" W\u{f6}che 📬 ", Some("W\u{f6}che 📬")),
            ("12345678", Some("12345678")),
            ("\u{3000}1234567ü ", Some("1234567ü")),
            ("123456789", None),
            ("", None),
            (" \u{3000}\n", None),
            ("a\nb", None),
            ("a\u{0}b", None),
            ("a\u{85}b", None),
        ] {
            assert_eq!(one_line(text, 8), expected, "{text:?}");
        }
    }
}
