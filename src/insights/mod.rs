//! Insights: checks of the content of emails, with a score.
//!
//! Data flow: a worker reads new emails some seconds after their acceptance. It checks their content and the facts of
//! the sender's domain, and stores the results. A broadcast is checked once, when it starts. The recipients of failing
//! checks are counted by day, and the scores are added to `email_metrics`; `deliverability` reads both.
//!
//! Files in reading order:
//! - `model.rs`: checks, weights, score;
//! - `hosts.rs`: hosts of URLs, link shorteners;
//! - `unsubscribe.rs`: unsubscribe links;
//! - `style.rs`: styles that hide text;
//! - `html.rs`: the reading of an HTML part;
//! - `evaluate.rs` and `links.rs`: the checks;
//! - `rows.rs` and `store.rs`: rows;
//! - `compute.rs`: the insights of stored emails;
//! - `worker.rs`: the worker;
//! - `service.rs`: reading;
//! - `api.rs`: the endpoint.
//!
//! Invariants:
//! - Accepting an email writes nothing here.
//! - An email is counted in the transaction that writes its row, and an email with a row is not checked again. Two workers
//!   therefore count each email once, and a kill leaves the row and the counts, or neither.
//! - A row has hosts, counts, sizes and booleans only. It stays after the content is deleted, and is deleted with the email.
//! - The recipients of a broadcast are counted once, when it is over.
//! - Simulated and canceled recipients are not counted. A cancellation takes back the counts in its transaction.

pub mod api;

mod compute;
mod evaluate;
mod hosts;
mod html;
mod links;
mod model;
mod rows;
mod service;
mod store;
mod style;
#[cfg(test)]
mod tests;
mod unsubscribe;
mod worker;

pub use evaluate::evaluate;
pub use model::{
    DmarcFacts, InsightCheck, InsightDetail, InsightInput, InsightKind, InsightResult, InsightSeverity, InsightStatus,
    SCORE_VERSION, SenderFacts, score_tenths,
};
pub use rows::{InsightDayRow, InsightPositionRow, InsightRow};
pub use service::{FindInsightsError, Insights};
pub use store::{FailingCheck, failing_checks, purge, take_back_canceled};
pub use worker::InsightWorker;
