//! Cells to lines.

/// Appends a line of CSV: commas between, quotes where a cell needs them, CRLF at its end
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

/// Other delimiters are quoted too: a reader that guesses wrong finds whole cells all the same. Spaces
/// at either end would be lost without quotes.
fn needs_quotes(cell: &str) -> bool {
    cell.contains(['"', ',', ';', '\t', '\r', '\n']) || cell.trim() != cell
}
