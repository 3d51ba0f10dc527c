//! The rules of one broadcast in progress, and its position in the contacts.

use std::sync::Arc;

use super::rows::FanOutRow;
use super::start::missing_part;
use crate::base::address::EmailAddress;
use crate::base::clock::TimestampMs;
use crate::base::id::{BroadcastId, ContactId, TeamId};
use crate::broadcast_rows::{self, BroadcastStatus, field_of_value};
use crate::contact_properties::{self, PropertyDefinitions};
use crate::contacts::{self, ContactRef};
use crate::segments::{ContactRange, SegmentRule};
use crate::store::{Order, ReadTx, Reads, StoreError, skip_corrupt};
use crate::suppressions::{self, SendKind};
use crate::topics::{self, SendTopic};

/// A broadcast in progress. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    pub(super) rules: Arc<WalkRules>,
    /// Last contact that was read.
    pub(super) after: Option<ContactId>,
    /// Due time of the last email that was queued.
    pub(super) planned_ms: Option<TimestampMs>,
}

/// The part of a broadcast that does not change while its contacts are read.
#[derive(Debug)]
pub(super) struct WalkRules {
    pub(super) id: BroadcastId,
    pub(super) team: TeamId,
    pub(super) segment: Option<SegmentRule>,
    topic: Option<SendTopic>,
    fields: Vec<ValueSource>,
    /// Last contact of the audience.
    last: ContactId,
}

/// Source of the value of a merge field.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ValueSource {
    Email,
    FirstName,
    LastName,
    Property { key: String, fallback: String },
}

impl ValueSource {
    fn of(name: &str, definitions: &PropertyDefinitions) -> Self {
        let (name, has_fallback) = field_of_value(name);
        match name {
            "EMAIL" => Self::Email,
            "FIRST_NAME" => Self::FirstName,
            "LAST_NAME" => Self::LastName,
            key => {
                let is_defined = definitions.spelling(key) == Some(key);
                let fallback = definitions.fallback(key).filter(|_| is_defined && has_fallback).unwrap_or_default();
                Self::Property { key: key.to_owned(), fallback: fallback.to_owned() }
            }
        }
    }

    /// Returns the value of a contact; empty if it has none.
    fn value(&self, contact: &ContactRef<'_>) -> String {
        let value = match self {
            Self::Email => Some(contact.email()),
            Self::FirstName => contact.first_name(),
            Self::LastName => contact.last_name(),
            Self::Property { key, fallback } => {
                contact.property(key).filter(|value| !value.is_empty()).or(Some(fallback.as_str()))
            }
        };
        value.unwrap_or_default().to_owned()
    }
}

/// A contact to send to.
#[derive(Debug)]
pub(super) struct WalkRecipient {
    pub(super) contact: ContactId,
    pub(super) address: EmailAddress,
    pub(super) values: Vec<String>,
}

impl Walk {
    /// Returns a started broadcast; `None` if it is not being sent, or if its domain, segment or topic does
    /// not exist.
    pub(super) fn load(tx: &ReadTx, id: BroadcastId, fan_out: &FanOutRow) -> Result<Option<Self>, StoreError> {
        let (team, Some(last)) = (fan_out.team, fan_out.last) else { return Ok(None) };
        let row = broadcast_rows::find_valid(tx, team, id)?;
        let Some(row) = row.filter(|row| row.status == BroadcastStatus::Queued) else { return Ok(None) };
        if missing_part(tx, fan_out, &row)?.is_some() {
            return Ok(None);
        }
        let topic = match row.topic {
            Some(topic) => topics::find_for_send(tx, team, topic)?,
            None => None,
        };
        let definitions = contact_properties::definitions(tx, team)?;
        let fields = row.fields.iter().map(|name| ValueSource::of(name, &definitions)).collect();
        let segment = row.segment.map(|segment| SegmentRule { segment, filter: fan_out.filter.clone() });
        let rules = Arc::new(WalkRules { id, team, segment, topic, fields, last });
        Ok(Some(Self { rules, after: fan_out.after, planned_ms: fan_out.planned_ms }))
    }

    /// Returns the contacts that have not been read; `None` after the last one.
    pub(super) fn rest(&self) -> Option<ContactRange> {
        let all = ContactRange { from: ContactId::MIN, to: self.rules.last, order: Order::Ascending };
        match self.after {
            Some(after) => all.beyond(after),
            None => Some(all),
        }
    }
}

impl WalkRules {
    /// Returns the recipient of a contact; `None` if the contact does not receive the broadcast.
    pub(super) fn recipient(
        &self,
        tx: &impl Reads,
        contact: ContactId,
        view: &ContactRef<'_>,
    ) -> Result<Option<WalkRecipient>, StoreError> {
        if view.unsubscribed() {
            return Ok(None);
        }
        let Some(address) = view.address() else { return Ok(None) };
        if let Some(topic) = self.topic
            && !contacts::contact_receives_topic(tx, self.team, contact, topic)?
        {
            return Ok(None);
        }
        let blocked = suppressions::blocks(tx, self.team, &address.identity_hash(), SendKind::Topic);
        // An entry that cannot be read blocks.
        if skip_corrupt(blocked, format_args!("suppression of contact {contact}"))?.unwrap_or(true) {
            return Ok(None);
        }
        let values = self.fields.iter().map(|field| field.value(view)).collect();
        Ok(Some(WalkRecipient { contact, address, values }))
    }
}
