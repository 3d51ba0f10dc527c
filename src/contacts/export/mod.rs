//! Export: the contacts of a team, or of a segment, as a CSV file that the import reads back.
//!
//! Reading order: `page.rs` (the rows, a page at a time), `sheet.rs` (a row to a line).
//!
//! Invariants: a cell that a spreadsheet would run begins with an apostrophe, which the import takes
//! off again; what an import can say of a contact stands in the file, in a column that maps by
//! itself, opt-outs above all; contacts come oldest first, so that importing them keeps their order.

mod page;
mod sheet;

pub use page::{ExportError, ExportPage, ExportedContact, page};
pub use sheet::Sheet;
