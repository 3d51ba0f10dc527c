//! Printing data to standard output.

use std::io::{self, Write as _};

use serde::Serialize;

use super::failure::Failure;

/// How data is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// For people.
    Text,
    /// For programs: one JSON value.
    Json,
}

impl Output {
    /// Prints a value as JSON, or as the text that `text` makes of it.
    ///
    /// # Errors
    /// When standard output does not take it.
    pub(super) fn print<T: Serialize>(self, value: &T, text: impl FnOnce(&T) -> String) -> Result<(), Failure> {
        match self {
            Self::Text => print_line(&text(value)),
            Self::Json => print_json(value),
        }
    }

    /// Prints rows as `{"data": […]}`, or as a table under `heading`; without rows the table is
    /// empty and the words `nothing` go to standard error.
    ///
    /// # Errors
    /// When standard output does not take it.
    pub(super) fn print_rows<T: Serialize>(
        self,
        rows: &[T],
        nothing: &str,
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
                eprintln!("{nothing}");
                Ok(())
            }
            Self::Text => print_line(&table(heading, rows.iter().map(cells))),
        }
    }
}

/// Prints a value as one line of JSON.
///
/// # Errors
/// When standard output does not take it.
pub(super) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let json = serde_json::to_string(value).expect("what is printed is plain data with text for keys");
    print_line(&json)
}

/// Prints text and a line's end. A reader that has gone away, as `head` does, is no failure.
///
/// # Errors
/// When standard output does not take it.
pub(super) fn print_line(text: &str) -> Result<(), Failure> {
    put_line(text).map(drop)
}

/// Prints text and a line's end; `false` when its reader has gone away.
///
/// # Errors
/// When standard output does not take it.
pub(super) fn put_line(text: &str) -> Result<bool, Failure> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::failed(format!("standard output could not be written: {error}"))),
    }
}

/// Lays cells out in columns, two spaces apart; the last column is not padded.
pub(super) fn table(heading: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut lines: Vec<Vec<String>> = vec![heading.iter().map(|cell| (*cell).to_owned()).collect()];
    lines.extend(rows);
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
}
