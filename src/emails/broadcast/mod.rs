//! Emails of broadcasts: one small row for each recipient, and then its queue row.
//!
//! `queue.rs` stores the recipients of a page of contacts. `enqueue.rs` puts stored emails into the queue.
//! `claim.rs` checks a recipient before each attempt. `cancel.rs`
//! cancels the queued emails of a canceled broadcast. `content.rs` renders the content, and `page.rs` lists the
//! emails. `retention.rs` deletes old emails, and those of a removed team.

mod cancel;
mod claim;
mod content;
mod enqueue;
mod page;
mod queue;
mod retention;

pub(crate) use cancel::{CanceledPage, cancel_broadcast_page};
pub(crate) use claim::broadcast_refusal;
pub(super) use content::content_within;
pub(crate) use enqueue::{EnqueuedPage, enqueue_broadcast_page};
pub use page::{BroadcastEmailList, BroadcastEmailScan, broadcast_emails_step};
pub use queue::NewBroadcastEmail;
#[cfg(test)]
pub(crate) use queue::queue_broadcast_email;
pub(crate) use queue::{PreparedBroadcastEmails, prepare_broadcast_emails};
pub(super) use retention::purge_broadcast_emails;
pub(crate) use retention::{delete_broadcast_emails_of_team, delete_broadcast_outcomes, match_broadcast_emails};
