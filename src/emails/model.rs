//! What an email is, its recipients and the ladder its status climbs. Pure.

use serde::{Deserialize, Serialize};

use super::attachments::Attachment;
use super::headers::CustomHeaders;
use super::tags::Tag;
use crate::base::address::Mailbox;
use crate::base::clock::TimestampMs;
use crate::base::id::{AttachmentId, TopicId};

/// Recipients in `to`, `cc` and `bcc` together.
pub(super) const RECIPIENTS_MAX: usize = 50;
/// The longest subject, in characters.
pub(super) const SUBJECT_CHARS_MAX: usize = 998;
/// Emails in one batch.
pub(super) const BATCH_MAX: usize = 100;

/// The status of an email or of one of its recipients: the rungs of a ladder that a late event
/// never climbs down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LastEvent {
    /// Waiting for its time.
    Scheduled,
    /// Waiting for delivery.
    Queued,
    /// Taken up by the delivery engine.
    Sent,
    /// Refused for the time being; tried again.
    DeliveryDelayed,
    /// Accepted by the recipient's server.
    Delivered,
    /// Opened by a person.
    Opened,
    /// A link was followed by a person.
    Clicked,
    /// Refused for good because of the recipient.
    Bounced,
    /// Reported as spam.
    Complained,
    /// Not tried: the address is suppressed.
    Suppressed,
    /// Given up for a reason that is not the recipient's.
    Failed,
    /// Called off before delivery began.
    Canceled,
}

impl LastEvent {
    /// Returns the word the API uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Queued => "queued",
            Self::Sent => "sent",
            Self::DeliveryDelayed => "delivery_delayed",
            Self::Delivered => "delivered",
            Self::Opened => "opened",
            Self::Clicked => "clicked",
            Self::Bounced => "bounced",
            Self::Complained => "complained",
            Self::Suppressed => "suppressed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
        }
    }

    /// Climbs to `rung` when that is higher; stays otherwise.
    pub fn advance(&mut self, rung: Self) {
        if rung > *self {
            *self = rung;
        }
    }
}

/// Which line of the header a recipient stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecipientKind {
    /// `To`.
    To,
    /// `Cc`.
    Cc,
    /// No header line at all.
    Bcc,
}

/// A recipient of a send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipient {
    /// Where it stands in the header.
    pub kind: RecipientKind,
    /// Who it is.
    pub mailbox: Mailbox,
}

/// A send, after every rule that needs no store has been checked.
#[derive(Clone, Debug)]
pub struct SendEmail {
    /// The sender.
    pub from: Mailbox,
    /// Who receives it: 1 to 50, at least one `to`, no address twice.
    pub recipients: Vec<Recipient>,
    /// Where answers go.
    pub reply_to: Vec<Mailbox>,
    /// The subject, without control characters.
    pub subject: String,
    /// The html part. One of html and text is there.
    pub html: Option<String>,
    /// The text part.
    pub text: Option<String>,
    /// The caller's own header fields.
    pub headers: CustomHeaders,
    /// The attached files.
    pub attachments: Vec<Attachment>,
    /// The caller's labels.
    pub tags: Vec<Tag>,
    /// When to send; at once when absent.
    pub scheduled_ms: Option<TimestampMs>,
    /// The topic a recipient can opt out of.
    pub topic: Option<TopicId>,
}

/// What is said of an attachment without its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachmentInfo {
    /// Its id.
    pub id: AttachmentId,
    /// Its file name.
    pub filename: String,
    /// Its size in bytes, decoded.
    pub size: u64,
    /// Its media type.
    pub content_type: String,
}

/// What an email says, apart from its subject and addresses. Stored compressed and sealed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmailContent {
    /// The html part as it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    /// The text part as it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The caller's own header fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_event_never_lowers_the_status() {
        let mut status = LastEvent::Delivered;

        status.advance(LastEvent::Sent);
        assert_eq!(status, LastEvent::Delivered);
        status.advance(LastEvent::Bounced);

        assert_eq!(status, LastEvent::Bounced);
    }

    #[test]
    fn the_ladder_is_the_documented_one() {
        use LastEvent::*;
        let ladder = [
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

        assert!(ladder.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
