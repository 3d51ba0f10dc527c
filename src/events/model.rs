//! The kinds of events and what each carries.

use serde::{Deserialize, Serialize};

use crate::clock::TimestampMs;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
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
    /// Given up for a reason that is not the recipient's.
    #[serde(rename = "email.failed")]
    Failed,
    /// Called off before delivery began. Recorded for the timeline.
    #[serde(rename = "email.canceled")]
    Canceled,
}

impl Kind {
    /// Returns the name of the event type.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "email.scheduled",
            Self::Sent => "email.sent",
            Self::Delivered => "email.delivered",
            Self::DeliveryDelayed => "email.delivery_delayed",
            Self::Bounced => "email.bounced",
            Self::Complained => "email.complained",
            Self::Failed => "email.failed",
            Self::Canceled => "email.canceled",
        }
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

/// What an event carries beside its kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// Nothing.
    None,
    /// Of `email.bounced`.
    Bounce(Bounce),
    /// Of `email.failed`.
    Failed {
        /// Why it was given up.
        reason: String,
        /// What the other side said last.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        diagnostic: Vec<String>,
    },
    /// Of `email.complained`, where the report gives a type.
    Complaint {
        /// The type (RFC 5965 §3.1): `abuse` and so on.
        feedback_type: String,
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
    pub kind: Kind,
    /// When.
    pub at_ms: TimestampMs,
    /// The recipients it is about, bare addresses.
    pub recipients: Vec<String>,
    /// What it carries.
    pub detail: Detail,
}
