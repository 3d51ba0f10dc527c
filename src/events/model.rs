//! The kinds of events and what each carries.

use serde::{Deserialize, Serialize};

use super::types::EventType;
use crate::base::clock::TimestampMs;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EmailEventKind {
    /// Accepted for a later time.
    #[serde(rename = "email.scheduled")]
    Scheduled,
    /// Taken up by the delivery engine for its first attempt.
    #[serde(rename = "email.sent")]
    Sent,
    /// Accepted by a recipient's server.
    #[serde(rename = "email.delivered")]
    Delivered,
    /// Refused for the time being.
    #[serde(rename = "email.delivery_delayed")]
    DeliveryDelayed,
    /// Refused for good because of the recipient.
    #[serde(rename = "email.bounced")]
    Bounced,
    /// Reported as spam.
    #[serde(rename = "email.complained")]
    Complained,
    /// Opened by a person.
    #[serde(rename = "email.opened")]
    Opened,
    /// A link was followed by a person.
    #[serde(rename = "email.clicked")]
    Clicked,
    /// Opened, or a link followed, by a machine.
    #[serde(rename = "email.prefetched")]
    Prefetched,
    /// Given up for a reason that is not the recipient's.
    #[serde(rename = "email.failed")]
    Failed,
    /// Called off before delivery began. Recorded for the timeline.
    #[serde(rename = "email.canceled")]
    Canceled,
}

impl EmailEventKind {
    /// Returns the type that webhook endpoints know it by; none for what is told to nobody.
    pub const fn event_type(self) -> Option<EventType> {
        Some(match self {
            Self::Scheduled => EventType::EmailScheduled,
            Self::Sent => EventType::EmailSent,
            Self::Delivered => EventType::EmailDelivered,
            Self::DeliveryDelayed => EventType::EmailDeliveryDelayed,
            Self::Bounced => EventType::EmailBounced,
            Self::Complained => EventType::EmailComplained,
            Self::Opened => EventType::EmailOpened,
            Self::Clicked => EventType::EmailClicked,
            Self::Prefetched => EventType::EmailPrefetched,
            Self::Failed => EventType::EmailFailed,
            Self::Canceled => return None,
        })
    }

    /// Returns the name of the event type.
    pub fn as_str(self) -> &'static str {
        self.event_type().map_or("email.canceled", EventType::as_str)
    }
}

/// Whether a refusal is for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BounceType {
    /// For good.
    Permanent,
    /// For the time being.
    Transient,
    /// The reply does not say.
    Undetermined,
}

impl BounceType {
    /// Returns the word the API uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Permanent => "Permanent",
            Self::Transient => "Transient",
            Self::Undetermined => "Undetermined",
        }
    }
}

/// Why a message came back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounce {
    /// A sentence for people.
    pub message: String,
    /// Whether it is for good.
    pub bounce_type: BounceType,
    /// The class: `General`, `NoEmail`, `MailboxFull` and so on.
    pub subtype: String,
    /// What the other side said, word for word.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostic: Vec<String>,
}

/// A load of the pixel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenDetail {
    /// Where from.
    pub ip_address: String,
    /// What with.
    pub user_agent: String,
    /// When.
    pub at_ms: TimestampMs,
    /// `click` for an open that only a click showed; why it is taken for a machine's, of
    /// `email.prefetched`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A link that was followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClickDetail {
    /// Where it leads.
    pub link: String,
    /// Where from.
    pub ip_address: String,
    /// What with.
    pub user_agent: String,
    /// When.
    pub at_ms: TimestampMs,
    /// Why it is taken for a machine's, of `email.prefetched`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What an event carries beside its kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// Nothing.
    None,
    /// Of `email.bounced`.
    Bounce(Bounce),
    /// Of `email.complained`.
    Complaint {
        /// What kind of complaint the report speaks of (RFC 5965 §3.1); none when it does not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        feedback_type: Option<String>,
    },
    /// Of `email.opened`, and of `email.prefetched` about the pixel.
    Open(OpenDetail),
    /// Of `email.clicked`, and of `email.prefetched` about a link.
    Click(ClickDetail),
    /// Of `email.failed`.
    Failed {
        /// Why it was given up.
        reason: String,
        /// What the other side said last.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        diagnostic: Vec<String>,
    },
    /// Of `email.delivery_delayed` and `email.delivered`: what the other side said.
    Reply {
        /// The reply.
        reply: String,
    },
}

/// Something that happened to an email.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What.
    pub kind: EmailEventKind,
    /// When.
    pub at_ms: TimestampMs,
    /// The recipients it is about, bare addresses.
    pub recipients: Vec<String>,
    /// What it carries.
    pub detail: Detail,
}
