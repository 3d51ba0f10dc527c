//! Escapes cells that a spreadsheet would run as formulas.
//!
//! A spreadsheet treats a cell as a formula if it begins with one of a few characters, even if the cell
//! is quoted. A leading apostrophe makes the cell text. A text that begins with apostrophes and then
//! such a character gets one more apostrophe, so that the escaping is reversible.

use std::borrow::Cow;

/// First characters of formulas, in ASCII and in the full-width forms that spreadsheets with an East
/// Asian locale treat in the same way.
const FORMULA_STARTS: [char; 8] = ['=', '+', '-', '@', '\u{FF1D}', '\u{FF0B}', '\u{FF0D}', '\u{FF20}'];
/// Leading control characters that can hide a formula from a check of the first character.
const CONTROL_STARTS: [char; 3] = ['\t', '\r', '\n'];

/// Returns the text as a cell that no spreadsheet runs as a formula.
pub(in crate::contacts) fn escape_formula(text: &str) -> Cow<'_, str> {
    if is_formula(text) { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) }
}

/// Returns the text of a cell that [`escape_formula`] returned. Other cells stay unchanged.
pub(in crate::contacts) fn unescape_formula(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(text) if is_formula(text) => text,
        _ => cell,
    }
}

/// Returns whether a spreadsheet may run the text as a formula. Ignores leading apostrophes.
fn is_formula(text: &str) -> bool {
    let text = text.trim_start_matches('\'');
    text.starts_with(CONTROL_STARTS) || text.trim_start().starts_with(FORMULA_STARTS)
}
