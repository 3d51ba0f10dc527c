//! Reads and writes CSV (RFC 4180). Pure, and independent of contacts.
//!
//! The reader accepts four extensions of RFC 4180:
//! - the delimiter may be a semicolon or a tab;
//! - a line may end with LF or CR alone;
//! - blank lines are skipped;
//! - spaces around an unquoted cell are ignored.
//!
//! Files in reading order:
//! - `reader.rs`: converts chunks of bytes to records.
//! - `writer.rs`: converts cells to lines.
//! - `cell.rs`: escapes and unescapes cells that a spreadsheet would run as formulas.
//! - `tests.rs`: unit and property tests.
//!
//! Invariants:
//! - [`reader`] reads the same cells that [`writer`] was given.
//! - The reader buffers at most one record, and the size of a record is bounded.

mod cell;
mod reader;
mod writer;

#[cfg(test)]
mod tests;

pub(super) use cell::{escape_formula, unescape_formula};
pub(super) use reader::{CsvDelimiter, CsvReader, CsvRecord};
pub(super) use writer::push_line;
