//! Segments: parts of a team's contacts, by a filter, by hand, or both.
//!
//! `store.rs` the rows, and whom a segment holds by hand.

mod store;

pub use store::{SegmentRow, add_member, exists, of_contact, remove_member};
