//! Writes CSV lines.

/// Appends a CSV line: cells separated by commas, quoted if necessary, with CRLF at the end
/// (RFC 4180 §2).
pub(in crate::contacts) fn push_line<'a>(out: &mut String, cells: impl IntoIterator<Item = &'a str>) {
    for (index, cell) in cells.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        if needs_quotes(cell) {
            out.push('"');
            out.push_str(&cell.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(cell);
        }
    }
    out.push_str("\r\n");
}

/// Returns whether a cell must be quoted. Other delimiters count too, so that a reader that guesses the
/// wrong delimiter does not split the cell. Spaces at either end would be lost without quotes.
fn needs_quotes(cell: &str) -> bool {
    cell.contains(['"', ',', ';', '\t', '\r', '\n']) || cell.trim() != cell
}
