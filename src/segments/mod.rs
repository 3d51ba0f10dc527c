//! Segments: parts of a team's contacts, by a filter, by hand, or both.
//!
//! Life cycle: a segment is made with or without a filter, both of which change later; contacts are
//! added and taken out by hand. Deleting it leaves its contacts; its memberships are gone for every
//! reader at once, and a worker removes those that one commit cannot.
//!
//! Whom a segment holds is asked anew each time: those its filter matches and those added by hand,
//! each once. Without a filter it matches nobody.
//!
//! Reading order: `model.rs` (what a segment is), `filter/` (which contacts match), `store.rs` (rows,
//! and whom a segment holds by hand), `resolve.rs` (whom it holds), `census.rs` (how many, and where
//! they lie), `turns.rs` (who counts when), `memory.rs` (what was counted before), `listing.rs` (pages
//! of them), `service.rs` and `error.rs` (the use cases), `api/` (endpoints, and the older name of
//! all this: audiences).
//!
//! Invariants: `resolve.rs` alone decides whom a segment holds; a membership lies in two tables that are
//! written together; every change of one raises the revision of the team's audience, which the
//! writer of contacts does.

pub mod api;
pub mod filter;

mod census;
mod error;
mod listing;
mod memory;
mod model;
mod resolve;
mod service;
mod store;
mod turns;

pub use error::{CreateSegmentError, DeleteSegmentError, UpdateSegmentError};
pub use listing::SegmentPageError;
pub use model::{NewSegment, SEGMENTS_MAX, Segment, SegmentChanges, SegmentName};
pub use resolve::{Found, Rule, Span, Walked, holds, that_hold, walk};
pub use service::Segments;
pub use store::{SegmentRow, add_member, all, count, exists, find, of_contact, oldest_of_contact, remove_member};
pub use turns::CountError;

#[cfg(test)]
mod tests;
