//! A contact as its team sees it: the row, read with the team's properties and topics.

use super::store::{self, ContactRow};
use crate::clock::TimestampMs;
use crate::contact_properties::{self, Definitions, PropertyValue};
use crate::id::{ContactId, TeamId};
use crate::store::{Reads, StoreError};
use crate::topics::{self, Subscription, Topic};

/// What is shown beside the basic shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facets {
    /// The properties.
    pub properties: bool,
    /// Where the contact stands with every topic.
    pub topics: bool,
}

impl Facets {
    /// The properties alone.
    pub const PROPERTIES: Self = Self { properties: true, topics: false };
}

/// Where a contact stands with a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicSubscription {
    /// The topic.
    pub topic: Topic,
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
    topics: Option<Vec<Topic>>,
}

impl Viewer {
    pub(super) fn new(tx: &impl Reads, team: TeamId, facets: Facets) -> Result<Self, StoreError> {
        let definitions = facets.properties.then(|| contact_properties::definitions(tx, team)).transpose()?;
        let topics = facets.topics.then(|| topics::all(tx, team)).transpose()?;
        Ok(Self { team, definitions, topics })
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
        let topics = self.topics.as_deref().map(|topics| standing(tx, self.team, id, topics)).transpose()?;
        let created_ms = id.created_ms();
        Ok(ContactView { id, email, first_name, last_name, unsubscribed, created_ms, properties, topics })
    }

    /// Returns where a contact stands with every topic of the team.
    pub(super) fn topics_of(
        tx: &impl Reads,
        team: TeamId,
        id: ContactId,
    ) -> Result<Vec<TopicSubscription>, StoreError> {
        standing(tx, team, id, &topics::all(tx, team)?)
    }
}

fn standing(
    tx: &impl Reads,
    team: TeamId,
    id: ContactId,
    topics: &[Topic],
) -> Result<Vec<TopicSubscription>, StoreError> {
    // Choices come oldest topic first.
    let choices = store::choices_of(tx, team, id)?;
    let stand = |topic: &Topic| {
        let choice = choices.binary_search_by_key(&topic.id, |(id, _)| *id).ok().map(|at| choices[at].1);
        TopicSubscription {
            topic: topic.clone(),
            subscription: Subscription::effective(choice, topic.default_subscription),
            explicit: choice.is_some(),
        }
    };
    Ok(topics.iter().map(stand).collect())
}
