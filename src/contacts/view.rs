//! A contact as its team sees it: the row, read with the team's properties and topics.

use std::sync::Arc;

use super::size::text_bytes;
use super::store::{self, ContactRow};
use crate::base::clock::TimestampMs;
use crate::base::id::{ContactId, TeamId};
use crate::contact_properties::{self, Definitions, PropertyValue};
use crate::store::page::PageError;
use crate::store::{Reads, StoreError};
use crate::topics::{self, Subscription, Topic};

/// Bytes of one answer about contacts at most. Twenty contacts fit, however large they are: what a
/// list shows that is not told how many.
pub const ANSWER_BYTES_MAX: usize = 32 << 20;
/// What a contact has in an answer beside its texts, its properties and its topics.
const CONTACT_BYTES: usize = 240;
/// What a property has beside its texts.
const PROPERTY_BYTES: usize = 32;
/// What a topic has beside its texts.
const TOPIC_BYTES: usize = 200;

/// Why contacts are not shown.
#[derive(Debug)]
pub enum ShowError {
    /// The answer would have more than [`ANSWER_BYTES_MAX`].
    TooLarge,
    /// The cursor is no row of the list.
    UnknownCursor,
    /// The store failed.
    Store(StoreError),
}

impl From<StoreError> for ShowError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<PageError> for ShowError {
    fn from(error: PageError) -> Self {
        match error {
            PageError::UnknownCursor => Self::UnknownCursor,
            PageError::Store(error) => Self::Store(error),
        }
    }
}

/// What is shown beside the basic shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IncludedFields {
    /// The properties.
    pub properties: bool,
    /// Where the contact stands with every topic.
    pub topics: bool,
}

impl IncludedFields {
    /// The properties alone.
    pub const PROPERTIES: Self = Self { properties: true, topics: false };
}

/// Where a contact stands with a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicSubscription {
    /// The topic, which every contact of an answer shares.
    pub topic: Arc<Topic>,
    /// What holds: the contact's choice, else the topic's default.
    pub subscription: Subscription,
    /// Whether the contact, or the API for it, chose.
    pub explicit: bool,
}

/// A contact with the facets that were asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct ContactView {
    /// The id.
    pub id: ContactId,
    /// The address.
    pub email: String,
    /// The first name.
    pub first_name: Option<String>,
    /// The last name.
    pub last_name: Option<String>,
    /// Whether it opted out of all marketing email.
    pub unsubscribed: bool,
    /// When it was added.
    pub created_ms: TimestampMs,
    /// Its properties by key, where asked for.
    pub properties: Option<Vec<(String, PropertyValue)>>,
    /// Where it stands with every topic, where asked for.
    pub topics: Option<Vec<TopicSubscription>>,
}

/// What contacts of one team are read with.
pub(super) struct Viewer {
    team: TeamId,
    definitions: Option<Definitions>,
    topics: Option<Vec<Arc<Topic>>>,
    /// What the topics of one contact have in an answer.
    topics_bytes: usize,
}

impl Viewer {
    pub(super) fn new(tx: &impl Reads, team: TeamId, facets: IncludedFields) -> Result<Self, StoreError> {
        let definitions = facets.properties.then(|| contact_properties::definitions(tx, team)).transpose()?;
        let topics = facets.topics.then(|| shared_topics(tx, team)).transpose()?;
        let topics_bytes = topics.iter().flatten().map(|topic| topic_bytes(topic)).sum();
        Ok(Self { team, definitions, topics, topics_bytes })
    }

    pub(super) fn view(&self, tx: &impl Reads, id: ContactId, row: ContactRow) -> Result<ContactView, StoreError> {
        let unsubscribed = row.unsubscribed();
        let ContactRow { email, first_name, last_name, unsubscribed_ms: _, properties, updated_ms: _ } = row;
        let properties = self.definitions.as_ref().map(|definitions| {
            let read = |(key, text): (String, String)| {
                let value = definitions.read_value(&key, &text);
                (key, value)
            };
            properties.into_iter().map(read).collect()
        });
        let topics = self.topics.as_deref().map(|topics| topic_states(tx, self.team, id, topics)).transpose()?;
        let created_ms = id.created_ms();
        Ok(ContactView { id, email, first_name, last_name, unsubscribed, created_ms, properties, topics })
    }

    /// Begins an answer.
    pub(super) fn room(&self) -> ResponseBudget {
        ResponseBudget { topics_bytes: self.topics_bytes, left: ANSWER_BYTES_MAX }
    }
}

/// What is left of the bytes of an answer.
pub(super) struct ResponseBudget {
    topics_bytes: usize,
    left: usize,
}

impl ResponseBudget {
    /// Takes what a contact has.
    ///
    /// # Errors
    /// [`ShowError::TooLarge`].
    pub(super) fn take(&mut self, contact: &ContactView) -> Result<(), ShowError> {
        let texts = [Some(&contact.email), contact.first_name.as_ref(), contact.last_name.as_ref()];
        let texts = texts.into_iter().flatten().map(|text| text_bytes(text)).sum::<usize>();
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

    /// Returns how many bytes are left.
    #[cfg(test)]
    pub(super) fn left(&self) -> usize {
        self.left
    }
}

fn topic_bytes(topic: &Topic) -> usize {
    TOPIC_BYTES + text_bytes(&topic.name) + topic.description.as_deref().map_or(0, text_bytes)
}

/// Returns where a contact stands with every topic of the team.
pub(super) fn topics_of(tx: &impl Reads, team: TeamId, id: ContactId) -> Result<Vec<TopicSubscription>, StoreError> {
    topic_states(tx, team, id, &shared_topics(tx, team)?)
}

fn shared_topics(tx: &impl Reads, team: TeamId) -> Result<Vec<Arc<Topic>>, StoreError> {
    Ok(topics::all(tx, team)?.into_iter().map(Arc::new).collect())
}

fn topic_states(
    tx: &impl Reads,
    team: TeamId,
    id: ContactId,
    topics: &[Arc<Topic>],
) -> Result<Vec<TopicSubscription>, StoreError> {
    // Choices come oldest topic first.
    let choices = store::choices_of(tx, team, id)?;
    let stand = |topic: &Arc<Topic>| {
        let choice = choices.binary_search_by_key(&topic.id, |(id, _)| *id).ok().map(|at| choices[at].1);
        TopicSubscription {
            topic: Arc::clone(topic),
            subscription: Subscription::effective(choice, topic.default_subscription),
            explicit: choice.is_some(),
        }
    };
    Ok(topics.iter().map(stand).collect())
}
