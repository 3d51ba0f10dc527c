//! Emails, their recipients, and the order of their statuses.

use serde::{Deserialize, Serialize};

use super::attachments::Attachment;
use super::headers::CustomHeaders;
use super::tags::Tag;
use crate::base::address::{ERASED, Mailbox};
use crate::base::clock::TimestampMs;
use crate::base::id::{AttachmentId, TemplateId, TopicId};
use crate::base::words::words;

/// Maximum number of recipients in `to`, `cc` and `bcc` together.
pub(super) const RECIPIENTS_MAX: usize = 50;
/// Maximum length of a subject, in characters.
pub const SUBJECT_CHARS_MAX: usize = 998;
/// Maximum number of emails in a batch.
pub(super) const BATCH_MAX: usize = 100;

words! {
    /// Status of an email or of a recipient: its event of the highest rank. The variants are in ascending
    /// order.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum LastEvent {
        /// Accepted for a later time.
        Scheduled = "scheduled",
        /// In the queue.
        Queued = "queued",
        /// Claimed by the delivery engine.
        Sent = "sent",
        /// Deferred. Another attempt follows.
        DeliveryDelayed = "delivery_delayed",
        /// Accepted by the recipient's server.
        Delivered = "delivered",
        /// Opened by a person.
        Opened = "opened",
        /// A person followed a link.
        Clicked = "clicked",
        /// Refused permanently because of the recipient address.
        Bounced = "bounced",
        /// Reported as spam.
        Complained = "complained",
        /// Not attempted, because the address is suppressed.
        Suppressed = "suppressed",
        /// Given up for a reason other than the recipient.
        Failed = "failed",
        /// Canceled before delivery started.
        Canceled = "canceled",
    } with ALL
}

impl LastEvent {
    /// Changes the status to `event` if `event` has a higher rank.
    pub fn advance(&mut self, event: Self) {
        if event > *self {
            *self = event;
        }
    }
}

/// Header field of a recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecipientKind {
    To,
    Cc,
    /// No header field.
    Bcc,
}

/// A recipient of a send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipient {
    pub kind: RecipientKind,
    pub mailbox: Mailbox,
}

/// An email to send. All rules that need no store have been checked.
#[derive(Clone, Debug)]
pub struct SendEmail {
    pub from: Mailbox,
    /// 1 to 50 recipients, at least one of them in `to`, each address once.
    pub recipients: Vec<Recipient>,
    pub reply_to: Vec<Mailbox>,
    /// Subject, without control characters.
    pub subject: String,
    /// HTML part. An email has an HTML part, a text part, or both.
    pub html: Option<String>,
    pub text: Option<String>,
    pub headers: CustomHeaders,
    pub attachments: Vec<Attachment>,
    pub tags: Vec<Tag>,
    /// Due time; `None` for immediate delivery.
    pub scheduled_ms: Option<TimestampMs>,
    /// Topic that recipients can opt out of.
    pub topic: Option<TopicId>,
    /// Template that the content was rendered from.
    pub template: Option<TemplateId>,
}

#[cfg(test)]
impl SendEmail {
    /// Returns an email from `shop@example.com` to `ada@example.net`.
    pub(crate) fn example() -> Self {
        let to = Recipient { kind: RecipientKind::To, mailbox: Mailbox::parse("ada@example.net").unwrap() };
        Self {
            from: Mailbox::parse("shop@example.com").unwrap(),
            recipients: vec![to],
            reply_to: Vec::new(),
            subject: "Hello".into(),
            html: None,
            text: Some("Hi".into()),
            headers: CustomHeaders::default(),
            attachments: Vec::new(),
            tags: Vec::new(),
            scheduled_ms: None,
            topic: None,
            template: None,
        }
    }
}

/// Metadata of an attachment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachmentInfo {
    pub id: AttachmentId,
    pub filename: String,
    /// Decoded size, in bytes.
    pub size: u64,
    /// Media type.
    pub content_type: String,
    /// Content id of an inline image; `None` for a file. [`ERASED`] after erasure, which is not a valid content id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_id: Option<String>,
}

impl AttachmentInfo {
    /// Returns the content id of the part in a message. An image whose content id has been erased is a file.
    pub fn part_content_id(&self) -> Option<&str> {
        self.content_id.as_deref().filter(|id| *id != ERASED)
    }
}

/// Content of an email, without its subject and addresses. Stored compressed and sealed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmailContent {
    /// HTML part of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    /// Text part of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Custom headers: names and values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_of_lower_rank_does_not_change_the_status() {
        let mut status = LastEvent::Delivered;

        status.advance(LastEvent::Sent);
        assert_eq!(status, LastEvent::Delivered);
        status.advance(LastEvent::Bounced);

        assert_eq!(status, LastEvent::Bounced);
    }

    #[test]
    fn the_statuses_have_the_documented_order() {
        use LastEvent::*;
        let statuses = [
            Scheduled,
            Queued,
            Sent,
            DeliveryDelayed,
            Delivered,
            Opened,
            Clicked,
            Bounced,
            Complained,
            Suppressed,
            Failed,
            Canceled,
        ];

        assert!(statuses.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
