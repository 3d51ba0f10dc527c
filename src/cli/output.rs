//! Output of data on standard output.

use std::io::{self, Write as _};

use serde::Serialize;

use super::failure::Failure;
use crate::admin::response::Rows;
use crate::base::printable::printable;

/// Characters of a cell with names or addresses.
const CELL_CHARS_MAX: usize = 40;
/// Characters of a field of one thing.
const FIELD_CHARS_MAX: usize = 1_000;

/// Format of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// Text for people.
    Text,
    /// One JSON value for programs.
    Json,
}

impl Output {
    /// Prints a value as JSON, or as the text that `text` returns.
    ///
    /// # Errors
    /// Fails if standard output cannot be written.
    pub(super) fn print<T: Serialize>(self, value: &T, text: impl FnOnce(&T) -> String) -> Result<(), Failure> {
        match self {
            Self::Text => print_line(&text(value)),
            Self::Json => print_json(value),
        }
    }

    /// Prints one page of rows as [`Output::print_rows`] does, and reports on standard error that more rows exist.
    ///
    /// # Errors
    /// Fails if standard output cannot be written.
    pub(super) fn print_page<T: Serialize>(
        self,
        page: &Rows<T>,
        no_rows: &str,
        heading: &[&str],
        cells: impl Fn(&T) -> Vec<String>,
    ) -> Result<(), Failure> {
        self.print_rows(&page.data, no_rows, heading, cells)?;
        if page.has_more {
            eprintln!("There are more. These are the {} newest; --limit sets another number.", page.data.len());
        }
        Ok(())
    }

    /// Prints rows as `{"data": […]}`, or as a table with `heading`. If there are no rows, the text output
    /// is the sentence `no_rows` on standard error.
    ///
    /// # Errors
    /// Fails if standard output cannot be written.
    pub(super) fn print_rows<T: Serialize>(
        self,
        rows: &[T],
        no_rows: &str,
        heading: &[&str],
        cells: impl Fn(&T) -> Vec<String>,
    ) -> Result<(), Failure> {
        #[derive(Serialize)]
        struct Data<'a, T> {
            data: &'a [T],
        }
        match self {
            Self::Json => print_json(&Data { data: rows }),
            Self::Text if rows.is_empty() => {
                eprintln!("{no_rows}");
                Ok(())
            }
            Self::Text => print_line(&table(heading, rows.iter().map(cells))),
        }
    }
}

/// Prints a value as one line of JSON.
///
/// # Errors
/// Fails if standard output cannot be written.
pub(super) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let json = serde_json::to_string(value).expect("output types serialize to JSON");
    print_line(&json)
}

/// Prints text and a newline. A closed standard output, for example by `head`, is not a failure.
///
/// # Errors
/// Fails if standard output cannot be written.
pub(super) fn print_line(text: &str) -> Result<(), Failure> {
    put_line(text).map(drop)
}

/// Prints text and a newline; returns `false` if standard output is closed.
///
/// # Errors
/// Fails if standard output cannot be written.
pub(super) fn put_line(text: &str) -> Result<bool, Failure> {
    put(&format!("{text}\n"))
}

/// Prints text; returns `false` if standard output is closed.
///
/// # Errors
/// Fails if standard output cannot be written.
pub(super) fn put(text: &str) -> Result<bool, Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::failed(format!("cannot write to standard output: {error}"))),
    }
}

/// Prints a message and a newline on standard error. A closed standard error is not a failure, because a server
/// continues without a reader.
pub(super) fn put_message(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Returns a value as text; `-` for `None`.
pub(super) fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// Returns a text that others wrote, for a cell of a list.
pub(super) fn cell(text: &str) -> String {
    printable(text, CELL_CHARS_MAX)
}

/// Returns a text that others wrote, for a field of one thing.
pub(super) fn field(text: &str) -> String {
    printable(text, FIELD_CHARS_MAX)
}

/// Formats names and values, one pair a line. The values begin in the same column.
pub(super) fn fields(fields: &[(&str, String)]) -> String {
    let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines = fields.iter().map(|(name, value)| format!("{name:<width$}  {value}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Formats cells as columns, separated by two spaces. The last column is not padded.
pub(super) fn table(heading: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut lines: Vec<Vec<String>> = vec![heading.iter().map(|cell| (*cell).to_owned()).collect()];
    // Recipients and other servers write parts of some cells.
    lines.extend(rows.map(|cells| cells.iter().map(|cell| printable(cell, usize::MAX)).collect()));
    let columns = heading.len();
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |cells: &Vec<String>| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["a".to_owned(), "bücher".to_owned()], vec!["long name".to_owned(), "b".to_owned()]];

        let table = table(&["NAME", "VALUE"], rows.into_iter());

        assert_eq!(table, "NAME       VALUE\na          bücher\nlong name  b");
    }

    #[test]
    fn a_cell_cannot_control_the_terminal() {
        let rows = [vec!["a\u{1b}[2Jb\nc".to_owned()]];

        assert_eq!(table(&["NAME"], rows.into_iter()), "NAME\na [2Jb c");
    }
}
