//! Response bodies of contacts.

use salvo::oapi::{Components, RefOr, Schema, ToSchema};
use serde::{Serialize, Serializer};

use super::properties::ResponseProperties;
use super::request::ContactReference;
use crate::base::clock::to_iso;
use crate::base::id::{ContactId, SegmentId};
use crate::contacts::{BatchItem, BatchOutcome, ContactView, ItemStatus, TopicSubscription};
use crate::http::schema::words_schema;
use crate::segments::Segment;
use crate::topics::api::{SubscriptionWord, VisibilityWord};

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
    /// The creation time.
    created_at: String,
    /// Whether the contact opted out of all marketing email.
    unsubscribed: bool,
    /// The properties. Lists contain them only with `include=properties`.
    #[serde(skip_serializing_if = "Option::is_none")]
    properties: Option<ResponseProperties>,
    /// The subscriptions to every topic. Present only with `include=topics`.
    #[serde(skip_serializing_if = "Option::is_none")]
    topics: Option<ResponseTopics>,
}

/// Topic subscriptions of a contact. They are serialized one at a time, so that the contacts of a response
/// share the texts of the topics in memory.
struct ResponseTopics(Vec<TopicSubscription>);

impl Serialize for ResponseTopics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(TopicSubscriptionResponse::from))
    }
}

impl ToSchema for ResponseTopics {
    fn to_schema(components: &mut Components) -> RefOr<Schema> {
        Vec::<TopicSubscriptionResponse>::to_schema(components)
    }
}

/// The subscription of a contact to one topic.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "TopicSubscription"))]
pub(crate) struct TopicSubscriptionResponse {
    /// The id of the topic.
    id: String,
    /// The name.
    name: String,
    /// The description on the preference page.
    #[salvo(schema(required = true))]
    description: Option<String>,
    /// `opt_in` or `opt_out`: the contact's choice, or the default of the topic if there is no choice.
    #[salvo(schema(value_type = SubscriptionWord))]
    subscription: &'static str,
    /// Whether the contact has a choice for the topic.
    explicit: bool,
    /// `public` or `private`.
    #[salvo(schema(value_type = VisibilityWord))]
    visibility: &'static str,
    /// The creation time of the topic.
    created_at: String,
}

/// The subscriptions of a contact to every topic, after a change.
#[derive(Serialize, ToSchema)]
pub(crate) struct ContactTopicsResponse {
    /// Always `contact_topics`.
    object: &'static str,
    /// The id of the contact.
    id: String,
    /// The id of the contact, the same as `id`.
    contact_id: String,
    /// The topics, newest first.
    topics: ResponseTopics,
}

/// A contact that was removed.
#[derive(Serialize, ToSchema)]
pub(crate) struct DeletedContact {
    /// Always `contact`.
    object: &'static str,
    /// The id of the contact.
    contact: String,
    /// The id of the contact, the same as `contact`.
    id: String,
    /// Always true.
    deleted: bool,
}

/// A segment that contains a contact.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "ContactSegmentRow"))]
pub(crate) struct ListedContactSegment {
    /// The id of the segment.
    id: String,
    /// The name.
    name: String,
    /// The creation time.
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
    /// The id of the segment, under its deprecated name.
    #[serde(rename = "audienceId")]
    audience_id: String,
    /// True if the contact left the segment.
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted: Option<bool>,
}

/// The outcome of a batch.
#[derive(Serialize, ToSchema)]
pub(crate) struct BatchResponse {
    /// The items that did not fail, in the order of the request.
    data: Vec<BatchItemResponse>,
    /// Numbers of items by outcome. Their sum is the number of items in the request.
    counts: BatchCounts,
    /// The items that failed. Always empty without `x-batch-validation: permissive`.
    errors: Vec<ContactBatchItemError>,
}

words_schema!(ItemStatusWord = ["created", "updated", "skipped"]);

/// An item of a batch that did not fail.
#[derive(Serialize, ToSchema)]
pub(crate) struct BatchItemResponse {
    /// Always `contact`.
    object: &'static str,
    /// The index in the request, from 0.
    index: usize,
    /// The id of the contact.
    id: String,
    /// `created`, `updated` or `skipped`.
    #[salvo(schema(value_type = ItemStatusWord))]
    status: &'static str,
}

