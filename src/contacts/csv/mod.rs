//! CSV: cells to bytes and back. Pure, and knows nothing of contacts.
//!
//! Reading order: `reader.rs` (bytes, as they come, to records), `writer.rs` (cells to lines),
//! `cell.rs` (what a spreadsheet would run, made harmless and restored).
//!
//! RFC 4180 with four liberties on the reading side: the delimiter may be a semicolon or a tab, a
//! line may end with LF or CR alone, blank lines are passed over, and spaces around a cell without
//! quotes are no part of it. Invariants: what [`writer`] writes, [`reader`] reads back; nothing is
//! ever held but one record, and a record is bounded.

mod cell;
mod reader;
mod writer;

#[cfg(test)]
mod tests;

pub(super) use cell::{harmless, restored};
pub(super) use reader::{Delimiter, Reader, Record};
pub(super) use writer::push_line;
