//! A caller's own text, short and harmless enough to stand in an error message.

/// Errors may quote at most this much of what they refuse, so that a hostile request cannot choose the size of its answer or of a log line.
const EXCERPT_CHARS_MAX: usize = 60;

/// Returns the beginning of `text`, control characters replaced, with an ellipsis when something is left off.
pub(super) fn excerpt(text: &str) -> String {
    let mut chars = text.chars();
    let mut shown: String =
        chars.by_ref().take(EXCERPT_CHARS_MAX).map(|c| if c.is_control() { '\u{FFFD}' } else { c }).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_hostile_text_is_cut_and_made_visible() {
        assert_eq!(excerpt("short"), "short");
        assert_eq!(excerpt("a\r\nb"), "a\u{FFFD}\u{FFFD}b");
        assert_eq!(excerpt(&"é".repeat(60)), "é".repeat(60));
        assert_eq!(excerpt(&"é".repeat(61)), format!("{}…", "é".repeat(60)));
    }
}
