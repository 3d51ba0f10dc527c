//! What is answered about contacts.

use salvo::oapi::{Components, RefOr, Schema, ToSchema};
use serde::{Serialize, Serializer};

use super::properties::ShownProperties;
use super::request::ContactReference;
use crate::base::clock::to_iso;
use crate::base::id::{ContactId, SegmentId};
use crate::contacts::{BatchItem, BatchOutcome, ContactView, ItemStatus, TopicSubscription};
use crate::segments::Segment;

/// A contact.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "Contact"))]
pub(crate) struct ContactResponse {
    /// Always `contact`.
    object: &'static str,
    /// The id.
    id: String,
    /// The address.
    email: String,
    /// The first name.
    #[salvo(schema(required = true))]
    first_name: Option<String>,
    /// The last name.
    #[salvo(schema(required = true))]
    last_name: Option<String>,
    /// When it was added.
    created_at: String,
    /// Whether it opted out of all marketing email.
    unsubscribed: bool,
    /// Its properties: in lists with `include=properties` alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    properties: Option<ShownProperties>,
    /// Where it stands with every topic: with `include=topics` alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    topics: Option<ShownTopics>,
}

/// A contact's topics, made into text one at a time: of a thousand contacts they share their names.
struct ShownTopics(Vec<TopicSubscription>);

impl Serialize for ShownTopics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(TopicSubscriptionResponse::from))
    }
}

impl ToSchema for ShownTopics {
    fn to_schema(components: &mut Components) -> RefOr<Schema> {
        Vec::<TopicSubscriptionResponse>::to_schema(components)
    }
}

/// Where a contact stands with a topic.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "TopicSubscription"))]
pub(crate) struct TopicSubscriptionResponse {
    /// The id of the topic.
    id: String,
    /// The name.
    name: String,
    /// What the preference page says of it.
    #[salvo(schema(required = true))]
    description: Option<String>,
    /// What holds, `opt_in` or `opt_out`: the contact's choice, else the topic's default.
    subscription: &'static str,
    /// Whether the contact, or the API for it, chose.
    explicit: bool,
    /// `public` or `private`.
    visibility: &'static str,
    /// When the topic was made.
    created_at: String,
}

/// Where a contact stands with every topic, after a change.
#[derive(Serialize, ToSchema)]
pub(crate) struct ContactTopicsResponse {
    /// Always `contact_topics`.
    object: &'static str,
    /// The id of the contact.
    id: String,
    /// The same.
    contact_id: String,
    /// The topics, newest first.
    topics: ShownTopics,
}

/// A contact that was removed.
#[derive(Serialize, ToSchema)]
pub(crate) struct DeletedContact {
    /// Always `contact`.
    object: &'static str,
    /// Its id.
    contact: String,
    /// The same.
    id: String,
    /// Always true.
    deleted: bool,
}

/// A segment that holds a contact.
#[derive(Serialize, ToSchema)]
pub(crate) struct ContactSegmentRow {
    /// The id of the segment.
    id: String,
    /// The name.
    name: String,
    /// When it was made.
    created_at: String,
}

/// A contact that joined or left a segment.
#[derive(Serialize, ToSchema)]
pub(crate) struct ContactSegmentResponse {
    /// Always `contact_segment`.
    object: &'static str,
    /// The id of the segment.
    id: String,
    /// The id of the contact.
    contact_id: String,
    /// The id of the segment.
    segment_id: String,
    /// The id of the segment, under its older name.
    #[serde(rename = "audienceId")]
    audience_id: String,
    /// True when the contact left it.
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted: Option<bool>,
}

/// What became of a batch.
#[derive(Serialize, ToSchema)]
pub(crate) struct BatchResponse {
    /// The items that did not fail, in the order of the request.
    data: Vec<BatchItemResponse>,
    /// How many items came to what; together, those of the request.
    counts: BatchCounts,
    /// The items that failed; with `x-batch-validation: permissive` alone.
    errors: Vec<ContactBatchItemError>,
}

/// An item of a batch that did not fail.
#[derive(Serialize, ToSchema)]
pub(crate) struct BatchItemResponse {
    /// Always `contact`.
    object: &'static str,
    /// Its place in the request, from 0.
    index: usize,
    /// The id of its contact.
    id: String,
    /// `created`, `updated` or `skipped`.
    status: &'static str,
}

/// How many items of a batch came to what.
#[derive(Default, Serialize, ToSchema)]
pub(crate) struct BatchCounts {
    /// Contacts added.
    created: usize,
    /// Items merged into a contact.
    updated: usize,
    /// Items passed over.
    skipped: usize,
    /// Items refused.
    failed: usize,
}

/// An item of a batch that failed.
#[derive(Serialize, ToSchema)]
pub(crate) struct ContactBatchItemError {
    /// Its place in the request, from 0.
    index: usize,
    /// What was wrong.
    message: String,
}

/// Contacts that were read together.
#[derive(Serialize, ToSchema)]
pub(crate) struct BatchGetResponse {
    /// Always `list`.
    object: &'static str,
    /// The contacts found, in the order of the request.
    data: Vec<ContactResponse>,
    /// The names that match no contact.
    missing: Vec<MissingContact>,
}

