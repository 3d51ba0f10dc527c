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
//! and whom a segment holds by hand), `resolve.rs` (whom it holds), `counter.rs` (how many, and where
//! they lie), `count_limiter.rs` (who counts when), `count_cache.rs` (what was counted before), `listing.rs` (pages
//! of them), `service.rs` and `error.rs` (the use cases), `api/` (endpoints, and the older name of
//! all this: audiences).
//!
//! Invariants: `resolve.rs` alone decides whom a segment holds; a membership lies in two tables that are
//! written together; every change of one raises the revision of the team's audience, which the
//! writer of contacts does.

pub mod api;
pub mod filter;

mod count_cache;
mod count_limiter;
mod counter;
mod error;
mod listing;
mod model;
mod resolve;
mod service;
mod store;

pub use count_limiter::CountError;
pub use error::{CreateSegmentError, DeleteSegmentError, UpdateSegmentError};
pub use listing::SegmentPageError;
pub use model::{NewSegment, SEGMENTS_MAX, Segment, SegmentChanges, SegmentName};
pub use resolve::{ContactRange, ScanEnd, SegmentMatch, SegmentRule, holds, scan, that_hold};
pub use service::Segments;
pub use store::{SegmentRow, add_member, all, count, exists, find, of_contact, oldest_of_contact, remove_member};

#[cfg(test)]
mod tests;
