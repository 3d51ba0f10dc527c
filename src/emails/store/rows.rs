//! Rows of emails without their content, and of idempotency keys.

use serde::{Deserialize, Serialize};

use super::broadcast::BroadcastSend;
use crate::base::address::StoredMailbox;
use crate::base::clock::TimestampMs;
use crate::base::id::{ApiKeyId, DomainId, EmailId, ErasureId, TemplateId, TopicId};
use crate::emails::model::{AttachmentInfo, LastEvent, RecipientKind};
use crate::store::Row;

/// An email without its content.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EmailRow {
    /// Time of acceptance.
    pub created_ms: TimestampMs,
    pub from: StoredMailbox,
    /// Domain of the sender.
    pub domain: DomainId,
    /// API key of the sender; `None` for the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<ApiKeyId>,
    pub recipients: Vec<RecipientRow>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reply_to: Vec<StoredMailbox>,
    pub subject: String,
    /// Names and values of the tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<(String, String)>,
    /// Topic that the email was sent under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<TopicId>,
    /// Template that the content was rendered from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<TemplateId>,
    /// Requested due time of a scheduled email.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_ms: Option<TimestampMs>,
    /// Metadata of the attachments, in the order of the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<AttachmentInfo>,
    /// Whether the content has custom headers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_headers: bool,
    /// Highest status of all recipients.
    pub last_event: LastEvent,
    /// Whether the email was deleted while a delivery was in flight. No read returns it. It is deleted when
    /// the delivery ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
    /// The last erasure that changed this row; `None` if no erasure did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erasure: Option<ErasureMark>,
    /// The broadcast of the email; `None` for an email of the API. Such a row is not stored in this form: `broadcast.rs`.
    #[serde(skip)]
    pub broadcast: Option<BroadcastSend>,
}
impl Row for EmailRow {}

/// Mark of an erasure in the row of an email.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasureMark {
    pub id: ErasureId,
    /// Whether the content has been searched. Before, the content can contain an erased address.
    pub is_searched: bool,
}

/// A recipient with the state of its delivery.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecipientRow {
    pub kind: RecipientKind,
    pub mailbox: StoredMailbox,
    /// Number of its recipient group.
    pub group: u16,
    /// Destination of its group in the queue.
    #[serde(default, skip_serializing_if = "QueueDestination::is_domain")]
    pub destination: QueueDestination,
    pub state: RecipientState,
    pub last_event: LastEvent,
    /// Time of the counted opt-out with the link of the email; `None` if none is counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsubscribed_ms: Option<TimestampMs>,
}

/// Destination of a recipient group in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueDestination {
    /// The domain of its recipients.
    #[default]
    Domain,
    /// The address of its one recipient, which `--deliver-only` selects without its domain.
    Address,
    /// The domain of its recipients, through the transport of `--release`.
    Release,
}

impl QueueDestination {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature of serde")]
    pub(super) fn is_domain(&self) -> bool {
        *self == Self::Domain
    }
}

/// State of the delivery to one recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecipientState {
    /// In the queue.
    Waiting {
        /// Due time.
        due_ms: TimestampMs,
    },
    /// Leased by the delivery engine.
    InFlight,
    /// Delivered, bounced, failed, suppressed or canceled.
    Settled,
}

/// Response to the first request with an idempotency key. The key of the row is a hash of the key with its team and route.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct IdempotencyRow {
    /// Time after which the key is new again.
    pub expires_ms: TimestampMs,
    /// First half of the canonical hash of the body of the request.
    #[serde(with = "serde_bytes")]
    pub payload: [u8; 16],
    /// Ids of the accepted emails, in order. Rejected items of a permissive batch have none.
    #[serde(rename = "answer")]
    pub emails: Vec<EmailId>,
    /// Rejected items of a permissive batch: index and message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<(u32, String)>,
    /// Domains of the senders of the emails, each once.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub domains: Box<[DomainId]>,
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
    /// Returns a row with default values.
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
            template: None,
            scheduled_ms: None,
            attachments: Vec::new(),
            has_headers: false,
            last_event,
            hidden: false,
            erasure: None,
            broadcast: None,
        }
    }
}

#[cfg(test)]
impl RecipientRow {
    /// Returns a `To` recipient.
    pub(crate) fn example(mailbox: &str, state: RecipientState, last_event: LastEvent) -> Self {
        let destination = QueueDestination::Domain;
        let (kind, mailbox) = (RecipientKind::To, mailbox.into());
        Self { kind, mailbox, group: 0, destination, state, last_event, unsubscribed_ms: None }
    }
}
