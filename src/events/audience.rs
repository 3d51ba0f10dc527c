//! Events about the contacts and suppressions of a team, and their event messages.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::outbox::{EventHeader, publish};
use super::types::EventType;
use crate::api_keys::{Caller, CallerKind};
use crate::base::clock::{TimestampMs, to_iso};
use crate::base::id::{ContactId, SegmentId, SuppressionId, TeamId, TopicId};
use crate::context::Context;
use crate::store::{Row, StoreError, WriteTx};
use crate::tables::AUDIENCE_EVENTS;

/// Kind of an audience event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AudienceKind {
    /// A contact was added.
    #[serde(rename = "contact.created")]
    ContactCreated,
    /// The names, properties or opt-out of a contact changed.
    #[serde(rename = "contact.updated")]
    ContactUpdated,
    /// A contact was removed.
    #[serde(rename = "contact.deleted")]
    ContactDeleted,
    /// A contact opted out of all marketing email.
    #[serde(rename = "contact.unsubscribed")]
    ContactUnsubscribed,
    /// A contact was explicitly subscribed again.
    #[serde(rename = "contact.resubscribed")]
    ContactResubscribed,
    /// The effective subscription of a contact to a topic changed to `opt_in`.
    #[serde(rename = "contact.topic_opt_in")]
    TopicOptIn,
    /// The effective subscription of a contact to a topic changed to `opt_out`.
    #[serde(rename = "contact.topic_opt_out")]
    TopicOptOut,
    /// An address was added to the suppression list.
    #[serde(rename = "suppression.added")]
    SuppressionAdded,
    /// An address was removed from the suppression list.
    #[serde(rename = "suppression.removed")]
    SuppressionRemoved,
}

impl AudienceKind {
    /// Returns the event type for webhooks.
    pub const fn event_type(self) -> EventType {
        match self {
            Self::ContactCreated => EventType::ContactCreated,
            Self::ContactUpdated => EventType::ContactUpdated,
            Self::ContactDeleted => EventType::ContactDeleted,
            Self::ContactUnsubscribed => EventType::ContactUnsubscribed,
            Self::ContactResubscribed => EventType::ContactResubscribed,
            Self::TopicOptIn => EventType::ContactTopicOptIn,
            Self::TopicOptOut => EventType::ContactTopicOptOut,
            Self::SuppressionAdded => EventType::SuppressionAdded,
            Self::SuppressionRemoved => EventType::SuppressionRemoved,
        }
    }

    /// Returns the name of the event type.
    pub const fn as_str(self) -> &'static str {
        self.event_type().as_str()
    }
}

/// Form of a person in events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventIdentity {
    /// With address and names.
    Shown,
    /// With `[erased]` as the address, and without names: the contact is deleted with an erasure.
    Erased,
}

/// Origin of a change to a contact or the suppression list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeSource {
    /// A request with an API key.
    Api,
    /// A member of the team, in the dashboard or on the command line.
    Dashboard,
    /// The recipient, on the preference page.
    HostedPage,
    /// The recipient's mail program (RFC 8058).
    OneClick,
}

impl ChangeSource {
    /// Returns the source of a request of a caller.
    pub fn of(caller: &Caller) -> Self {
        match caller.kind {
            CallerKind::Key => Self::Api,
            CallerKind::Session => Self::Dashboard,
        }
    }
}

/// Contact at the time of the event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContactSnapshot {
    pub id: ContactId,
    /// Address; `[erased]` after erasure.
    pub email: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    /// Whether the contact has opted out of all marketing email.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsubscribed: bool,
    /// Time of the last change.
    pub updated_ms: TimestampMs,
    /// Segments of which the contact is a member.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<SegmentId>,
}

/// Topic at the time of the event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicSnapshot {
    pub id: TopicId,
    pub name: String,
}

/// Entry of the suppression list at the time of the event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuppressionSnapshot {
    pub id: SuppressionId,
    /// Address; `[erased]` after erasure.
    pub email: String,
    /// Origin of the entry, as in the API.
    pub origin: String,
    /// Origin of the change; `None` for bounces and complaints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<ChangeSource>,
    /// Time at which the entry was added.
    pub created_ms: TimestampMs,
}

/// Subject of an audience event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AudienceSubject {
    Contact {
        /// Contact at the time of the event.
        contact: ContactSnapshot,
        /// Origin of the change.
        source: ChangeSource,
        /// Topic of a topic event.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        topic: Option<TopicSnapshot>,
    },
    /// An entry of the suppression list.
    Suppression(SuppressionSnapshot),
}

