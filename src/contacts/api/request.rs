//! Request bodies of contacts and their validation.

use salvo::oapi::{Components, RefOr, Schema, ToSchema};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::properties::RequestProperties;
use super::query::IncludeWord;
use super::references::SegmentReference;
use crate::base::address::EmailAddress;
use crate::base::compat::Compat;
use crate::base::id::{ContactId, Id, TopicId};
use crate::base::patch::Patch;
use crate::contacts::model::{NAME_CHARS_MAX, is_name};
use crate::contacts::{ContactChanges, ContactName, NewContact, RepeatedIdentity};
use crate::http::schema::{self, AddressText, LineText, NonEmptyList, UuidText};
use crate::http::{ApiError, ApiResult, AtMost, JsonBody};
use crate::topics::Subscription;
use crate::topics::api::SubscriptionWord;

/// Maximum number of segments, and of topics, in one request.
pub(super) const REFERENCES_MAX: usize = 500;
/// Maximum number of ids, and of addresses, in a batch read or a batch removal.
const NAMES_MAX: usize = 1_000;
/// Maximum number of names in `include`, with repeats.
const INCLUDE_MAX: usize = 10;

/// A contact to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateContactRequest {
    /// The bare address, without a display name.
    #[salvo(schema(required = true, value_type = AddressText))]
    email: Option<String>,
    /// The first name.
    #[salvo(schema(value_type = Option<LineText<NAME_CHARS_MAX>>))]
    first_name: Option<String>,
    /// The last name.
    #[salvo(schema(value_type = Option<LineText<NAME_CHARS_MAX>>))]
    last_name: Option<String>,
    /// Whether the contact opts out of all marketing email.
    unsubscribed: Option<bool>,
    /// Values by key.
    properties: Option<RequestProperties>,
    /// Segments that the contact becomes a member of.
    segments: Option<AtMost<REFERENCES_MAX, SegmentReference>>,
    /// Topic choices of the contact.
    topics: Option<AtMost<REFERENCES_MAX, TopicChoice>>,
    /// One more segment that the contact becomes a member of, by the deprecated name.
    #[salvo(schema(value_type = Option<UuidText>))]
    audience_id: Option<String>,
    /// One more segment that the contact becomes a member of.
    #[salvo(schema(value_type = Option<UuidText>))]
    segment_id: Option<String>,
}

impl JsonBody for CreateContactRequest {}

/// A topic choice.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TopicChoice {
    /// The id of the topic.
    #[salvo(schema(required = true, value_type = UuidText))]
    id: Option<String>,
    /// `opt_in` or `opt_out`.
    #[salvo(schema(required = true, value_type = SubscriptionWord))]
    subscription: Option<String>,
}

/// Changes to a contact.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateContactRequest {
    /// The address of the contact, which cannot change.
    #[salvo(schema(value_type = Option<AddressText>))]
    email: Option<String>,
    /// The first name; null removes it.
    #[serde(default)]
    #[salvo(schema(value_type = Option<LineText<NAME_CHARS_MAX>>))]
    first_name: Patch<String>,
    /// The last name; null removes it.
    #[serde(default)]
    #[salvo(schema(value_type = Option<LineText<NAME_CHARS_MAX>>))]
    last_name: Patch<String>,
    /// True opts the contact out of all marketing email; false subscribes it again.
    unsubscribed: Option<bool>,
    /// Values by key, merged with the stored values; null removes a value.
    properties: Option<RequestProperties>,
    /// A segment that the contact becomes a member of, by the deprecated name.
    #[salvo(schema(value_type = Option<UuidText>))]
    audience_id: Option<String>,
    /// A segment that the contact becomes a member of.
    #[salvo(schema(value_type = Option<UuidText>))]
    segment_id: Option<String>,
}

impl JsonBody for UpdateContactRequest {}

/// A contact, given by its id or address.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ContactReference {
    /// The id.
    #[salvo(schema(value_type = Option<UuidText>))]
    pub(super) id: Option<String>,
    /// The address.
    #[salvo(schema(value_type = Option<AddressText>))]
    pub(super) email: Option<String>,
}

/// [`ContactReference`] with its rule.
struct ContactReferenceSchema;

impl ToSchema for ContactReferenceSchema {
    fn to_schema(components: &mut Components) -> RefOr<Schema> {
        schema::with_rules::<ContactReference>(components, &schema::one_of_fields(&["id", "email"]))
    }
}

