//! Reports from elsewhere about what became of an email after another system took it: outcomes that
//! a relay posts, and the messages that mail servers send back (delivery status, RFC 3464; complaints,
//! RFC 5965).
//!
//! Life cycle: a request is believed by its signature alone (`crate::base::signature`), read into
//! [`DeliveryReport`]s (`api/request.rs`, `report/`), and told in one transaction (`apply.rs`): the mark that
//! makes a repeat do nothing, the recipients' statuses, the events, the suppressions. What is no
//! report, and what is about nothing of ours, is acknowledged and ignored, so that its sender stops
//! repeating it.
//!
//! Reading order: `model.rs` (what a report says), `verdict.rs` (what a refusal comes to), `report/`
//! (reports read from messages), `resolve.rs` (which email they are about), `apply.rs` (what follows from
//! them), `store.rs` (the marks), `api/` (the endpoints).
//!
//! Invariants: nothing is stored of a request that is not signed; a report never puts anything into
//! the queue, and takes out of it only a recipient who must not be written to again; a status never
//! climbs down; simulated and erased recipients are in no report.

pub mod api;

mod apply;
mod model;
mod report;
mod resolve;
mod store;
mod verdict;

pub use apply::{Ingest, IngestResult};
pub use model::{DeliveryReport, EmailLocator, FallbackRecipient, RecipientReport, ReportedOutcome};
pub use report::parse as parse_report;
pub use store::purge;
