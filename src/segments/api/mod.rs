//! The endpoints under `/segments`, and under `/audiences`, the older name of segments.
//!
//! Reading order: `request.rs`, `filter.rs` and `condition.rs` (requests), `response.rs` (responses), `audiences.rs`
//! (the older paths).

pub mod audiences;

mod condition;
mod filter;
mod request;
mod response;

use salvo::Writer;
use salvo::oapi::endpoint;
use salvo::writing::Json;

use self::request::{CreateSegmentRequest, UpdateSegmentRequest};
use self::response::{DeletedSegment, SegmentResponse, SegmentWithCountResponse, Word};
use super::error::{CreateSegmentError, DeleteSegmentError, SegmentPageError, SegmentScanError, UpdateSegmentError};
use super::model::SEGMENTS_MAX;
use super::service::Segments;
use crate::api_keys::Caller;
use crate::base::id::{ContactId, SegmentId, TeamId, resource};
use crate::contacts::api::ContactResponse;
use crate::contacts::{Contacts, IncludedFields};
use crate::http::{
    ApiError, ApiResult, Body, Created, ErrorCode, List, ListQuery, Parameters, PathId, ResourceNotFound, State,
    api_error,
};
use crate::store::page::{PageError, PageQuery};

/// Creates a segment.
///
/// A segment contains the contacts that match its filter, and its members. A contact can become a member
/// of any segment.
#[endpoint(tags("Segments"), responses(CreateSegmentError))]
pub async fn create_segment(
    segments: State<Segments>,
    caller: Caller,
    segment: Body<CreateSegmentRequest>,
) -> ApiResult<Created<SegmentResponse>> {
    let new = segment.into_inner().parse()?;
    let segment = segments.create(caller.team, new).await?;
    Ok(Created(SegmentResponse::of(Word::Segment, segment)))
}

/// Lists segments, newest first.
#[endpoint(tags("Segments"))]
pub async fn list_segments(
    segments: State<Segments>,
    caller: Caller,
    query: ListQuery<resource::Segment>,
) -> ApiResult<Json<List<SegmentResponse>>> {
    let page = segments.list(caller.team, query.0).await?;
    Ok(Json(List::of(page, |segment| SegmentResponse::of(Word::Segment, segment))))
}

/// Shows a segment and the number of its contacts.
#[endpoint(tags("Segments"), responses(ResourceNotFound))]
pub async fn get_segment(
    segments: State<Segments>,
    caller: Caller,
    id: PathId<resource::Segment>,
) -> ApiResult<Json<SegmentWithCountResponse>> {
    let segment = segments.find(caller.team, id.0).await?.ok_or_else(not_found)?;
    let count = segments.count_contacts(caller.team, &segment).await?;
    Ok(Json(SegmentWithCountResponse::of(Word::Segment, segment, count)))
}

/// Lists the contacts that a segment contains, newest first.
#[endpoint(tags("Segments"), responses(SegmentPageError))]
pub async fn list_segment_contacts(
    segments: State<Segments>,
    contacts: State<Contacts>,
    caller: Caller,
    id: PathId<resource::Segment>,
    query: ListQuery<resource::Contact>,
    include: Parameters<IncludedFields>,
) -> ApiResult<Json<List<ContactResponse>>> {
    list_contacts_of(&segments, &contacts, caller.team, id.0, query.0, include.0).await
}

/// Changes the name or the filter of a segment.
#[endpoint(tags("Segments"), responses(UpdateSegmentError))]
pub async fn update_segment(
    segments: State<Segments>,
    caller: Caller,
    id: PathId<resource::Segment>,
    changes: Body<UpdateSegmentRequest>,
) -> ApiResult<Json<SegmentResponse>> {
    let changes = changes.into_inner().parse()?;
    let segment = segments.update(caller.team, id.0, changes).await?;
    Ok(Json(SegmentResponse::of(Word::Segment, segment)))
}

/// Deletes a segment. Its contacts remain.
///
/// The response is the same if no segment has the id.
#[endpoint(tags("Segments"), responses(DeleteSegmentError))]
pub async fn delete_segment(
    segments: State<Segments>,
    caller: Caller,
    id: PathId<resource::Segment>,
) -> ApiResult<Json<DeletedSegment>> {
    segments.delete(caller.team, id.0).await?;
    Ok(Json(DeletedSegment::of(Word::Segment, id.0)))
}

async fn list_contacts_of(
    segments: &Segments,
    contacts: &Contacts,
    team: TeamId,
    id: SegmentId,
    query: PageQuery<ContactId>,
    fields: IncludedFields,
) -> ApiResult<Json<List<ContactResponse>>> {
    let page = segments.contacts(team, id, query).await?;
    let page = contacts.show(team, page, fields).await?;
    Ok(Json(List::of(page, ContactResponse::from)))
}

fn not_found() -> ApiError {
    ApiError::not_found("Segment")
}

api_error!(CreateSegmentError: Validation {
    CreateSegmentError::TooMany => {
        ApiError::validation(format!("A team has at most {SEGMENTS_MAX} segments. Delete one that is not used."))
    },
});

api_error!(UpdateSegmentError: NotFound {
    UpdateSegmentError::NotFound => not_found(),
});

api_error!(DeleteSegmentError: Conflict {
    DeleteSegmentError::InUse => ApiError::new(
        ErrorCode::Conflict,
        "A broadcast uses this segment. Delete the broadcast first, or take the segment out of it.",
    ),
});

api_error!(SegmentPageError: NotFound, Validation {
    SegmentPageError::NotFound => not_found(),
    SegmentPageError::UnknownCursor => PageError::UnknownCursor.into(),
    SegmentPageError::Busy => SegmentScanError::Busy.into(),
});

api_error!(SegmentScanError {
    SegmentScanError::Busy => {
        ApiError::unavailable("The server is busy counting contacts, and could not begin this count. Try again.")
    },
});
