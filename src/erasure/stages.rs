//! The list of stages, and the position of an erasure in it.
//!
//! | Data | Effect on an address |
//! |---|---|
//! | waiting recipients of an email | dropped: no attempt starts, and an email without a recipient is canceled |
//! | sender, recipients and reply addresses of an email | the mailbox with its name becomes `[erased]` |
//! | subject, HTML part, text part and header values of an email to others | each occurrence becomes `[erased]` |
//! | subject of an email without another recipient | a subject that contains the address becomes `[erased]` |
//! | file names and content ids of an email | one that contains the address becomes `[erased]` |
//! | values of the merge fields of an email of a broadcast | deleted, and each occurrence in the email of another recipient becomes `[erased]` |
//! | content and attachments of an email | deleted if every recipient has been erased |
//! | timeline of an email | recipients, and texts that contain the address, become `[erased]` |
//! | SMTP transcripts | a text that contains the address becomes `[erased]` |
//! | suppression list | the address is deleted from its entry, and the hash still blocks |
//! | captured messages | messages to the address, or of an email that named it, are deleted |
//! | events about contacts and suppressions | the address becomes `[erased]`, and names are deleted |
//! | event messages | a text that contains the address becomes `[erased]`, and names of contacts are deleted |
//! | responses of webhook endpoints | a response of any age that contains the address becomes `[erased]` |
//! | request log | a request of any age that contains the address is deleted |
//!
//! A queue row contains only the id of its email. The request itself deletes the contact. Texts about other
//! objects can contain the address and stay: filters of segments, values and names of other contacts,
//! fallbacks of properties, names and descriptions. For one to two days, an idempotency row can quote the start
//! of a tag that a permissive batch refused. `tests/tables.rs` lists the effect for every table.
//!
//! For a new table with addresses, add a stage here, and its scan and erase to `pages.rs`.

use serde::{Deserialize, Serialize};

use super::store::ErasureRow;
use crate::base::id::{CapturedId, EmailId, EventId, Id, LogId};
use crate::delivery::{QUEUE_START, QueueKey};
use crate::webhooks::DeliveryKey;

/// Position of an erasure. A scan continues after the row `after`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ErasureStage {
    /// The queue. First, so that no attempt to an erased recipient starts later. A claim refuses the emails of broadcasts to
    /// deleted contacts, also those that get their queue row later.
    Queue {
        /// The last queue row that was scanned.
        after: QueueKey,
    },
    /// Emails with their content, timeline and SMTP transcripts.
    Emails {
        /// The last email that was scanned.
        after: EmailId,
    },
    /// The suppression list, by address. After the emails: an erased email cannot cause another entry. The
    /// entries of pending emails are erased with these emails.
    Suppressions,
    /// Captured messages.
    Captured {
        /// The last message that was scanned.
        after: CapturedId,
    },
    /// Events about contacts and suppressions.
    AudienceEvents {
        /// The last event that was scanned.
        after: EventId,
    },
    /// Event messages.
    Messages {
        /// The last event message that was scanned.
        after: EventId,
    },
    /// Responses of webhook endpoints. After the event messages: a response can quote its message.
    Deliveries {
        /// The last delivery that was scanned.
        after: DeliveryKey,
    },
    /// The request log. After all other data: a response in the log can quote it.
    RequestLog {
        /// The last request that was scanned.
        after: LogId,
        /// The newest request to scan; `None` until all requests that were in progress have been logged.
        until: Option<LogId>,
    },
    /// The emails with a recipient in flight. They could not be erased, or a message from before the erasure is in
    /// flight. The erasure waits here until no attempt for them runs.
    PendingEmails,
}

impl ErasureStage {
    /// Start of the list.
    pub(super) const FIRST: Self = Self::Queue { after: QUEUE_START };
    /// Position after the queue.
    pub(super) const AFTER_QUEUE: Self = Self::Emails { after: Id::MIN };

    /// Returns whether the stage scans the queue.
    pub(super) const fn is_queue(self) -> bool {
        matches!(self, Self::Queue { .. })
    }
}

impl ErasureRow {
    /// Moves to the next stage; returns whether there is one.
    pub(super) fn start_next_stage(&mut self) -> bool {
        self.stage = match self.stage {
            ErasureStage::Queue { .. } => ErasureStage::AFTER_QUEUE,
            ErasureStage::Emails { .. } => ErasureStage::Suppressions,
            ErasureStage::Suppressions => ErasureStage::Captured { after: Id::MIN },
            ErasureStage::Captured { .. } => ErasureStage::AudienceEvents { after: Id::MIN },
            ErasureStage::AudienceEvents { .. } => ErasureStage::Messages { after: Id::MIN },
            ErasureStage::Messages { .. } => ErasureStage::Deliveries { after: (Id::MIN, Id::MIN) },
            ErasureStage::Deliveries { .. } => ErasureStage::RequestLog { after: Id::MIN, until: None },
            ErasureStage::RequestLog { .. } if self.pending_emails.is_empty() => return false,
            ErasureStage::RequestLog { .. } => ErasureStage::PendingEmails,
            // The second run. Only the emails that are not in the row need another scan.
            ErasureStage::PendingEmails => match self.resume_after.take() {
                Some(after) => ErasureStage::Emails { after },
                None => ErasureStage::Captured { after: Id::MIN },
            },
        };
        true
    }
}
