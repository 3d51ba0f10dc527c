//! What an import counts, and what it reports about rows.

use std::borrow::Cow;

use serde::Serialize;

use super::super::csv::{harmless, push_line};

/// What was counted so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImportProgress {
    /// Rows that were read, without blank ones and the first.
    pub rows: u64,
    /// Contacts added.
    pub created: u64,
    /// Contacts that were there and have, or had already, what the file says.
    pub updated: u64,
    /// Contacts that were there and were left alone.
    pub skipped: u64,
    /// Rows that came to nothing.
    pub failed: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// A row that came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RowError {
    /// The line of the file it begins at, from 1.
    pub line: u64,
    /// The column that is to blame, where one is.
    pub column: Option<String>,
    /// What stands where its address belongs, to recognise it by.
    pub email: String,
    /// What is wrong, as a fragment of a sentence.
    pub message: String,
}

impl RowError {
    /// Returns the first line of an error file.
    pub fn csv_header() -> String {
        let mut line = String::new();
        push_line(&mut line, ["line", "email", "error"]);
        line
    }

    /// Returns the error as a line of an error file.
    pub fn csv_line(&self) -> String {
        let cells = [self.line.to_string(), self.email.clone(), self.sentence()];
        let cells: Vec<Cow<'_, str>> = cells.iter().map(|cell| harmless(cell)).collect();
        let mut line = String::new();
        push_line(&mut line, cells.iter().map(AsRef::as_ref));
        line
    }

    /// Returns what is wrong, with the column's name in front.
    pub fn sentence(&self) -> String {
        match &self.column {
            Some(column) => format!("`{column}`: {}", self.message),
            None => self.message.clone(),
        }
    }
}
