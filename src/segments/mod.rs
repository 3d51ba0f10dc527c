//! Segments: parts of the contacts of a team. A segment contains the contacts that its filter matches,
//! and its members, each once.
//!
//! Data flow: `contacts` writes members through this module and increments the audience revision in the
//! same transaction. A count or a list reads the contacts and compares each of them with the filter.
//! Deleting a segment deletes up to 1,000 of its members; a worker deletes the rest.
//!
//! Reading order:
//! - `model.rs`: segments;
//! - `filter/`: conditions and their grammar;
//! - `store.rs`: rows;
//! - `scan.rs`: the contacts of a segment;
//! - `page_scan.rs`: one page of them;
//! - `scan_limiter.rs`: a bound on concurrent scans;
//! - `count_cache.rs`: counts by revision;
//! - `reader.rs`: counts and pages;
//! - `service.rs`, `error.rs`: the use cases;
//! - `api/`: the endpoints of segments and audiences.
//!
//! Invariants:
//!
//! - Only `scan.rs` decides which contacts a segment contains.
//! - A membership is a row in each of two tables. Both are written in one transaction.
//! - Every change of a membership increments the revision of the audience. `contacts` does this.
//! - Readers check that a segment exists before they read its members.

pub mod api;
pub mod filter;

mod count_cache;
mod error;
mod model;
mod page_scan;
mod reader;
mod scan;
mod scan_limiter;
mod service;
mod store;

pub use error::{CreateSegmentError, DeleteSegmentError, SegmentPageError, SegmentScanError, UpdateSegmentError};
pub use model::{NewSegment, SEGMENTS_MAX, Segment, SegmentChanges, SegmentName};
pub use scan::{ContactRange, SegmentRule, containing, scan_contacts};
pub(crate) use scan_limiter::ScanLimiter;
pub use service::{SegmentInUse, Segments};
pub use store::{
    SegmentRow, add_member, all, count, exists, find, leave, of_contact, oldest_of_contact, remove_member,
    was_of_contact,
};

#[cfg(test)]
mod tests;