/// A name that matches no contact.
#[derive(Serialize, ToSchema)]
pub(crate) struct MissingContact {
    /// Its place in the request, from 0.
    index: usize,
    /// The id that was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// The address that was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<String>,
}

/// Contacts that were removed together.
#[derive(Serialize, ToSchema)]
pub(crate) struct BatchRemoveResponse {
    /// Those that were there.
    data: Vec<RemovedContactResponse>,
}

/// One of them.
#[derive(Serialize, ToSchema)]
pub(crate) struct RemovedContactResponse {
    /// Always `contact`.
    object: &'static str,
    /// Its id.
    contact: String,
    /// Always true.
    deleted: bool,
}

impl From<ContactView> for ContactResponse {
    fn from(contact: ContactView) -> Self {
        let ContactView { id, email, first_name, last_name, unsubscribed, created_ms, properties, topics } = contact;
        Self {
            object: "contact",
            id: id.to_string(),
            email,
            first_name,
            last_name,
            created_at: to_iso(created_ms),
            unsubscribed,
            properties: properties.map(ShownProperties),
            topics: topics.map(ShownTopics),
        }
    }
}

impl From<&TopicSubscription> for TopicSubscriptionResponse {
    fn from(standing: &TopicSubscription) -> Self {
        let TopicSubscription { topic, subscription, explicit } = standing;
        Self {
            id: topic.id.to_string(),
            name: topic.name.clone(),
            description: topic.description.clone(),
            subscription: subscription.as_str(),
            explicit: *explicit,
            visibility: topic.visibility.as_str(),
            created_at: to_iso(topic.created_ms),
        }
    }
}

impl ContactTopicsResponse {
    pub(super) fn of(contact: ContactId, topics: Vec<TopicSubscription>) -> Self {
        Self {
            object: "contact_topics",
            id: contact.to_string(),
            contact_id: contact.to_string(),
            topics: ShownTopics(topics),
        }
    }
}

impl DeletedContact {
    /// `contact` is the id: what the SDKs that read it expect to be one.
    pub(super) fn of(id: ContactId) -> Self {
        Self { object: "contact", contact: id.to_string(), id: id.to_string(), deleted: true }
    }
}

impl From<Segment> for ContactSegmentRow {
    fn from(segment: Segment) -> Self {
        Self { id: segment.id.to_string(), name: segment.name, created_at: to_iso(segment.created_ms) }
    }
}

impl ContactSegmentResponse {
    pub(super) fn joined(contact: ContactId, segment: SegmentId) -> Self {
        Self {
            object: "contact_segment",
            id: segment.to_string(),
            contact_id: contact.to_string(),
            segment_id: segment.to_string(),
            audience_id: segment.to_string(),
            deleted: None,
        }
    }

    pub(super) fn left(contact: ContactId, segment: SegmentId) -> Self {
        Self { deleted: Some(true), ..Self::joined(contact, segment) }
    }
}

impl BatchResponse {
    /// Joins what became of the batch with the items that were refused before.
    pub(super) fn of(outcome: BatchOutcome, mut errors: Vec<ContactBatchItemError>) -> Self {
        let BatchOutcome { items, failed } = outcome;
        errors.extend(
            failed.into_iter().map(|(index, error)| ContactBatchItemError { index, message: error.to_string() }),
        );
        errors.sort_unstable_by_key(|error| error.index);
        let mut counts = BatchCounts { failed: errors.len(), ..BatchCounts::default() };
        let row = |item: BatchItem| {
            let (status, count) = match item.status {
                ItemStatus::Created => ("created", &mut counts.created),
                ItemStatus::Updated => ("updated", &mut counts.updated),
                ItemStatus::Skipped => ("skipped", &mut counts.skipped),
            };
            *count += 1;
            let id = item.id.expect("an item that was written has a contact").to_string();
            BatchItemResponse { object: "contact", index: item.index, id, status }
        };
        Self { data: items.into_iter().map(row).collect(), counts, errors }
    }
}

impl ContactBatchItemError {
    pub(super) fn new(index: usize, message: String) -> Self {
        Self { index, message }
    }
}

impl BatchGetResponse {
    /// Joins the contacts found, by their places, with the names that were given.
    pub(super) fn of(found: Vec<(usize, ContactView)>, given: Vec<ContactReference>) -> Self {
        let mut is_found = vec![false; given.len()];
        let mut data = Vec::with_capacity(found.len());
        for (place, contact) in found {
            is_found[place] = true;
            data.push(contact.into());
        }
        let missing = given.into_iter().enumerate().filter(|(place, _)| !is_found[*place]);
        let missing = missing.map(|(index, ContactReference { id, email })| MissingContact { index, id, email });
        Self { object: "list", data, missing: missing.collect() }
    }
}

impl BatchRemoveResponse {
    pub(super) fn of(removed: Vec<ContactId>) -> Self {
        let row = |id: ContactId| RemovedContactResponse { object: "contact", contact: id.to_string(), deleted: true };
        Self { data: removed.into_iter().map(row).collect() }
    }
}
