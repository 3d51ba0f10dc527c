//! Usage: the emails and broadcasts that a team has sent, and the number of its contacts, segments and domains.
//!
//! Data flow: `emails` increments the counter of the current UTC day in the transaction that accepts the emails.
//! `broadcasts` increments its counter in the transaction that sends a broadcast. A month is the sum of its days. Contacts, segments and
//! domains are counted for each report.
//!
//! Reading order:
//! - `model.rs`: a report and its periods;
//! - `store.rs`: the counters of days;
//! - `service.rs`: the use case;
//! - `sdk.rs`: the client libraries that a team uses;
//! - `api.rs`: the endpoint, which adds contacts and segments.
//!
//! Invariants:
//!
//! - The counter of a day is written in the transaction that accepts the emails, so that both agree.
//! - Nothing here limits a team.
//! - Only `api.rs` uses `contacts` and `segments`, because those modules depend on this one through
//!   `emails`.

pub mod api;

mod model;
mod sdk;
mod service;
mod store;

pub use model::{SentEmails, UsageReport};
pub use sdk::{Sdk, SdkUseRow, SdkUses};
pub use service::Usage;
pub(crate) use store::total;
pub use store::{UsageRow, count, count_broadcast};
