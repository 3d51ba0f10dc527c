//! The endpoints under `/contacts`.
//!
//! Files in reading order:
//! - `request.rs`: request bodies and their validation.
//! - `references.rs`: the forms of a segment and of topic choices in requests.
//! - `properties.rs`: property values in requests and responses.
//! - `query.rs`: query parameters.
//! - `response.rs`: response bodies.
//! - `batch.rs`: endpoints for many contacts.
//! - `memberships.rs`: endpoints for the topics and segments of a contact.

mod batch;
mod memberships;
mod properties;
mod query;
mod references;
mod request;
mod response;

use salvo::Writer;
use salvo::oapi::endpoint;
use salvo::writing::Json;

pub(crate) use self::batch::{batch_get_contacts, batch_remove_contacts, create_contacts};
pub(crate) use self::memberships::{
    join_segment, leave_segment, list_contact_segments, list_contact_topics, update_contact_topics,
};
use self::query::InSegment;
pub(crate) use self::request::{CreateContactRequest, UpdateContactRequest};
pub(crate) use self::response::{ContactResponse, DeletedContact};
use super::{Contacts, IncludedFields, ItemError, RESPONSE_BYTES_MAX, ShowError, WriteError};
use crate::api_keys::Caller;
use crate::base::compat::Compat;
use crate::base::id::resource;
use crate::erasure::{AddressErasure, Erasures};
use crate::events::ChangeSource;
use crate::http::tolerance::differs_from_contact;
use crate::http::{
    ApiError, ApiResult, Body, Created, ErrorCode, List, ListQuery, Parameters, PathIdOrEmail, ResourceNotFound, State,
    api_error,
};
use crate::segments::{SegmentPageError, Segments};
use crate::store::page::PageError;

/// Creates a contact.
///
/// If a contact has the address already, it is changed instead. Absent fields and an opt-out of all
/// marketing email stay unchanged.
#[endpoint(tags("Contacts"), responses(WriteError))]
pub async fn create_contact(
    contacts: State<Contacts>,
    compat: State<Compat>,
    caller: Caller,
    contact: Body<CreateContactRequest>,
) -> ApiResult<Created<ContactResponse>> {
    let new = contact.into_inner().parse(**compat)?;
    let contact = contacts.create(caller.team, new, ChangeSource::of(&caller)).await?;
    Ok(Created(contact.into()))
}

/// Lists contacts, newest first.
#[endpoint(tags("Contacts"), responses(SegmentPageError))]
pub async fn list_contacts(
    contacts: State<Contacts>,
    segments: State<Segments>,
    caller: Caller,
    query: ListQuery<resource::Contact>,
    segment: Parameters<InSegment>,
    include: Parameters<IncludedFields>,
) -> ApiResult<Json<List<ContactResponse>>> {
    let InSegment(segment) = segment.0;
    let page = match segment {
        None => contacts.list(caller.team, query.0, include.0).await?,
        Some(segment) => {
            let page = segments.contacts(caller.team, segment, query.0).await?;
            contacts.show(caller.team, page, include.0).await?
        }
    };
    Ok(Json(List::of(page, ContactResponse::from)))
}

/// Retrieves a contact by its id or address, always with its properties.
#[endpoint(tags("Contacts"), responses(ResourceNotFound))]
pub async fn get_contact(
    contacts: State<Contacts>,
    caller: Caller,
    id: PathIdOrEmail<resource::Contact>,
    include: Parameters<IncludedFields>,
) -> ApiResult<Json<ContactResponse>> {
    let included = IncludedFields { properties: true, ..include.0 };
    let contact = contacts.find(caller.team, id.0, included).await?;
    contact.map(|contact| Json(contact.into())).ok_or_else(not_found)
}

/// Changes a contact.
#[endpoint(tags("Contacts"), responses(WriteError))]
pub async fn update_contact(
    contacts: State<Contacts>,
    caller: Caller,
    id: PathIdOrEmail<resource::Contact>,
    changes: Body<UpdateContactRequest>,
) -> ApiResult<Json<ContactResponse>> {
    let echoed_id = changes.echoed_contact();
    let (repeated, changes) = changes.into_inner().parse(echoed_id)?;
    let contact = contacts.update(caller.team, id.0, repeated, changes, ChangeSource::of(&caller)).await?;
    Ok(Json(contact.into()))
}

/// Removes a contact.
///
/// With `erase=true`, its address is also erased from emails, events and logs, in the background. The
/// batch removal can also erase an address that has no contact.
#[endpoint(tags("Contacts"), responses(ResourceNotFound))]
pub async fn delete_contact(
    erasures: State<Erasures>,
    caller: Caller,
    id: PathIdOrEmail<resource::Contact>,
    erase: Parameters<AddressErasure>,
) -> ApiResult<Json<DeletedContact>> {
    let removed = erasures.remove_contact(caller, id.0, erase.0, ChangeSource::of(&caller)).await?;
    removed.map(|id| Json(DeletedContact::of(id))).ok_or_else(not_found)
}

/// Returns the 404 response for an unknown contact.
pub(crate) fn not_found() -> ApiError {
    ApiError::not_found("Contact")
}

api_error!(WriteError: NotFound, Validation {
    WriteError::NotFound => not_found(),
    WriteError::OtherEmail => ApiError::validation(
        "Invalid `email` field: the address of a contact does not change. Leave it out, or add another contact.",
    ),
    WriteError::OtherId => differs_from_contact("id"),
    WriteError::Rejected(error) => error.into(),
});

api_error!(ShowError {
    ShowError::TooLarge => ApiError::validation(format!(
        "The answer would have more than {} MiB. Ask for fewer contacts at once, or include less of them.",
        RESPONSE_BYTES_MAX >> 20
    )),
    ShowError::UnknownCursor => PageError::UnknownCursor.into(),
});

impl From<ItemError> for ApiError {
    fn from(error: ItemError) -> Self {
        match error {
            ItemError::SegmentNotFound(_) | ItemError::TopicNotFound(_) => {
                Self::new(ErrorCode::NotFound, error.to_string())
            }
            ItemError::Exists => Self::new(ErrorCode::Conflict, error.to_string()),
            ItemError::Repeats(_)
            | ItemError::NotANumber(_)
            | ItemError::TooManyProperties
            | ItemError::PropertiesTooLong => Self::validation(error.to_string()),
        }
    }
}
