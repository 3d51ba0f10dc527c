//! The endpoints under `/emails`.
//!
//! `request.rs` the request types and their rules; `response.rs` and `timeline.rs` what is answered; one file per
//! group of endpoints: `send.rs`, `read.rs`, `change.rs`.

mod change;
mod read;
pub mod request;
mod response;
mod send;
mod timeline;

pub use change::{cancel_email, delete_email, update_email};
pub use read::{get_attachment, get_email, list_attachments, list_emails};
pub use send::{send_batch, send_email};
