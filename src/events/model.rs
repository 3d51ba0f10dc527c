//! The kinds and details of email events. Pure.

use serde::{Deserialize, Serialize};

use super::types::EventType;
use crate::base::clock::TimestampMs;
use crate::base::words::words;

/// Kind of an email event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EmailEventKind {
    /// Accepted for a later time.
    #[serde(rename = "email.scheduled")]
    Scheduled,
    /// Leased by the delivery engine for the first attempt.
    #[serde(rename = "email.sent")]
    Sent,
    /// Accepted by a recipient's server.
    #[serde(rename = "email.delivered")]
    Delivered,
    /// Temporarily refused.
    #[serde(rename = "email.delivery_delayed")]
    DeliveryDelayed,
    /// Permanently refused because of the recipient.
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
    /// Opened or clicked by software, such as a mail proxy.
    #[serde(rename = "email.prefetched")]
    Prefetched,
    /// Given up for a reason other than the recipient.
    #[serde(rename = "email.failed")]
    Failed,
    /// Canceled before delivery started. Only in the timeline.
    #[serde(rename = "email.canceled")]
    Canceled,
}

impl EmailEventKind {
    /// Returns the event type for webhooks; `None` if the kind is only in the timeline.
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

words! {
    /// Duration of a refusal.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum BounceType {
        Permanent = "Permanent",
        Transient = "Transient",
        /// The reply does not state it.
        Undetermined = "Undetermined",
    }
}

/// Details of a bounce.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounce {
    /// Explanation as a sentence.
    pub message: String,
    pub bounce_type: BounceType,
    /// The class: `General`, `NoEmail`, `MailboxFull` and so on.
    pub subtype: String,
    /// Replies of the remote server, verbatim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostic: Vec<String>,
}

/// Details of an open: a request of the tracking pixel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenDetail {
    pub ip_address: String,
    pub user_agent: String,
    pub at_ms: TimestampMs,
    /// `click` if the open was derived from a click; the reason of the classification for `email.prefetched`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Details of a click.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClickDetail {
    /// Target URL.
    pub link: String,
    pub ip_address: String,
    pub user_agent: String,
    pub at_ms: TimestampMs,
    /// Reason of the classification for `email.prefetched`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Details of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventDetail {
    None,
    /// Detail of `email.bounced`.
    Bounce(Bounce),
    /// Detail of `email.complained`.
    Complaint {
        /// `Feedback-Type` of the report (RFC 5965 §3.1); `None` if the report has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        feedback_type: Option<String>,
    },
    /// Detail of `email.opened`, and of `email.prefetched` for the pixel.
    Open(OpenDetail),
    /// Detail of `email.clicked`, and of `email.prefetched` for a link.
    Click(ClickDetail),
    /// Detail of `email.failed`.
    Failed {
        /// Reason code.
        reason: String,
        /// Last reply of the remote server. The status of an expired delivery precedes the reply.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        diagnostic: Vec<String>,
    },
    /// Detail of `email.delivery_delayed` and `email.delivered`.
    Reply {
        /// Reply of the remote server.
        reply: String,
    },
}

/// Event of an email.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub kind: EmailEventKind,
    pub at_ms: TimestampMs,
    /// Addresses of the affected recipients, without display names.
    pub recipients: Vec<String>,
    pub detail: EventDetail,
}
