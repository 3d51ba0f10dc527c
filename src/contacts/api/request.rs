//! Contact requests.

use salvo::oapi::ToSchema;
use serde::Deserialize;

use super::properties::GivenProperties;
use crate::base::address::EmailAddress;
use crate::base::id::{Id, TopicId};
use crate::base::patch::Patch;
use crate::contacts::model::{NAME_CHARS_MAX, is_name};
use crate::contacts::{ContactChanges, ContactName, NewContact, Removal};
use crate::http::{ApiError, ApiResult, AtMost, JsonBody};
use crate::topics::Subscription;

/// Segments, and topics, in one request at most.
pub(super) const REFERENCES_MAX: usize = 500;
/// Names in a batch read or a batch removal at most, of each kind.
const NAMES_MAX: usize = 1_000;
/// Facets in one request at most, repeats among them.
const FACETS_MAX: usize = 10;

/// A contact to add.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateContactRequest {
    /// The bare address, without a display name.
    #[salvo(schema(required = true, value_type = String))]
    email: Option<String>,
    /// The first name.
    first_name: Option<String>,
    /// The last name.
    last_name: Option<String>,
    /// Whether the contact opts out of all marketing email.
    unsubscribed: Option<bool>,
    /// Values by key.
    properties: Option<GivenProperties>,
    /// Segments the contact is added to.
    segments: Option<AtMost<REFERENCES_MAX, SegmentReference>>,
    /// What the contact chooses about topics.
    topics: Option<AtMost<REFERENCES_MAX, TopicChoice>>,
}

impl JsonBody for CreateContactRequest {}

/// Names a segment.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SegmentReference {
    /// The id of the segment.
    #[salvo(schema(required = true, value_type = String))]
    id: Option<String>,
}

/// A choice about a topic.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TopicChoice {
    /// The id of the topic.
    #[salvo(schema(required = true, value_type = String))]
    id: Option<String>,
    /// `opt_in` or `opt_out`.
    #[salvo(schema(required = true, value_type = String))]
    subscription: Option<String>,
}

/// What changes about a contact.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateContactRequest {
    /// The contact's own address, which does not change.
    email: Option<String>,
    /// The first name; null removes it.
    #[serde(default)]
    #[salvo(schema(value_type = Option<String>))]
    first_name: Patch<String>,
    /// The last name; null removes it.
    #[serde(default)]
    #[salvo(schema(value_type = Option<String>))]
    last_name: Patch<String>,
    /// True opts the contact out of all marketing email; false subscribes it again.
    unsubscribed: Option<bool>,
    /// Values by key, merged with what is there; null removes a value.
    properties: Option<GivenProperties>,
}

impl JsonBody for UpdateContactRequest {}

/// A name of a contact: its id or its address.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ContactReference {
    /// The id.
    pub(super) id: Option<String>,
    /// The address.
    pub(super) email: Option<String>,
}

/// Contacts to read.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BatchGetRequest {
    /// 1 to 1,000 names, each an id or an address.
    #[salvo(schema(required = true, value_type = AtMost<NAMES_MAX, ContactReference>))]
    contacts: Option<AtMost<NAMES_MAX, ContactReference>>,
    /// `properties`, `topics` or both.
    include: Option<AtMost<FACETS_MAX, String>>,
}

impl JsonBody for BatchGetRequest {}

/// Contacts to remove, by ids or by addresses.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BatchRemoveRequest {
    /// 1 to 1,000 ids.
    ids: Option<AtMost<NAMES_MAX, String>>,
    /// 1 to 1,000 addresses.
    emails: Option<AtMost<NAMES_MAX, String>>,
    /// Whether the addresses are scrubbed from the history, too.
    erase: Option<bool>,
}

impl JsonBody for BatchRemoveRequest {}

impl CreateContactRequest {
    /// Checks the fields.
    pub(crate) fn parse(self) -> ApiResult<NewContact> {
        let Self { email, first_name, last_name, unsubscribed, properties, segments, topics } = self;
        let email = parse_email("email", &email.ok_or_else(|| ApiError::missing_field("email"))?)?;
        let set = |name: Option<String>| name.map_or(Patch::Keep, Patch::Set);
        let mut changes = ContactChanges {
            first_name: parse_name("first_name", set(first_name))?,
            last_name: parse_name("last_name", set(last_name))?,
            unsubscribed,
            properties: properties.map(GivenProperties::parse).transpose()?.unwrap_or_default(),
            ..ContactChanges::default()
        };
        for (index, segment) in listed(segments).into_iter().enumerate() {
            changes.join(parse_id(&format!("segments.{index}.id"), segment.id.as_ref())?);
        }
        for (topic, subscription) in parse_choices("topics.", listed(topics))? {
            changes.choose(topic, subscription);
        }
        Ok(NewContact { email, changes })
    }
}