/// Contacts to read.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BatchGetRequest {
    /// 1 to 1,000 contacts, each given by its id or address.
    #[salvo(schema(required = true, value_type = NonEmptyList<NAMES_MAX, ContactReferenceSchema>))]
    contacts: Option<AtMost<NAMES_MAX, ContactReference>>,
    /// `properties`, `topics` or both.
    #[salvo(schema(value_type = Option<AtMost<INCLUDE_MAX, IncludeWord>>))]
    include: Option<AtMost<INCLUDE_MAX, String>>,
}

impl JsonBody for BatchGetRequest {}

/// Contacts to remove, given by ids, by addresses, or by both.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BatchRemoveRequest {
    /// 1 to 1,000 ids.
    #[salvo(schema(value_type = Option<NonEmptyList<NAMES_MAX, UuidText>>))]
    ids: Option<AtMost<NAMES_MAX, String>>,
    /// 1 to 1,000 addresses.
    #[salvo(schema(value_type = Option<NonEmptyList<NAMES_MAX, AddressText>>))]
    emails: Option<AtMost<NAMES_MAX, String>>,
    /// Whether the addresses are also erased from emails, events and logs.
    erase: Option<bool>,
}

impl JsonBody for BatchRemoveRequest {
    fn rules() -> Map<String, Value> {
        schema::any_of_fields(&["ids", "emails"])
    }
}

impl CreateContactRequest {
    /// Validates the fields.
    pub(crate) fn parse(self, compat: Compat) -> ApiResult<NewContact> {
        let Self { email, first_name, last_name, unsubscribed, properties, segments, topics, audience_id, segment_id } =
            self;
        let email = parse_email("email", &email.ok_or_else(|| ApiError::missing_field("email"))?)?;
        let set = |name: Option<String>| name.map_or(Patch::Keep, Patch::Set);
        let mut changes = ContactChanges {
            first_name: parse_name("first_name", set(first_name))?,
            last_name: parse_name("last_name", set(last_name))?,
            unsubscribed,
            properties: properties.map(RequestProperties::parse).transpose()?.unwrap_or_default(),
            ..ContactChanges::default()
        };
        for (index, segment) in items(segments).into_iter().enumerate() {
            let id = segment.into_id(index, compat)?;
            changes.join(parse_id(&format!("segments.{index}.id"), id.as_ref())?);
        }
        join_segments(&mut changes, audience_id, segment_id)?;
        for (topic, subscription) in parse_choices("topics.", items(topics))? {
            changes.choose(topic, subscription);
        }
        Ok(NewContact { email, changes })
    }
}

impl UpdateContactRequest {
    /// Validates the fields. Returns the id and the address that the request repeats, and the changes. `echoed_id` is the
    /// id in the skipped field of the body.
    pub(crate) fn parse(self, echoed_id: Option<ContactId>) -> ApiResult<(RepeatedIdentity, ContactChanges)> {
        let Self { email, first_name, last_name, unsubscribed, properties, audience_id, segment_id } = self;
        let email = email.map(|email| parse_email("email", &email)).transpose()?;
        let mut changes = ContactChanges {
            first_name: parse_name("first_name", first_name)?,
            last_name: parse_name("last_name", last_name)?,
            unsubscribed,
            properties: properties.map(RequestProperties::parse).transpose()?.unwrap_or_default(),
            ..ContactChanges::default()
        };
        join_segments(&mut changes, audience_id, segment_id)?;
        Ok((RepeatedIdentity { id: echoed_id, email }, changes))
    }
}

/// Adds the segments of the fields `audience_id` and `segment_id`. Some SDKs send an empty text for an absent one.
fn join_segments(
    changes: &mut ContactChanges,
    audience_id: Option<String>,
    segment_id: Option<String>,
) -> ApiResult<()> {
    for (field, id) in [("audience_id", audience_id), ("segment_id", segment_id)] {
        if let Some(id) = id.filter(|id| !id.is_empty()) {
            changes.join(parse_id(field, Some(&id))?);
        }
    }
    Ok(())
}

/// A validated [`BatchGetRequest`].
pub(super) struct ParsedBatchGet {
    pub(super) names: Vec<ContactName>,
    /// The references of the request, which `names` was parsed from.
    pub(super) references: Vec<ContactReference>,
    pub(super) include: Vec<String>,
}

