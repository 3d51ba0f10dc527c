//! The endpoints under `/emails`.
//!
//! Files in reading order:
//! - `request.rs`: request types and their rules;
//! - `response.rs` and `timeline.rs`: response types;
//! - `template.rs`: templates of a request;
//! - `fetch.rs`: its remote attachments;
//! - `send.rs`, `read.rs`, `attachment.rs`, `attempts.rs` and `change.rs`: handlers.

mod attachment;
mod attempts;
mod change;
mod fetch;
mod read;
pub mod request;
mod response;
mod send;
mod template;
mod timeline;

pub use attachment::{get_attachment, list_attachments};
pub use attempts::{EmailAttemptResponse, EmailAttemptsResponse, EmailWaitingResponse, list_email_attempts};
pub use change::{cancel_email, delete_email, update_email};
pub use read::{get_email, list_emails};
pub(crate) use response::{EmailSummary, TagResponse};
pub use send::{send_batch, send_email};