/// Numbers of the items of a batch by outcome.
#[derive(Default, Serialize, ToSchema)]
pub(crate) struct BatchCounts {
    /// Contacts created.
    created: usize,
    /// Items merged into a contact.
    updated: usize,
    /// Items skipped.
    skipped: usize,
    /// Items that failed.
    failed: usize,
}

/// An item of a batch that failed.
#[derive(Serialize, ToSchema)]
pub(crate) struct ContactBatchItemError {
    /// The index in the request, from 0.
    index: usize,
    /// The error.
    message: String,
}

/// The contacts of a batch read.
#[derive(Serialize, ToSchema)]
pub(crate) struct BatchGetResponse {
    /// Always `list`.
    object: &'static str,
    /// The contacts found, in the order of the request.
    data: Vec<ContactResponse>,
    /// The ids and addresses that match no contact.
    missing: Vec<MissingContact>,
}

/// An id or address that matches no contact.
#[derive(Serialize, ToSchema)]
pub(crate) struct MissingContact {
    /// The index in the request, from 0.
    index: usize,
    /// The id in the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// The address in the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<String>,
}

/// The contacts of a batch removal.
#[derive(Serialize, ToSchema)]
pub(crate) struct BatchRemoveResponse {
    /// The contacts that existed.
    data: Vec<RemovedContactResponse>,
}

/// A contact that was removed by a batch.
#[derive(Serialize, ToSchema)]
pub(crate) struct RemovedContactResponse {
    /// Always `contact`.
    object: &'static str,
    /// The id of the contact.
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
            email: email.to_string(),
            first_name,
            last_name,
            created_at: to_iso(created_ms),
            unsubscribed,
            properties: properties.map(ResponseProperties),
            topics: topics.map(ResponseTopics),
        }
    }
}

impl From<&TopicSubscription> for TopicSubscriptionResponse {
    fn from(row: &TopicSubscription) -> Self {
        let TopicSubscription { topic, subscription, explicit } = row;
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
            topics: ResponseTopics(topics),
        }
    }
}

impl DeletedContact {
    /// Sets `contact` to the id, because SDKs that read this field expect an id.
    pub(super) fn of(id: ContactId) -> Self {
        Self { object: "contact", contact: id.to_string(), id: id.to_string(), deleted: true }
    }
}

impl From<Segment> for ListedContactSegment {
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
    /// Combines the outcome of the batch with the errors of the items that the request parser rejected.
    pub(super) fn of(outcome: BatchOutcome, mut errors: Vec<ContactBatchItemError>) -> Self {
        let BatchOutcome { items, failed } = outcome;
        errors.extend(
            failed.into_iter().map(|(index, error)| ContactBatchItemError { index, message: error.to_string() }),
        );
        errors.sort_unstable_by_key(|error| error.index);
        let mut counts = BatchCounts { failed: errors.len(), ..BatchCounts::default() };
        let response = |item: BatchItem| {
            let (status, count) = match item.status {
                ItemStatus::Created => ("created", &mut counts.created),
                ItemStatus::Updated => ("updated", &mut counts.updated),
                ItemStatus::Skipped => ("skipped", &mut counts.skipped),
            };
            *count += 1;
            let id = item.id.expect("an item that was written has a contact").to_string();
            BatchItemResponse { object: "contact", index: item.index, id, status }
        };
        Self { data: items.into_iter().map(response).collect(), counts, errors }
    }
}

impl ContactBatchItemError {
    pub(super) fn new(index: usize, message: String) -> Self {
        Self { index, message }
    }
}

impl BatchGetResponse {
    /// Combines the contacts found, with their indexes in `references`, with the missing references.
    pub(super) fn of(found: Vec<(usize, ContactView)>, references: Vec<ContactReference>) -> Self {
        let mut is_found = vec![false; references.len()];
        let mut data = Vec::with_capacity(found.len());
        for (index, contact) in found {
            is_found[index] = true;
            data.push(contact.into());
        }
        let missing = references.into_iter().enumerate().filter(|(index, _)| !is_found[*index]);
        let missing = missing.map(|(index, ContactReference { id, email })| MissingContact { index, id, email });
        Self { object: "list", data, missing: missing.collect() }
    }
}

impl BatchRemoveResponse {
    pub(super) fn of(removed: Vec<ContactId>) -> Self {
        let response =
            |id: ContactId| RemovedContactResponse { object: "contact", contact: id.to_string(), deleted: true };
        Self { data: removed.into_iter().map(response).collect() }
    }
}
