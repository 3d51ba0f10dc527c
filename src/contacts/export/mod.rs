//! Exports the contacts of a team or of a segment as a CSV file that the import can read.
//!
//! Files in reading order:
//! - `page.rs`: reads the contacts, one page at a time.
//! - `sheet.rs`: converts a contact to a CSV line.
//!
//! Invariants:
//! - A cell that a spreadsheet would run as a formula begins with an apostrophe. The import removes the
//!   apostrophe.
//! - Every field that an import can set is in the file, including all opt-outs. The import recognizes
//!   the names of these columns without a mapping.
//! - Contacts are ordered oldest first, so that an import creates them in the same order.

mod page;
mod sheet;

pub use page::{ExportError, ExportPage, ExportedContact, page};
pub use sheet::ExportColumns;