impl UpdateContactRequest {
    /// Checks the fields; returns the address that the request names, and what changes.
    pub(crate) fn parse(self) -> ApiResult<(Option<EmailAddress>, ContactChanges)> {
        let Self { email, first_name, last_name, unsubscribed, properties } = self;
        let email = email.map(|email| parse_email("email", &email)).transpose()?;
        let changes = ContactChanges {
            first_name: parse_name("first_name", first_name)?,
            last_name: parse_name("last_name", last_name)?,
            unsubscribed,
            properties: properties.map(GivenProperties::parse).transpose()?.unwrap_or_default(),
            ..ContactChanges::default()
        };
        Ok((email, changes))
    }
}

/// Names to look up, and the facets to include.
pub(super) struct Wanted {
    pub(super) names: Vec<ContactName>,
    /// The same as the request gave them.
    pub(super) given: Vec<ContactReference>,
    pub(super) include: Vec<String>,
}

impl BatchGetRequest {
    pub(super) fn parse(self) -> ApiResult<Wanted> {
        let Self { contacts, include } = self;
        let contacts = filled("contacts", contacts.ok_or_else(|| ApiError::missing_field("contacts"))?)?;
        let name = |(index, reference): (usize, &ContactReference)| match (&reference.id, &reference.email) {
            (Some(id), None) => parse_id(&format!("contacts.{index}.id"), Some(id)).map(ContactName::Id),
            (None, Some(email)) => parse_email(&format!("contacts.{index}.email"), email).map(ContactName::Email),
            (Some(_), Some(_)) | (None, None) => {
                Err(ApiError::validation(format!("Invalid `contacts.{index}` field: give either `id` or `email`.")))
            }
        };
        let names = contacts.iter().enumerate().map(name).collect::<ApiResult<_>>()?;
        Ok(Wanted { names, given: contacts, include: listed(include) })
    }
}

impl BatchRemoveRequest {
    /// Checks the fields; returns what goes, and whether it is erased.
    pub(super) fn parse(self) -> ApiResult<(Removal, bool)> {
        let Self { ids, emails, erase } = self;
        let removal = match (ids, emails) {
            (Some(ids), None) => {
                let id = |(index, id): (usize, String)| parse_id(&format!("ids.{index}"), Some(&id));
                Removal::Ids(filled("ids", ids)?.into_iter().enumerate().map(id).collect::<ApiResult<_>>()?)
            }
            (None, Some(emails)) => {
                let email = |(index, email): (usize, String)| parse_email(&format!("emails.{index}"), &email);
                let emails = filled("emails", emails)?.into_iter().enumerate().map(email);
                Removal::Emails(emails.collect::<ApiResult<_>>()?)
            }
            (Some(_), Some(_)) | (None, None) => {
                return Err(ApiError::validation("Give either `ids` or `emails`, an array of 1 to 1000."));
            }
        };
        Ok((removal, erase.unwrap_or(false)))
    }
}

/// Checks choices about topics; `place` stands before their index in errors.
pub(super) fn parse_choices(place: &str, choices: Vec<TopicChoice>) -> ApiResult<Vec<(TopicId, Subscription)>> {
    let choice = |(index, choice): (usize, TopicChoice)| {
        let TopicChoice { id, subscription } = choice;
        let id = parse_id(&format!("{place}{index}.id"), id.as_ref())?;
        let field = format!("{place}{index}.subscription");
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

fn listed<const MAX: usize, T>(items: Option<AtMost<MAX, T>>) -> Vec<T> {
    items.map(|AtMost(items)| items).unwrap_or_default()
}

fn filled<const MAX: usize, T>(field: &str, AtMost(items): AtMost<MAX, T>) -> ApiResult<Vec<T>> {
    if items.is_empty() {
        let message = format!("Invalid `{field}` field: the array is empty; 1 to {MAX} items are accepted.");
        return Err(ApiError::validation(message));
    }
    Ok(items)
}
