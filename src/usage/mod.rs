//! Usage: what a team has sent, and how much of everything it keeps.
//!
//! Emails are counted when they are accepted, a number for each UTC day; a month is the sum of its
//! days. Everything else is counted when it is asked for.
//!
//! Reading order: `model.rs` (a report, and the spans of time it is made over), `store.rs` (the days),
//! `service.rs` (the use case), `api.rs` (the endpoint).
//!
//! Invariant: a count is written in the transaction that accepts the emails, so that it is neither
//! ahead of them nor behind. Nothing here is a limit: a team may send without end.

pub mod api;

mod model;
mod service;
mod store;

pub use model::{Sent, UsageReport};
pub use service::Usage;
pub use store::{UsageRow, count};
