//! Names that people give to what they make: one line of text. Pure.

/// Returns a name without the white space around it; `None` when nothing is left, when it has more than
/// `chars_max` characters, or when it holds a control character, such as a line break.
pub(crate) fn one_line(text: &str, chars_max: usize) -> Option<&str> {
    let text = text.trim();
    let fits = (1..=chars_max).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    fits.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_line_of_as_many_characters_as_fit() {
        for (text, kept) in [
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
            assert_eq!(one_line(text, 8), kept, "{text:?}");
        }
    }
}
