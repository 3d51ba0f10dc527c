//! Endpoints for the topics and segments of a contact.

use salvo::Writer;
use salvo::oapi::endpoint;
use salvo::writing::Json;

use super::not_found;
use super::references::TopicChoices;
use super::request::parse_choices;
use super::response::{ContactSegmentResponse, ContactTopicsResponse, ListedContactSegment, TopicSubscriptionResponse};
use crate::api_keys::Caller;
use crate::base::compat::Compat;
use crate::base::id::resource;
use crate::contacts::{Contacts, WriteError};
use crate::events::ChangeSource;
use crate::http::{
    ApiError, ApiResult, Body, ErrorCode, List, ListQuery, PathId, PathIdOrEmail, ResourceNotFound, State,
};

/// Lists the subscriptions of a contact to every topic of the team.
#[endpoint(tags("Contacts"), responses(ResourceNotFound))]
pub async fn list_contact_topics(
    contacts: State<Contacts>,
    caller: Caller,
    id: PathIdOrEmail<resource::Contact>,
    query: ListQuery<resource::Topic>,
) -> ApiResult<Json<List<TopicSubscriptionResponse>>> {
    let page = contacts.topics(caller.team, id.0, query.0).await?.ok_or_else(not_found)?;
    Ok(Json(List::of(page, |subscription| TopicSubscriptionResponse::from(&subscription))))
}

/// Sets topic choices of a contact.
#[endpoint(tags("Contacts"), responses(WriteError))]
pub async fn update_contact_topics(
    contacts: State<Contacts>,
    compat: State<Compat>,
    caller: Caller,
    id: PathIdOrEmail<resource::Contact>,
    choices: Body<TopicChoices>,
) -> ApiResult<Json<ContactTopicsResponse>> {
    let choices = parse_choices("", choices.into_inner().into_choices(**compat)?)?;
    let (contact, topics) = contacts.choose(caller.team, id.0, choices, ChangeSource::of(&caller)).await?;
    Ok(Json(ContactTopicsResponse::of(contact, topics)))
}

/// Lists the segments that contain a contact.
#[endpoint(tags("Contacts"), responses(ResourceNotFound))]
pub async fn list_contact_segments(
    contacts: State<Contacts>,
    caller: Caller,
    id: PathIdOrEmail<resource::Contact>,
    query: ListQuery<resource::Segment>,
) -> ApiResult<Json<List<ListedContactSegment>>> {
    let page = contacts.segments(caller.team, id.0, query.0).await?.ok_or_else(not_found)?;
    Ok(Json(List::of(page, ListedContactSegment::from)))
}

/// Makes a contact a member of a segment.
#[endpoint(tags("Contacts"), responses(WriteError))]
pub async fn join_segment(
    contacts: State<Contacts>,
    caller: Caller,
    id: PathIdOrEmail<resource::Contact>,
    segment_id: PathId<resource::Segment>,
) -> ApiResult<Json<ContactSegmentResponse>> {
    let contact = contacts.join(caller.team, id.0, segment_id.0, ChangeSource::of(&caller)).await?;
    Ok(Json(ContactSegmentResponse::joined(contact, segment_id.0)))
}

/// Removes a contact from the members of a segment.
///
/// If the filter of the segment matches the contact, it stays in the segment.
#[endpoint(tags("Contacts"), responses(WriteError))]
pub async fn leave_segment(
    contacts: State<Contacts>,
    caller: Caller,
    id: PathIdOrEmail<resource::Contact>,
    segment_id: PathId<resource::Segment>,
) -> ApiResult<Json<ContactSegmentResponse>> {
    let left = contacts.leave(caller.team, id.0, segment_id.0, ChangeSource::of(&caller)).await?;
    let contact = left.ok_or_else(|| {
        ApiError::new(
            ErrorCode::NotFound,
            "The contact was not added to this segment by hand. A contact that the filter matches leaves the segment \
             when the filter or the contact changes.",
        )
    })?;
    Ok(Json(ContactSegmentResponse::left(contact, segment_id.0)))
}
