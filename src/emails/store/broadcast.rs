//! Rows of the emails of broadcasts. A broadcast has one for each recipient, so that the rows are small. The names of
//! the fields have one letter, and the row of the broadcast has the fields that all recipients share.

use serde::{Deserialize, Serialize};

use super::rows::{EmailRow, ErasureMark, QueueDestination, RecipientRow, RecipientState};
use crate::base::address::StoredMailbox;
use crate::base::clock::TimestampMs;
use crate::base::id::{BroadcastId, ContactId, DomainId, EmailId};
use crate::broadcast_rows::{BroadcastOutcome, BroadcastRow, BroadcastStatus};
use crate::emails::model::{LastEvent, RecipientKind};
use crate::store::Row;

/// An email of a broadcast to one contact, without the fields that all recipients share.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BroadcastEmailRow {
    #[serde(rename = "b")]
    pub broadcast: BroadcastId,
    #[serde(rename = "c")]
    pub contact: ContactId,
    /// Address of the contact when the email was queued.
    #[serde(rename = "a")]
    pub mailbox: StoredMailbox,
    /// Due time of a waiting email, minus the creation time of its id, in ms. `None` if it does not wait.
    #[serde(rename = "w", default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<i64>,
    /// Whether it is leased by the delivery engine.
    #[serde(rename = "f", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_in_flight: bool,
    #[serde(rename = "e", default = "queued", skip_serializing_if = "is_queued")]
    pub last_event: LastEvent,
    /// Whether the delivery engine has taken it up at least once.
    #[serde(rename = "t", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_attempted: bool,
    /// Whether a person opened it.
    #[serde(rename = "o", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_opened: bool,
    /// Whether a person followed a link of it.
    #[serde(rename = "k", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_clicked: bool,
    /// Time of the counted opt-out with its link; `None` if none is counted.
    #[serde(rename = "u", default, skip_serializing_if = "Option::is_none")]
    pub unsubscribed_ms: Option<TimestampMs>,
    /// Values of the merge fields, in the order of the names in the row of the broadcast. An empty value is missing.
    #[serde(rename = "v", default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    #[serde(rename = "d", default, skip_serializing_if = "QueueDestination::is_domain")]
    pub destination: QueueDestination,
    /// Whether the email was deleted while a delivery was in flight.
    #[serde(rename = "h", default, skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
    /// The last erasure that changed this row.
    #[serde(rename = "x", default, skip_serializing_if = "Option::is_none")]
    pub erasure: Option<ErasureMark>,
}
impl Row for BroadcastEmailRow {}

const fn queued() -> LastEvent {
    LastEvent::Queued
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature of serde")]
fn is_queued(event: &LastEvent) -> bool {
    *event == LastEvent::Queued
}

impl From<LastEvent> for BroadcastOutcome {
    fn from(event: LastEvent) -> Self {
        match event {
            LastEvent::Scheduled | LastEvent::Queued => Self::Queued,
            LastEvent::Sent | LastEvent::DeliveryDelayed => Self::Sent,
            LastEvent::Delivered | LastEvent::Opened | LastEvent::Clicked => Self::Delivered,
            LastEvent::Bounced => Self::Bounced,
            LastEvent::Complained => Self::Complained,
            LastEvent::Suppressed => Self::Suppressed,
            LastEvent::Failed => Self::Failed,
            LastEvent::Canceled => Self::Canceled,
        }
    }
}

/// The broadcast of an email.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BroadcastSend {
    pub id: BroadcastId,
    pub contact: ContactId,
    /// Names and values of the merge fields that the content uses, except the address. An empty value is missing.
    pub values: Vec<(String, String)>,
    /// Preview text, with merge fields.
    pub preview_text: Option<String>,
    /// Whether the broadcast was canceled or has failed: an email without an attempt is not sent.
    pub is_canceled: bool,
    /// Whether a person opened the email.
    pub is_opened: bool,
    /// Whether a person followed a link of the email.
    pub is_clicked: bool,
}

