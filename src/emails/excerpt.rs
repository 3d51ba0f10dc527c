//! Excerpts of request texts for error messages.

/// Maximum length of a quote, in characters. It bounds error responses and log lines.
const EXCERPT_CHARS_MAX: usize = 60;

/// Returns the start of `text`, with control characters replaced, and an ellipsis if it is truncated.
pub(super) fn excerpt(text: &str) -> String {
    let mut chars = text.chars();
    let mut quote: String =
        chars.by_ref().take(EXCERPT_CHARS_MAX).map(|c| if c.is_control() { '\u{FFFD}' } else { c }).collect();
    if chars.next().is_some() {
        quote.push('…');
    }
    quote
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_truncated_and_control_characters_are_replaced() {
        assert_eq!(excerpt("short"), "short");
        assert_eq!(excerpt("a\r\nb"), "a\u{FFFD}\u{FFFD}b");
        assert_eq!(excerpt(&"é".repeat(60)), "é".repeat(60));
        assert_eq!(excerpt(&"é".repeat(61)), format!("{}…", "é".repeat(60)));
    }
}
