//! Colours and times for a terminal.

use std::ffi::OsStr;
use std::io::{IsTerminal, stdout};

use crate::live::LineStyle;

/// Bold and underlined.
const EMPHASIS: &str = "\x1b[1;4m";
/// Default style.
const RESET: &str = "\x1b[0m";

/// Returns whether output to a stream has colours: only on a terminal, and not if `NO_COLOR` is set.
pub(super) fn is_colourful(stream: &impl IsTerminal) -> bool {
    has_colours(stream.is_terminal(), std::env::var_os("NO_COLOR").as_deref())
}

/// Returns whether output has colours. An empty `NO_COLOR` equals an absent one.
fn has_colours(is_terminal: bool, no_color: Option<&OsStr>) -> bool {
    is_terminal && no_color.is_none_or(OsStr::is_empty)
}

/// Returns the style of event lines on standard output.
pub(super) fn line_style() -> LineStyle {
    let out = stdout();
    style_for(out.is_terminal(), is_colourful(&out))
}

fn style_for(is_terminal: bool, has_colours: bool) -> LineStyle {
    match (is_terminal, has_colours) {
        (false, _) => LineStyle::Plain,
        (true, false) => LineStyle::Short,
        (true, true) => LineStyle::Coloured,
    }
}

/// Returns a text that stands out on standard output, if it has colours.
pub(super) fn emphasized(text: &str) -> String {
    if is_colourful(&stdout()) { format!("{EMPHASIS}{text}{RESET}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_colours_on_a_terminal_without_no_color_and_short_times_on_every_terminal() {
        for (is_terminal, no_color, style) in [
            (true, None, LineStyle::Coloured),
            (true, Some(""), LineStyle::Coloured),
            (true, Some("1"), LineStyle::Short),
            (true, Some("0"), LineStyle::Short),
            (false, None, LineStyle::Plain),
            (false, Some("1"), LineStyle::Plain),
        ] {
            let has_colours = has_colours(is_terminal, no_color.map(OsStr::new));

            assert_eq!(style_for(is_terminal, has_colours), style, "{is_terminal} {no_color:?}");
        }
    }
}
