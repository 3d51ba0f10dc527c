//! Rows of broadcasts.

use serde::{Deserialize, Serialize};

use crate::base::address::StoredMailbox;
use crate::base::clock::TimestampMs;
use crate::base::id::{ApiKeyId, DomainId, EmailId, SegmentId, TopicId};
use crate::base::words::words;
use crate::store::Row;

words! {
    /// Status of a broadcast.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum BroadcastStatus {
        /// Can be changed. Nothing is sent.
        Draft = "draft",
        /// Starts at its due time.
        Scheduled = "scheduled",
        /// Is being sent.
        Queued = "queued",
        /// Each recipient has been attempted, or is not sent to any more.
        Sent = "sent",
        /// Was stopped. Emails that were in flight have been sent.
        Canceled = "canceled",
        /// Could not be started, for example because its domain was deleted.
        Failed = "failed",
    } with ALL
}

impl BroadcastStatus {
    /// Returns whether the broadcast waits or is being sent. Only then can it be canceled.
    pub const fn is_started(self) -> bool {
        matches!(self, Self::Scheduled | Self::Queued)
    }

    /// Returns whether the broadcast is a draft or started: it needs its segment and its topic.
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Draft) || self.is_started()
    }
}

/// A broadcast without its content.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BroadcastRow {
    /// Time of creation.
    pub created_ms: TimestampMs,
    /// Name; empty to show the subject.
    pub name: String,
    pub from: StoredMailbox,
    /// Subject, with merge fields.
    pub subject: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reply_to: Vec<StoredMailbox>,
    /// Names of the merge fields that the subject, the preview text and the content use, except the address, in order. Set
    /// when the broadcast is sent: the emails store their values in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    /// Text that mail clients show beside the subject, with merge fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview_text: Option<String>,
    /// Segment of the recipients; `None` for all contacts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<SegmentId>,
    /// Topic that the recipients must receive; `None` for every subscribed contact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<TopicId>,
    pub status: BroadcastStatus,
    /// API key that sent the broadcast; `None` for a draft and for another interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<ApiKeyId>,
    /// Domain of the sender when the broadcast was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<DomainId>,
    /// Requested start; `None` to start at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_ms: Option<TimestampMs>,
    /// Time at which the first recipients were queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_ms: Option<TimestampMs>,
    /// Time at which the last email went out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_ms: Option<TimestampMs>,
    /// Planned time at which the last email goes out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finishes_ms: Option<TimestampMs>,
    /// Number of recipients at the request, an estimate for many contacts. After the fan-out the number of stored emails.
    #[serde(default)]
    pub audience: u64,
    /// Whether the emails of all recipients are stored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_queued_whole: bool,
    /// Number of changes of the draft. A change that was prepared on an earlier one is prepared again, or refused if it
    /// names the earlier one.
    #[serde(default)]
    pub revision: u32,
}
impl Row for BroadcastRow {}

impl BroadcastRow {
    /// Returns a draft to all contacts, without a name.
    pub const fn draft(from: StoredMailbox, subject: String) -> Self {
        Self {
            created_ms: 0,
            name: String::new(),
            from,
            subject,
            reply_to: Vec::new(),
            fields: Vec::new(),
            preview_text: None,
            segment: None,
            topic: None,
            status: BroadcastStatus::Draft,
            key: None,
            domain: None,
            scheduled_ms: None,
            started_ms: None,
            sent_ms: None,
            finishes_ms: None,
            audience: 0,
            is_queued_whole: false,
            revision: 0,
        }
    }

    /// Returns the name, or the subject of a broadcast without a name.
    pub fn shown_name(&self) -> &str {
        if self.name.is_empty() { &self.subject } else { &self.name }
    }

    /// Returns the number of recipients that have not been attempted: those that are queued, and the rest of the
    /// audience.
    pub const fn unsent(&self, counts: &BroadcastCountsRow) -> u64 {
        let not_queued = if self.is_queued_whole { 0 } else { self.audience.saturating_sub(counts.total()) };
        counts.queued + not_queued
    }
}

/// A broadcast that is a draft, scheduled or queued: the rows that it must not lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActiveBroadcastRow {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<SegmentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<TopicId>,
    /// Whether it is scheduled or queued.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_started: bool,
}
impl Row for ActiveBroadcastRow {}

/// Number of recipients of a broadcast by the state of their email, from `queued` to `canceled`. Each recipient is in
/// exactly one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BroadcastCountsRow {
    /// Without an attempt: in the queue, or before it.
    pub queued: u64,
    /// Claimed by the delivery engine, without a final outcome.
    pub sent: u64,
    pub delivered: u64,
    pub bounced: u64,
    pub complained: u64,
    /// Not attempted, or not attempted again, because the contact had left the audience.
    pub suppressed: u64,
    pub failed: u64,
    pub canceled: u64,
    /// Emails that the delivery engine has claimed, whatever their outcome.
    pub attempted: u64,
    /// Suppressed emails that the delivery engine has never claimed.
    #[serde(default)]
    pub skipped: u64,
    /// Claimed emails to simulated recipients.
    #[serde(default)]
    pub simulated: u64,
    /// Opt-outs with the link of an email.
    #[serde(default)]
    pub unsubscribed: u64,
    /// Recipients who opened their email. Software does not count.
    #[serde(default)]
    pub opened: u64,
    /// Recipients who followed a link.
    #[serde(default)]
    pub clicked: u64,
    /// Recipients whose email only software opened.
    #[serde(default)]
    pub opened_by_software: u64,
    /// Recipients whose links only software followed.
    #[serde(default)]
    pub clicked_by_software: u64,
    /// Domains of recipients that are counted one by one.
    #[serde(default)]
    pub domains: u32,
    /// The first and the last email of the broadcast; `None` before the first recipient is queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<(EmailId, EmailId)>,
    /// The newest email that the delivery engine has claimed; `None` before the first claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_attempted: Option<EmailId>,
}
impl Row for BroadcastCountsRow {}