impl BatchGetRequest {
    pub(super) fn parse(self) -> ApiResult<ParsedBatchGet> {
        let Self { contacts, include } = self;
        let contacts = non_empty("contacts", contacts.ok_or_else(|| ApiError::missing_field("contacts"))?)?;
        let name = |(index, reference): (usize, &ContactReference)| match (&reference.id, &reference.email) {
            (Some(id), None) => parse_id(&format!("contacts.{index}.id"), Some(id)).map(ContactName::Id),
            (None, Some(email)) => parse_email(&format!("contacts.{index}.email"), email).map(ContactName::Email),
            (Some(_), Some(_)) | (None, None) => {
                Err(ApiError::validation(format!("Invalid `contacts.{index}` field: give either `id` or `email`.")))
            }
        };
        let names = contacts.iter().enumerate().map(name).collect::<ApiResult<_>>()?;
        Ok(ParsedBatchGet { names, references: contacts, include: items(include) })
    }
}

impl BatchRemoveRequest {
    /// Validates the fields. Returns the contacts to remove, and whether their addresses are erased.
    pub(super) fn parse(self) -> ApiResult<(Vec<ContactName>, bool)> {
        let Self { ids, emails, erase } = self;
        if ids.is_none() && emails.is_none() {
            return Err(ApiError::validation("Give `ids`, `emails` or both, each an array of 1 to 1000."));
        }
        let mut names = Vec::new();
        for (index, id) in optional_items("ids", ids)?.into_iter().enumerate() {
            names.push(ContactName::Id(parse_id(&format!("ids.{index}"), Some(&id))?));
        }
        for (index, email) in optional_items("emails", emails)?.into_iter().enumerate() {
            names.push(ContactName::Email(parse_email(&format!("emails.{index}"), &email)?));
        }
        Ok((names, erase.unwrap_or(false)))
    }
}

/// Validates topic choices. Errors put `path` before the index of a choice.
pub(super) fn parse_choices(path: &str, choices: Vec<TopicChoice>) -> ApiResult<Vec<(TopicId, Subscription)>> {
    let choice = |(index, choice): (usize, TopicChoice)| {
        let TopicChoice { id, subscription } = choice;
        let id = parse_id(&format!("{path}{index}.id"), id.as_ref())?;
        let field = format!("{path}{index}.subscription");
        let subscription = match subscription.as_deref() {
            Some("opt_in") => Subscription::OptIn,
            Some("opt_out") => Subscription::OptOut,
            Some(_) => {
                return Err(ApiError::validation(format!("Invalid `{field}` field: use `opt_in` or `opt_out`.")));
            }
            None => return Err(ApiError::missing_field(&field)),
        };
        Ok((id, subscription))
    };
    choices.into_iter().enumerate().map(choice).collect()
}

fn parse_email(field: &str, text: &str) -> ApiResult<EmailAddress> {
    EmailAddress::parse(text).map_err(|error| {
        ApiError::validation(format!(
            "Invalid `{field}` field: {error}. A contact's address is bare, such as `ada@example.com`."
        ))
    })
}

fn parse_id<R>(field: &str, id: Option<&String>) -> ApiResult<Id<R>> {
    let id = id.ok_or_else(|| ApiError::missing_field(field))?;
    Id::parse(id).ok_or_else(|| ApiError::validation(format!("The `{field}` must be a valid UUID.")))
}

fn parse_name(field: &str, name: Patch<String>) -> ApiResult<Patch<String>> {
    let Patch::Set(text) = &name else { return Ok(name) };
    if !is_name(text) {
        return Err(ApiError::validation(format!(
            "Invalid `{field}` field: it may have {NAME_CHARS_MAX} characters and no control characters."
        )));
    }
    Ok(name)
}

/// Returns the items; no items if the field is absent.
fn items<const MAX: usize, T>(items: Option<AtMost<MAX, T>>) -> Vec<T> {
    items.map(|AtMost(items)| items).unwrap_or_default()
}

/// Returns the items of a field that may be absent; no items if it is absent.
fn optional_items<const MAX: usize, T>(field: &str, items: Option<AtMost<MAX, T>>) -> ApiResult<Vec<T>> {
    items.map_or(Ok(Vec::new()), |items| non_empty(field, items))
}

/// Returns the items of a field that must not be empty.
fn non_empty<const MAX: usize, T>(field: &str, AtMost(items): AtMost<MAX, T>) -> ApiResult<Vec<T>> {
    if items.is_empty() {
        let message = format!("Invalid `{field}` field: the array is empty; 1 to {MAX} items are accepted.");
        return Err(ApiError::validation(message));
    }
    Ok(items)
}
