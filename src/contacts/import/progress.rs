//! The counters of an import, and the errors of its rows.

use std::borrow::Cow;

use serde::Serialize;

use super::super::csv::{escape_formula, push_line};

/// Counters of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImportProgress {
    /// Rows read, without blank rows and the first row.
    pub rows: u64,
    /// Rows that created a contact.
    pub created: u64,
    /// Rows that were merged into a contact, including merges without an effect.
    pub updated: u64,
    /// Rows whose contact existed and stayed unchanged.
    pub skipped: u64,
    /// Rows with an error.
    pub failed: u64,
    /// Bytes of the file that were read.
    pub bytes: u64,
}

/// Error of one row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RowError {
    /// First line of the row in the file, from 1.
    pub line: u64,
    /// Column with the error; `None` if the error concerns the whole row.
    pub column: Option<String>,
    /// Start of the address cell, which identifies the row. It may be no valid address.
    pub email: String,
    /// Description of the error: lower case, without a full stop.
    pub message: String,
}

impl RowError {
    /// Returns the header line of an error file.
    pub fn csv_header() -> String {
        let mut line = String::new();
        push_line(&mut line, ["line", "email", "error"]);
        line
    }

    /// Returns the line of the error in an error file.
    pub fn csv_line(&self) -> String {
        let cells = [self.line.to_string(), self.email.clone(), self.sentence()];
        let cells: Vec<Cow<'_, str>> = cells.iter().map(|cell| escape_formula(cell)).collect();
        let mut line = String::new();
        push_line(&mut line, cells.iter().map(AsRef::as_ref));
        line
    }

    /// Returns the message with the column name before it.
    pub fn sentence(&self) -> String {
        match &self.column {
            Some(column) => format!("`{column}`: {}", self.message),
            None => self.message.clone(),
        }
    }
}
