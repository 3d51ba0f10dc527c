//! Delivery reports of other systems: events that a relay posts, and messages that mail servers return (delivery
//! status, RFC 3464; feedback reports, RFC 5965).
//!
//! Data flow: a request is verified by its signature (`crate::base::signature`), parsed into [`DeliveryReport`]s
//! (`api/`, `report/`), and resolved to emails (`resolve.rs`). One transaction applies it (`apply.rs`): the
//! deduplication key, the statuses of the recipients, the events and the suppressions. A message that is not a report,
//! or that concerns no email of this server, is acknowledged and ignored. Its sender therefore does not repeat it.
//!
//! Files in reading order:
//! - `model.rs`: reports;
//! - `verdict.rs`: the outcome of a refusal;
//! - `report/`: reports in messages;
//! - `resolve.rs`: the email of a report;
//! - `apply.rs`: the transaction;
//! - `refusal.rs`: reported refusals of the sender's domain;
//! - `store.rs`: deduplication keys;
//! - `api/`: the endpoints.
//!
//! Invariants:
//! - Nothing of an unsigned request is stored.
//! - A report never adds to the queue. It removes only recipients that must not be sent to again.
//! - A status never changes to one of lower rank.
//! - No report applies to a simulated or erased recipient.

pub mod api;

mod apply;
mod model;
mod refusal;
mod report;
mod resolve;
mod store;
mod verdict;

pub use apply::{Ingest, IngestResult};
pub use model::{DeliveryReport, EmailLocator, FallbackRecipient, RecipientReport, ReportedOutcome};
pub use report::parse as parse_report;
pub use store::purge;
