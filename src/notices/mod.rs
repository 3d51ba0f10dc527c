//! Notices to the owners of a team.
//!
//! [`record`] stores a notice in the transaction of its cause. The worker logs each notice and, if the operator
//! has set a sender, sends an email to each owner. Then it deletes the row.
//!
//! Files: `model.rs` (the notices), `store.rs` (rows), `email_text.rs`, `rate_text.rs` and `domain_text.rs` (texts),
//! `worker.rs` (log line and emails), `result.rs` (result and error for the log).
//!
//! Invariants:
//! - The email of a notice is accepted like any other email. Its idempotency key consists of the notice and the owner
//!   and outlives the notice. No owner therefore gets a notice twice after a kill or a retry.
//! - A notice that fails delays no other notice, and an owner who cannot be notified delays no other owner.
//! - A notice expires after a week.

mod domain_text;
mod email_text;
mod model;
mod rate_text;
mod result;
mod store;
#[cfg(test)]
mod tests;
mod worker;

pub use model::{Notice, RateNotice};
pub use store::{NoticeRow, record, record_domain_refusal};
pub use worker::NoticeWorker;
