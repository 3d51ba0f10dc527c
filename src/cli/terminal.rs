//! Colours and times for a terminal.

use std::io::{IsTerminal, stdout};

use crate::live::LineStyle;

/// Bold and underlined.
const EMPHASIS: &str = "\x1b[1;4m";
/// Default style.
const RESET: &str = "\x1b[0m";

/// Returns whether output to a stream has colours: only on a terminal, and not if `NO_COLOR` is set.
pub(super) fn is_colourful(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Returns the style of event lines on standard output.
pub(super) fn line_style() -> LineStyle {
    let out = stdout();
    match (out.is_terminal(), is_colourful(&out)) {
        (false, _) => LineStyle::Plain,
        (true, false) => LineStyle::Short,
        (true, true) => LineStyle::Coloured,
    }
}

/// Returns a text that stands out on standard output, if it has colours.
pub(super) fn emphasized(text: &str) -> String {
    if is_colourful(&stdout()) { format!("{EMPHASIS}{text}{RESET}") } else { text.to_owned() }
}
