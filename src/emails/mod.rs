//! Emails: their acceptance, reading, changes, retention and erasure.
//!
//! Data flow: a request is parsed (`api/request.rs`), prepared without the store (`prepare.rs`) and
//! accepted in one transaction (`accept.rs`). `delivery` claims its queue rows, and the results of
//! attempts change the [`LastEvent`] of its recipients. Until its time, a scheduled email can be
//! rescheduled or canceled (`change.rs`). Retention deletes the content first and the row later.
//!
//! Files in reading order:
//! - `model.rs`: types and rules; pure;
//! - `headers/`, `attachments/`, `tags.rs`, `schedule/`: rules of single fields, with `excerpt.rs` (quotes in errors);
//! - `remote_files.rs`: files that attachments name by URL;
//! - `store/`: rows;
//! - `idempotency/`: idempotency keys;
//! - `send.rs`, `prepare.rs`, `queue_keys.rs`, `accept.rs`: the steps of a send, with `guard.rs` (pauses of sending);
//! - `stored.rs`: rows by id;
//! - `broadcast/`: emails of broadcasts;
//! - `event_recorder.rs`: events of emails;
//! - `metric_source.rs`: domain and broadcast of the counts of an email;
//! - `pages.rs`: emails in order, for `insights`;
//! - `read.rs`, `attempts.rs`, `change.rs`, `resend.rs`: the other use cases;
//! - `search/`: search, and its index by recipient;
//! - `retention.rs`, `erase.rs`, `removal.rs`: deletion by age, of addresses, and with a team;
//! - `api/`: endpoints.
//!
//! Invariants:
//! - The content is stored only in sealed form.
//! - A recipient is either in the queue, in flight under a lease, or settled. The row of the email has
//!   this state.

pub mod api;
pub mod attachments;
pub mod headers;
pub mod schedule;
pub mod tags;

mod accept;
mod attempts;
mod broadcast;
mod change;
mod erase;
mod event_recorder;
mod excerpt;
mod guard;
mod idempotency;
mod metric_source;
mod model;
mod pages;
mod prepare;
mod queue_keys;
mod read;
mod remote_files;
mod removal;
mod resend;
mod retention;
mod search;
mod send;
mod store;
mod stored;

pub(crate) use accept::still_deliverable;
pub use accept::{ALL_RECIPIENTS_SUPPRESSED, SuppressedItems};
pub use attempts::{EmailAttempt, ListAttemptsError};
#[cfg(test)]
pub(crate) use broadcast::queue_broadcast_email;
pub use broadcast::{BroadcastEmailList, BroadcastEmailScan, NewBroadcastEmail, broadcast_emails_step};
pub(crate) use broadcast::{
    CanceledPage, EnqueuedPage, PreparedBroadcastEmails, broadcast_refusal, cancel_broadcast_page,
    delete_broadcast_emails_of_team, delete_broadcast_outcomes, enqueue_broadcast_page, match_broadcast_emails,
    prepare_broadcast_emails,
};
pub(crate) use change::put_settled;
pub(crate) use erase::{
    EmailErasure, PreparedErasure, erase, is_erasable, is_in_flight, match_queued, mentions, prepare_erasure,
};
pub(crate) use event_recorder::{EventRecorder, record};
#[cfg(test)]
pub(crate) use event_recorder::{put_content, put_headers};
pub use guard::{BroadcastPause, NeverPaused, RegionPause, SendingGuard, SendingPause};
pub use idempotency::{
    Idempotency, IdempotentRequest, IdempotentResponse, IdempotentRoute, KeyConflict, Reservation, ReserveResult,
};
pub(crate) use metric_source::{METRIC_LOOKUPS, OPT_OUT_COUNTS};
pub use model::{AttachmentInfo, EmailContent, LastEvent, Recipient, RecipientKind, SUBJECT_CHARS_MAX, SendEmail};
#[cfg(test)]
pub(crate) use pages::{delete_emails, put_email};
pub(crate) use pages::{email_ids_after, emails_after};
pub(crate) use queue_keys::{destination_of, lane_of, queued_groups};
pub(crate) use read::find_of_teams;
pub use read::{BoundedEmail, EmailDetails, ReadAttachmentError, StoredAttachment};
pub use remote_files::{FETCH_TIMEOUT, RemoteFileError, RemoteFiles};
pub(crate) use removal::delete_page_of_team;
pub use resend::ResendEmailError;
pub use retention::purge;
pub use search::{
    EmailIndex, EmailSearchPage, EmailSearchQuery, SEARCH_ROWS_MAX, SearchFilter, SearchPositionRow, SearchTag,
};
pub use send::{BlockReason, BlockedRecipient, Emails, SendBatch, SendBatchError, SendError, Sender};
pub use store::{
    BroadcastEmailRow, BroadcastSend, EmailRow, ErasureMark, IdempotencyRow, QueueDestination, RecipientRow,
    RecipientState,
};
pub(crate) use store::{is_complete, read_attachment, read_content, valid_content};
pub(crate) use stored::{broadcast_destination, count_corrupt, find_row, find_valid_row, has_row, put_row};

use crate::base::address::StoredMailbox;
use crate::base::id::EmailId;

/// Limits of an email that an operator may set.
#[derive(Clone, Copy, Debug)]
pub struct EmailLimits {
    /// Maximum size of all attachments of an email, decoded.
    pub attachment_bytes_max: u64,
}

/// Returns the `Message-ID` of an email without its brackets. All attempts and recipients share it,
/// so that a receiving server can detect a duplicate.
pub(crate) fn message_id(id: EmailId, from: &StoredMailbox) -> String {
    format!("{id}@{}", from.domain().unwrap_or("localhost"))
}
