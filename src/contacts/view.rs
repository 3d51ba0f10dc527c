//! Contacts as responses show them: a row, decoded with the properties and topics of the team.

use std::sync::Arc;

use super::size::text_bytes;
use super::store::{self, ContactRow};
use crate::base::address::EmailAddress;
use crate::base::clock::TimestampMs;
use crate::base::id::{ContactId, TeamId};
use crate::contact_properties::{self, PropertyDefinitions, PropertyValue};
use crate::store::page::PageError;
use crate::store::{Reads, StoreError, from_store_error};
use crate::topics::{self, Subscription, Topic};

/// Maximum size of a response about contacts, in bytes. Twenty contacts of any size fit: the default
/// page size of a list.
pub const RESPONSE_BYTES_MAX: usize = 32 << 20;
/// JSON bytes of a contact without its texts, properties and topics.
const CONTACT_BYTES: usize = 240;
/// JSON bytes of a property without its texts.
const PROPERTY_BYTES: usize = 32;
/// JSON bytes of a topic without its texts.
const TOPIC_BYTES: usize = 200;

/// Reason why contacts cannot be shown.
#[derive(Debug)]
pub enum ShowError {
    /// The response would be larger than [`RESPONSE_BYTES_MAX`].
    TooLarge,
    /// The cursor is not a row of the list.
    UnknownCursor,
    Store(StoreError),
}

from_store_error!(ShowError);

impl From<PageError> for ShowError {
    fn from(error: PageError) -> Self {
        match error {
            PageError::UnknownCursor => Self::UnknownCursor,
            PageError::Store(error) => Self::Store(error),
        }
    }
}

/// Fields that a response includes in addition to the basic ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IncludedFields {
    pub properties: bool,
    /// The subscription of the contact to every topic of the team.
    pub topics: bool,
}

impl IncludedFields {
    /// The properties without the topics.
    pub const PROPERTIES: Self = Self { properties: true, topics: false };
}

/// Subscription of a contact to one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicSubscription {
    /// The topic, shared by all contacts of a response.
    pub topic: Arc<Topic>,
    /// The contact's choice, or the topic's default if the contact has none.
    pub subscription: Subscription,
    /// Whether the contact has a choice for the topic.
    pub explicit: bool,
}

/// A contact with the included fields.
#[derive(Clone, Debug, PartialEq)]
pub struct ContactView {
    pub id: ContactId,
    pub email: EmailAddress,
    pub first_name: Option<String>,
    pub last_name: Option<String>,
    /// Whether the contact opted out of all marketing email.
    pub unsubscribed: bool,
    pub created_ms: TimestampMs,
    /// Properties by key; `None` if they are not included.
    pub properties: Option<Vec<(String, PropertyValue)>>,
    /// Subscriptions to every topic of the team; `None` if they are not included.
    pub topics: Option<Vec<TopicSubscription>>,
}

/// Converts the rows of one team's contacts into views. Reads the definitions and topics of the team
/// once.
pub(super) struct ContactViewer {
    team: TeamId,
    definitions: Option<PropertyDefinitions>,
    topics: Option<Vec<Arc<Topic>>>,
    /// JSON bytes of the topics of one contact.
    topics_bytes: usize,
}

impl ContactViewer {
    pub(super) fn new(tx: &impl Reads, team: TeamId, include: IncludedFields) -> Result<Self, StoreError> {
        let definitions = include.properties.then(|| contact_properties::definitions(tx, team)).transpose()?;
        let topics = include.topics.then(|| shared_topics(tx, team)).transpose()?;
        let topics_bytes = topics.iter().flatten().map(|topic| topic_bytes(topic)).sum();
        Ok(Self { team, definitions, topics, topics_bytes })
    }

    pub(super) fn view(&self, tx: &impl Reads, id: ContactId, row: ContactRow) -> Result<ContactView, StoreError> {
        let unsubscribed = row.unsubscribed();
        let ContactRow { email, first_name, last_name, unsubscribed_ms: _, properties, numbers, updated_ms: _ } = row;
        let properties = self.definitions.as_ref().map(|definitions| {
            let read = |(key, text): (String, String)| {
                let value = definitions.read_value(&key, &text, numbers.contains(&key));
                (key, value)
            };
            properties.into_iter().map(read).collect()
        });
        let topics = self.topics.as_deref().map(|topics| topic_subscriptions(tx, self.team, id, topics)).transpose()?;
        let created_ms = id.created_ms();
        Ok(ContactView { id, email, first_name, last_name, unsubscribed, created_ms, properties, topics })
    }

    /// Returns the byte budget of one response with these fields.
    pub(super) fn response_budget(&self) -> ResponseBudget {
        ResponseBudget { topics_bytes: self.topics_bytes, left: RESPONSE_BYTES_MAX }
    }
}

/// Bytes that are left for a response.
pub(super) struct ResponseBudget {
    topics_bytes: usize,
    left: usize,
}

impl ResponseBudget {
    /// Subtracts the JSON size of a contact. The size is an upper bound.
    ///
    /// # Errors
    /// [`ShowError::TooLarge`] if too few bytes are left.
    pub(super) fn take(&mut self, contact: &ContactView) -> Result<(), ShowError> {
        let names = [&contact.first_name, &contact.last_name].into_iter().flatten();
        let email = text_bytes(contact.email.local()) + 1 + contact.email.domain().as_str().len();
        let texts = email + names.map(|name| text_bytes(name)).sum::<usize>();
        let properties = contact.properties.iter().flatten().map(|(key, value)| {
            let value = match value {
                PropertyValue::String(text) => text_bytes(text),
                PropertyValue::Number(_) => PROPERTY_BYTES,
            };
            PROPERTY_BYTES + text_bytes(key) + value
        });
        let bytes = CONTACT_BYTES + texts + properties.sum::<usize>() + self.topics_bytes;
        self.left = self.left.checked_sub(bytes).ok_or(ShowError::TooLarge)?;
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn left(&self) -> usize {
        self.left
    }
}

fn topic_bytes(topic: &Topic) -> usize {
    TOPIC_BYTES + text_bytes(&topic.name) + topic.description.as_deref().map_or(0, text_bytes)
}

/// Returns the subscriptions of a contact to every topic of the team, newest topic first.
pub(super) fn topics_of(tx: &impl Reads, team: TeamId, id: ContactId) -> Result<Vec<TopicSubscription>, StoreError> {
    topic_subscriptions(tx, team, id, &shared_topics(tx, team)?)
}

fn shared_topics(tx: &impl Reads, team: TeamId) -> Result<Vec<Arc<Topic>>, StoreError> {
    Ok(topics::all(tx, team)?.into_iter().map(Arc::new).collect())
}

fn topic_subscriptions(
    tx: &impl Reads,
    team: TeamId,
    id: ContactId,
    topics: &[Arc<Topic>],
) -> Result<Vec<TopicSubscription>, StoreError> {
    // The choices are sorted by topic id, as the binary search requires.
    let choices = store::choices_of(tx, team, id)?;
    let subscription = |topic: &Arc<Topic>| {
        let choice = choices.binary_search_by_key(&topic.id, |(id, _)| *id).ok().map(|at| choices[at].1);
        TopicSubscription {
            topic: Arc::clone(topic),
            subscription: Subscription::effective(choice, topic.default_subscription),
            explicit: choice.is_some(),
        }
    };
    Ok(topics.iter().map(subscription).collect())
}