impl BroadcastEmailRow {
    /// Returns the part of an email that its row stores; `None` for an email without a broadcast. `is_attempted` of the
    /// row that it replaces stays.
    pub(in crate::emails) fn of(id: EmailId, email: &EmailRow, before: Option<&Self>) -> Option<Self> {
        let (send, recipient) = (email.broadcast.as_ref()?, email.recipients.first()?);
        let wait_ms = match recipient.state {
            RecipientState::Waiting { due_ms } => Some(due_ms - id.created_ms()),
            RecipientState::InFlight | RecipientState::Settled => None,
        };
        let was_attempted = before.is_some_and(|before| before.is_attempted);
        Some(Self {
            broadcast: send.id,
            contact: send.contact,
            mailbox: recipient.mailbox.clone(),
            wait_ms,
            is_in_flight: recipient.state == RecipientState::InFlight,
            last_event: recipient.last_event,
            is_attempted: was_attempted || BroadcastOutcome::from(recipient.last_event).is_attempted(),
            is_opened: send.is_opened,
            is_clicked: send.is_clicked,
            unsubscribed_ms: recipient.unsubscribed_ms,
            values: send.values.iter().map(|(_, value)| value.clone()).collect(),
            destination: recipient.destination,
            hidden: email.hidden,
            erasure: email.erasure,
        })
    }

    /// Returns the recipient of the email with this id.
    pub(in crate::emails) fn recipient(&self, id: EmailId) -> RecipientRow {
        let state = match self.wait_ms {
            Some(wait_ms) => RecipientState::Waiting { due_ms: id.created_ms() + wait_ms },
            None if self.is_in_flight => RecipientState::InFlight,
            None => RecipientState::Settled,
        };
        RecipientRow {
            kind: RecipientKind::To,
            mailbox: self.mailbox.clone(),
            group: 0,
            destination: self.destination,
            state,
            last_event: self.last_event,
            unsubscribed_ms: self.unsubscribed_ms,
        }
    }

    /// Returns the email with the fields of its broadcast. If the row of the broadcast is `None` because it is corrupt, the
    /// email has no sender and cannot be sent.
    pub(in crate::emails) fn join(self, id: EmailId, broadcast: Option<&BroadcastRow>) -> EmailRow {
        let recipient = self.recipient(id);
        let names = broadcast.map(|row| row.fields.as_slice()).unwrap_or_default();
        let names = names.iter().cloned().chain(std::iter::repeat_with(String::new));
        let values: Vec<(String, String)> = names.zip(self.values).collect();
        let address = self.mailbox.bare();
        let subject = broadcast.map(|row| row.subject_of(&address, &values)).unwrap_or_default();
        let send = BroadcastSend {
            id: self.broadcast,
            contact: self.contact,
            values,
            preview_text: broadcast.and_then(|row| row.preview_text.clone()),
            is_canceled: broadcast
                .is_some_and(|row| matches!(row.status, BroadcastStatus::Canceled | BroadcastStatus::Failed)),
            is_opened: self.is_opened,
            is_clicked: self.is_clicked,
        };
        EmailRow {
            created_ms: id.created_ms(),
            from: broadcast.map_or_else(StoredMailbox::erased, |row| row.from.clone()),
            domain: broadcast.and_then(|row| row.domain).unwrap_or(DomainId::MIN),
            key: broadcast.and_then(|row| row.key),
            recipients: vec![recipient],
            reply_to: broadcast.map(|row| row.reply_to.clone()).unwrap_or_default(),
            subject,
            tags: Vec::new(),
            topic: broadcast.and_then(|row| row.topic),
            template: None,
            scheduled_ms: None,
            attachments: Vec::new(),
            has_headers: false,
            last_event: self.last_event,
            hidden: self.hidden,
            erasure: self.erasure,
            broadcast: Some(send),
        }
    }
}
