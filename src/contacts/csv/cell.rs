//! Cells that a spreadsheet would run.
//!
//! A spreadsheet takes a cell that begins with one of a few characters for a formula, whatever the
//! file says. One apostrophe in front makes it text. A text that begins with apostrophes and then
//! such a character gets one too, so that taking one off again always gives the text back.

use std::borrow::Cow;

/// What a formula may begin with, in ASCII and in the full-width forms that spreadsheets with an
/// East Asian locale read alike.
const FORMULA_STARTS: [char; 8] = ['=', '+', '-', '@', '\u{FF1D}', '\u{FF0B}', '\u{FF0D}', '\u{FF20}'];
/// What hides a formula's beginning from a reader that looks at the first character alone.
const HIDING_STARTS: [char; 3] = ['\t', '\r', '\n'];

/// Returns the text as a cell that no spreadsheet runs.
pub(in crate::contacts) fn harmless(text: &str) -> Cow<'_, str> {
    if is_run(text) { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) }
}

/// Returns the text that [`harmless`] was given.
pub(in crate::contacts) fn restored(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(text) if is_run(text) => text,
        _ => cell,
    }
}

fn is_run(text: &str) -> bool {
    let text = text.trim_start_matches('\'');
    text.starts_with(HIDING_STARTS) || text.trim_start().starts_with(FORMULA_STARTS)
}
