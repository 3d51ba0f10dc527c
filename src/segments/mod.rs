//! Segments: parts of a team's contacts, by a filter, by hand, or both.
//!
//! `store.rs` the rows, and whom a segment holds by hand; `filter/` whom it holds by what is known.

pub mod api;
pub mod filter;

mod store;

pub use store::{SegmentRow, add_member, exists, of_contact, remove_member};
