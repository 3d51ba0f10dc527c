//! Events about a team's contacts and its suppression list, and what each says on the wire.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::outbox::{EventHeader, publish};
use super::types::EventType;
use crate::base::clock::{TimestampMs, to_iso};
use crate::base::id::{ContactId, SegmentId, SuppressionId, TeamId, TopicId};
use crate::context::Context;
use crate::store::{Row, StoreError, WriteTx};
use crate::tables::AUDIENCE_EVENTS;

/// What an erased address reads as.
pub const ERASED: &str = "[erased]";

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AudienceKind {
    /// A contact was added.
    #[serde(rename = "contact.created")]
    ContactCreated,
    /// A contact's names, properties or opt-out changed.
    #[serde(rename = "contact.updated")]
    ContactUpdated,
    /// A contact was removed.
    #[serde(rename = "contact.deleted")]
    ContactDeleted,
    /// A contact opted out of all marketing email.
    #[serde(rename = "contact.unsubscribed")]
    ContactUnsubscribed,
    /// A contact was subscribed again, explicitly.
    #[serde(rename = "contact.resubscribed")]
    ContactResubscribed,
    /// A contact's effective subscription to a topic turned to `opt_in`.
    #[serde(rename = "contact.topic_opt_in")]
    TopicOptIn,
    /// A contact's effective subscription to a topic turned to `opt_out`.
    #[serde(rename = "contact.topic_opt_out")]
    TopicOptOut,
    /// An address joined the suppression list.
    #[serde(rename = "suppression.added")]
    SuppressionAdded,
    /// An address left the suppression list.
    #[serde(rename = "suppression.removed")]
    SuppressionRemoved,
}

impl AudienceKind {
    /// Returns the type that webhook endpoints know it by.
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

/// Who changed a contact or the suppression list.
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

/// A contact as it stood when something happened to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContactSnapshot {
    /// The contact.
    pub id: ContactId,
    /// Its address; [`ERASED`] once that has been erased.
    pub email: String,
    /// Its first name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    /// Its last name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    /// Whether it had opted out of all marketing email.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsubscribed: bool,
    /// When it last changed.
    pub updated_ms: TimestampMs,
    /// The segments it had been added to by hand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<SegmentId>,
}

/// A topic as it was called when a subscription to it turned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicSnapshot {
    /// The topic.
    pub id: TopicId,
    /// Its name.
    pub name: String,
}

/// An entry of the suppression list as it stood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuppressionSnapshot {
    /// The entry.
    pub id: SuppressionId,
    /// Its address; [`ERASED`] once that has been erased.
    pub email: String,
    /// Why it was listed: the API's word.
    pub origin: String,
    /// Who listed or removed it; none for bounces and complaints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<ChangeSource>,
    /// When it was listed.
    pub created_ms: TimestampMs,
}

/// What an event is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AudienceSubject {
    /// A contact.
    Contact {
        /// The contact.
        contact: ContactSnapshot,
        /// Who changed it.
        source: ChangeSource,
        /// The topic, of the two topic events.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        topic: Option<TopicSnapshot>,
    },
    /// An entry of the suppression list.
    Suppression(SuppressionSnapshot),
}

/// An event about a contact or the suppression list, on disk as it is here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AudienceEvent {
    /// What happened.
    pub kind: AudienceKind,
    /// When.
    pub at_ms: TimestampMs,
    /// What it is about.
    pub subject: AudienceSubject,
}

/// An [`AudienceEvent`] on disk.
pub type AudienceEventRow = AudienceEvent;
impl Row for AudienceEvent {}

impl AudienceEvent {
    /// Returns the event as a webhook delivers it: `type`, `created_at` and `data`.
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

/// `audience_id` and `segment_ids` are the compatible API's, whose typed SDKs require them.
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

/// Records an event about the audience in the transaction of the fact it tells, and writes it down for
/// the webhook endpoints that asked for its type.
///
/// # Errors
/// [`StoreError`].
pub fn record_audience(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    event: &AudienceEvent,
) -> Result<(), StoreError> {
    let id = context.id();
    let told = EventHeader { team, id, event_type: event.kind.event_type(), at_ms: event.at_ms };
    publish(tx, context, told, || Ok(event.payload(team).to_string()))?;
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
    fn a_contact_event_says_what_the_contact_was_and_who_changed_it() {
        let topic = TopicSnapshot { id: Id::MAX, name: "News".into() };
        let subject =
            AudienceSubject::Contact { contact: contact(), source: ChangeSource::OneClick, topic: Some(topic) };
        let event = AudienceEvent { kind: AudienceKind::TopicOptOut, at_ms: AT_MS, subject };

        insta::assert_json_snapshot!(event.payload(TEAM));
    }

    #[test]
    fn a_contact_in_no_segment_names_its_team_as_the_audience() {
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
    fn every_event_reads_back() {
        use crate::store::Value as _;

        for kind in [AudienceKind::ContactCreated, AudienceKind::SuppressionRemoved] {
            let subject = AudienceSubject::Contact { contact: contact(), source: ChangeSource::Dashboard, topic: None };
            let event = AudienceEvent { kind, at_ms: AT_MS, subject };
            assert_eq!(AudienceEvent::from_bytes(&event.to_bytes()).unwrap(), event);
        }
    }
}