/// Event about a contact or the suppression list. Stored in this form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AudienceEvent {
    pub kind: AudienceKind,
    pub at_ms: TimestampMs,
    pub subject: AudienceSubject,
}

/// An [`AudienceEvent`] on disk.
pub type AudienceEventRow = AudienceEvent;
impl Row for AudienceEvent {}

impl AudienceEvent {
    /// Returns the event message: `type`, `created_at` and `data`.
    pub fn payload(&self, team: TeamId) -> Json {
        json!({ "type": self.kind.as_str(), "created_at": to_iso(self.at_ms), "data": self.data(team) })
    }

    fn data(&self, team: TeamId) -> Json {
        match &self.subject {
            AudienceSubject::Contact { contact, source, topic } => {
                let mut data = contact_data(contact, *source, team);
                if let Some(topic) = topic {
                    data["topic_id"] = json!(topic.id);
                    data["topic_name"] = json!(topic.name);
                }
                data
            }
            AudienceSubject::Suppression(entry) => json!({
                "id": entry.id,
                "email": entry.email,
                "origin": entry.origin,
                "source": entry.source,
                "created_at": to_iso(entry.created_ms),
            }),
        }
    }
}

/// Returns the data of a contact event. The typed SDKs of the compatible API require `audience_id` and
/// `segment_ids`.
fn contact_data(contact: &ContactSnapshot, source: ChangeSource, team: TeamId) -> Json {
    let audience = contact.segments.first().map_or_else(|| team.to_string(), ToString::to_string);
    json!({
        "id": contact.id,
        "audience_id": audience,
        "segment_ids": contact.segments,
        "email": contact.email,
        "first_name": contact.first_name,
        "last_name": contact.last_name,
        "unsubscribed": contact.unsubscribed,
        "created_at": to_iso(contact.id.created_ms()),
        "updated_at": to_iso(contact.updated_ms),
        "source": source,
    })
}

/// Stores an audience event in the transaction of its cause and publishes it to endpoints and live streams.
pub fn record_audience(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    event: &AudienceEvent,
) -> Result<(), StoreError> {
    let id = context.id();
    let header = EventHeader { team, id, event_type: event.kind.event_type(), at_ms: event.at_ms };
    publish(tx, context, header, || Ok(event.payload(team).to_string()))?;
    tx.put(&AUDIENCE_EVENTS, &(team, id), event)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Id;

    const AT_MS: TimestampMs = 1_767_604_353_456;
    const TEAM: TeamId = Id::MIN;

    fn contact() -> ContactSnapshot {
        ContactSnapshot {
            id: Id::first_at(AT_MS),
            email: "ada@example.com".into(),
            first_name: Some("Ada".into()),
            last_name: None,
            unsubscribed: true,
            updated_ms: AT_MS + 1_000,
            segments: vec![Id::MAX],
        }
    }

    #[test]
    fn a_contact_event_contains_the_contact_and_the_change_source() {
        let topic = TopicSnapshot { id: Id::MAX, name: "News".into() };
        let subject =
            AudienceSubject::Contact { contact: contact(), source: ChangeSource::OneClick, topic: Some(topic) };
        let event = AudienceEvent { kind: AudienceKind::TopicOptOut, at_ms: AT_MS, subject };

        insta::assert_json_snapshot!(event.payload(TEAM));
    }

    #[test]
    fn a_contact_without_a_segment_has_its_team_as_the_audience() {
        let contact = ContactSnapshot { segments: Vec::new(), ..contact() };

        let data = contact_data(&contact, ChangeSource::Api, TEAM);

        assert_eq!(data["audience_id"], TEAM.to_string());
        assert_eq!(data["segment_ids"], json!([]));
    }

    #[test]
    fn a_suppression_from_a_bounce_has_no_source() {
        let entry = SuppressionSnapshot {
            id: Id::MIN,
            email: "ada@example.com".into(),
            origin: "bounce".into(),
            source: None,
            created_ms: AT_MS,
        };
        let subject = AudienceSubject::Suppression(entry);
        let event = AudienceEvent { kind: AudienceKind::SuppressionAdded, at_ms: AT_MS, subject };

        insta::assert_json_snapshot!(event.payload(TEAM));
    }

    #[test]
    fn an_event_is_decoded_as_it_was_encoded() {
        use crate::store::Value as _;

        for kind in [AudienceKind::ContactCreated, AudienceKind::SuppressionRemoved] {
            let subject = AudienceSubject::Contact { contact: contact(), source: ChangeSource::Dashboard, topic: None };
            let event = AudienceEvent { kind, at_ms: AT_MS, subject };
            assert_eq!(AudienceEvent::from_bytes(&event.to_bytes()).unwrap(), event);
        }
    }
}
