//! Emails: accepted, queued, delivered, read back.
//!
//! Life cycle: a request is parsed (`api/request.rs`), accepted in one transaction (`accept.rs`),
//! taken up by `delivery`, and climbs the ladder of [`LastEvent`] as its recipients' servers
//! answer. Until its time it can be moved or called off (`change.rs`). Retention removes the
//! content first and the row later.
//!
//! Reading order: `model.rs` (what an email is), `headers/`, `attachments/`, `tags.rs`, `schedule/`,
//! `excerpt.rs` (the rules of the fields, and how a refusal quotes them), `idempotency.rs`, `send.rs`,
//! `prepare.rs`, `accept.rs`, `read.rs`, `change.rs`, `retention.rs`, `erase.rs`, `store/` (rows), `api/`
//! (endpoints).
//!
//! Invariants: the content is never held unsealed in the store; a recipient is in exactly one of
//! the queue, a lease, or settled, and the email's row says which.

pub mod api;
pub mod attachments;
pub mod headers;
pub mod schedule;
pub mod tags;

mod accept;
mod change;
mod erase;
mod event_recorder;
mod excerpt;
mod idempotency;
mod model;
mod precompute;
mod prepare;
mod read;
mod retention;
mod send;
mod store;

pub(crate) use accept::still_deliverable;
pub(crate) use change::put_settled;
pub(crate) use erase::{EmailErasure, erase, is_erased_or_mentions, mentions};
#[cfg(test)]
pub(crate) use event_recorder::put_headers;
pub(crate) use event_recorder::{EventRecorder, record};
pub use idempotency::{Idempotency, IdempotentRequest, IdempotentResponse, IdempotentRoute, KeyConflict};
pub use model::{AttachmentInfo, EmailContent, LastEvent, Recipient, RecipientKind, SendEmail};
pub use read::EmailDetails;
pub(crate) use read::find_of_teams;
pub(crate) use retention::is_settled;
pub use retention::purge;
pub use send::{Emails, SendBatchError, SendError, Sender};
pub use store::{EmailRow, IdempotencyRow, RecipientRow, RecipientState, StoredMailbox};
pub(crate) use store::{read_attachment, read_content};

use crate::base::id::EmailId;

/// Limits of an email that an operator may set.
#[derive(Clone, Copy, Debug)]
pub struct EmailLimits {
    /// Bytes of all attachments, decoded.
    pub attachment_bytes_max: u64,
}

/// Returns the `Message-ID` of an email without its brackets. All attempts and recipients share it,
/// so that a receiving server can detect a duplicate.
pub(crate) fn message_id(id: EmailId, from: &StoredMailbox) -> String {
    let domain = from.address().map_or("localhost", |address| address.domain().as_str());
    format!("{id}@{domain}")
}
