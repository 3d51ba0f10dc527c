//! Emails on disk: the small row that lists and states need. The content lies apart.

use serde::{Deserialize, Serialize};

use super::mailbox::StoredMailbox;
use crate::base::clock::TimestampMs;
use crate::base::id::{ApiKeyId, DomainId, EmailId, TeamId, TopicId};
use crate::emails::model::{AttachmentInfo, LastEvent, RecipientKind};
use crate::store::Row;

/// An email without its content.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EmailRow {
    /// When it was accepted.
    pub created_ms: TimestampMs,
    /// The sender as it reads back.
    pub from: StoredMailbox,
    /// The sender's domain.
    pub domain: DomainId,
    /// The key it was sent with; none from the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<ApiKeyId>,
    /// Who receives it.
    pub recipients: Vec<RecipientRow>,
    /// Where answers go.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reply_to: Vec<StoredMailbox>,
    /// The subject.
    pub subject: String,
    /// The caller's labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<(String, String)>,
    /// The topic it was sent under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<TopicId>,
    /// When it was asked to go out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_ms: Option<TimestampMs>,
    /// The attached files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<AttachmentInfo>,
    /// Whether its content has header fields of the caller's own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_headers: bool,
    /// The highest rung any recipient reached.
    pub last_event: LastEvent,
    /// Deleted while a delivery was under way: gone from every read, and gone itself when that has ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
}
impl Row for EmailRow {}

/// A recipient and how far its delivery has come.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecipientRow {
    /// Where it stands in the header.
    pub kind: RecipientKind,
    /// Who it is, as it reads back.
    pub mailbox: StoredMailbox,
    /// Which recipients share its transaction.
    pub group: u16,
    /// How far its delivery has come.
    pub state: RecipientState,
    /// The rung it reached.
    pub last_event: LastEvent,
}

/// How far the delivery to one recipient has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecipientState {
    /// In the queue.
    Waiting {
        /// When it is due.
        due_ms: TimestampMs,
    },
    /// A conversation is under way.
    InFlight,
    /// Delivered, given up or called off.
    Settled,
}

/// What was answered to an idempotency key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct IdempotencyRow {
    /// Whose key it is.
    pub team: TeamId,
    /// The hash of route and key.
    #[serde(with = "serde_bytes")]
    pub key_hash: [u8; 32],
    /// The hash of the request's canonical JSON.
    #[serde(with = "serde_bytes")]
    pub body_hash: [u8; 32],
    /// The emails of the answer, in order; none for an item a permissive batch refused.
    pub answer: Vec<EmailId>,
    /// The refused items of a permissive batch: index and message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<(u32, String)>,
}
impl Row for IdempotencyRow {}

impl EmailRow {
    /// Returns the mailboxes of one header field, in their order.
    pub fn mailboxes(&self, kind: RecipientKind) -> impl Iterator<Item = &StoredMailbox> {
        self.recipients.iter().filter(move |recipient| recipient.kind == kind).map(|recipient| &recipient.mailbox)
    }
}

#[cfg(test)]
impl EmailRow {
    /// Returns an email that says no more than a test needs.
    pub(crate) fn example(recipients: Vec<RecipientRow>, last_event: LastEvent) -> Self {
        Self {
            created_ms: 0,
            from: "bob@example.com".into(),
            domain: DomainId::MIN,
            key: None,
            recipients,
            reply_to: Vec::new(),
            subject: String::new(),
            tags: Vec::new(),
            topic: None,
            scheduled_ms: None,
            attachments: Vec::new(),
            has_headers: false,
            last_event,
            hidden: false,
        }
    }
}

#[cfg(test)]
impl RecipientRow {
    /// Returns a recipient in `To`.
    pub(crate) fn example(mailbox: &str, state: RecipientState, last_event: LastEvent) -> Self {
        Self { kind: RecipientKind::To, mailbox: mailbox.into(), group: 0, state, last_event }
    }
}
