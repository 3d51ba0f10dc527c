//! The endpoints under `/audiences`, the older name of segments.
//!
//! A contact belongs to the team. A contact endpoint below an audience reads or changes the contact of the
//! team and requires that the audience exists. A contact that is added becomes a member of the audience.

use salvo::Writer;
use salvo::oapi::endpoint;
use salvo::writing::Json;

use super::request::CreateSegmentRequest;
use super::response::{DeletedSegment, RemovedMemberResponse, SegmentResponse, SegmentWithCountResponse, Word};
use super::{list_contacts_of, not_found};
use crate::api_keys::Caller;
use crate::base::compat::Compat;
use crate::base::id::{SegmentId, TeamId, resource};
use crate::contacts::api::{ContactResponse, CreateContactRequest, UpdateContactRequest};
use crate::contacts::{ContactName, Contacts, IncludedFields, WriteError};
use crate::erasure::{AddressErasure, Erasures};
use crate::events::ChangeSource;
use crate::http::{
    ApiError, ApiResult, Body, Created, List, ListQuery, Parameters, PathId, PathIdOrEmail, ResourceNotFound, State,
};
use crate::segments::error::{CreateSegmentError, DeleteSegmentError, SegmentPageError};
use crate::segments::service::Segments;

/// Creates a segment under its older name.
#[endpoint(tags("Audiences"), responses(CreateSegmentError))]
pub async fn create_audience(
    segments: State<Segments>,
    caller: Caller,
    audience: Body<CreateSegmentRequest>,
) -> ApiResult<Created<SegmentResponse>> {
    let new = audience.into_inner().parse()?;
    let segment = segments.create(caller.team, new).await?;
    Ok(Created(SegmentResponse::of(Word::Audience, segment)))
}

/// Lists segments under their older name.
#[endpoint(tags("Audiences"))]
pub async fn list_audiences(
    segments: State<Segments>,
    caller: Caller,
    query: ListQuery<resource::Segment>,
) -> ApiResult<Json<List<SegmentResponse>>> {
    let page = segments.list(caller.team, query.0).await?;
    Ok(Json(List::of(page, |segment| SegmentResponse::of(Word::Audience, segment))))
}

/// Shows a segment and the number of its contacts, under its older name.
#[endpoint(tags("Audiences"), responses(ResourceNotFound))]
pub async fn get_audience(
    segments: State<Segments>,
    caller: Caller,
    id: PathId<resource::Segment>,
) -> ApiResult<Json<SegmentWithCountResponse>> {
    let segment = segments.find(caller.team, id.0).await?.ok_or_else(not_found)?;
    let count = segments.count_contacts(caller.team, &segment).await?;
    Ok(Json(SegmentWithCountResponse::of(Word::Audience, segment, count)))
}

/// Deletes a segment under its older name. Its contacts remain.
#[endpoint(tags("Audiences"), responses(DeleteSegmentError))]
pub async fn delete_audience(
    segments: State<Segments>,
    caller: Caller,
    id: PathId<resource::Segment>,
) -> ApiResult<Json<DeletedSegment>> {
    segments.delete(caller.team, id.0).await?;
    Ok(Json(DeletedSegment::of(Word::Audience, id.0)))
}

/// Adds a contact and makes it a member of the segment.
///
/// If a contact has the address already, the request changes that contact. Absent fields do not change,
/// and an opt-out of everything remains.
#[endpoint(tags("Audiences"), responses(WriteError))]
pub async fn create_audience_contact(
    contacts: State<Contacts>,
    compat: State<Compat>,
    caller: Caller,
    id: PathId<resource::Segment>,
    contact: Body<CreateContactRequest>,
) -> ApiResult<Created<ContactResponse>> {
    let mut new = contact.into_inner().parse(**compat)?;
    new.changes.join(id.0);
    let contact = contacts.create(caller.team, new, ChangeSource::of(&caller)).await?;
    Ok(Created(contact.into()))
}

/// Lists the contacts that a segment contains, newest first.
#[endpoint(tags("Audiences"), responses(SegmentPageError))]
pub async fn list_audience_contacts(
    segments: State<Segments>,
    contacts: State<Contacts>,
    caller: Caller,
    id: PathId<resource::Segment>,
    query: ListQuery<resource::Contact>,
    include: Parameters<IncludedFields>,
) -> ApiResult<Json<List<ContactResponse>>> {
    list_contacts_of(&segments, &contacts, caller.team, id.0, query.0, include.0).await
}

/// Shows a contact of the team, by its id or its address.
#[endpoint(tags("Audiences"), responses(ResourceNotFound))]
pub async fn get_audience_contact(
    segments: State<Segments>,
    contacts: State<Contacts>,
    caller: Caller,
    id: PathId<resource::Segment>,
    contact_id: PathIdOrEmail<resource::Contact>,
) -> ApiResult<Json<ContactResponse>> {
    require(&segments, caller.team, id.0).await?;
    let contact = contacts.find(caller.team, contact_id.0, IncludedFields::PROPERTIES).await?;
    contact.map(|contact| Json(contact.into())).ok_or_else(|| ApiError::not_found("Contact"))
}

/// Changes a contact of the team.
#[endpoint(tags("Audiences"), responses(WriteError))]
pub async fn update_audience_contact(
    segments: State<Segments>,
    contacts: State<Contacts>,
    caller: Caller,
    id: PathId<resource::Segment>,
    contact_id: PathIdOrEmail<resource::Contact>,
    changes: Body<UpdateContactRequest>,
) -> ApiResult<Json<ContactResponse>> {
    let echoed_id = changes.echoed_contact();
    let (repeated, changes) = changes.into_inner().parse(echoed_id)?;
    require(&segments, caller.team, id.0).await?;
    let contact = contacts.update(caller.team, contact_id.0, repeated, changes, ChangeSource::of(&caller)).await?;
    Ok(Json(contact.into()))
}

/// Deletes a contact of the team, not only its membership.
///
/// The response is the same if the contact or the audience does not exist. Then nothing is deleted. An unknown audience
/// with `erase=true` is 404.
#[endpoint(tags("Audiences"), responses(ResourceNotFound))]
pub async fn delete_audience_contact(
    segments: State<Segments>,
    erasures: State<Erasures>,
    caller: Caller,
    id: PathId<resource::Segment>,
    contact_id: PathIdOrEmail<resource::Contact>,
    erase: Parameters<AddressErasure>,
) -> ApiResult<Json<RemovedMemberResponse>> {
    let given = match &contact_id.0 {
        ContactName::Id(id) => id.to_string(),
        ContactName::Email(email) => email.to_string(),
    };
    let removed = match segments.find(caller.team, id.0).await? {
        Some(_) => erasures.remove_contact(caller, contact_id.0, erase.0, ChangeSource::of(&caller)).await?,
        None if erase.0 == AddressErasure::Yes => return Err(not_found()),
        None => None,
    };
    Ok(Json(RemovedMemberResponse::of(removed.map_or(given, |id| id.to_string()))))
}

/// Returns 404 if the team has no such segment.
async fn require(segments: &Segments, team: TeamId, id: SegmentId) -> ApiResult<()> {
    segments.find(team, id).await?.map(|_| ()).ok_or_else(not_found)
}
