//! The endpoints under `/audiences`: what segments were called before, for clients that still say so.

use salvo::Writer;
use salvo::oapi::endpoint;
use salvo::writing::Json;

use super::not_found;
use super::request::CreateSegmentRequest;
use super::response::{DeletedSegment, SegmentResponse, SegmentRowResponse, SegmentWithCountResponse, Word};
use crate::api_keys::Caller;
use crate::http::{ApiResult, Body, Created, List, ListQuery, PathId, State};
use crate::id::resource;
use crate::segments::service::Segments;

/// Creates a segment, under its older name.
#[endpoint(tags("Audiences"))]
pub async fn create_audience(
    segments: State<Segments>,
    caller: Caller,
    audience: Body<CreateSegmentRequest>,
) -> ApiResult<Created<SegmentResponse>> {
    let new = audience.into_inner().parse()?;
    let segment = segments.create(caller.team, new).await?;
    Ok(Created(SegmentResponse::of(Word::Audience, segment)))
}

/// Lists segments, under their older name.
#[endpoint(tags("Audiences"))]
pub async fn list_audiences(
    segments: State<Segments>,
    caller: Caller,
    query: ListQuery<resource::Segment>,
) -> ApiResult<Json<List<SegmentRowResponse>>> {
    let page = segments.list(caller.team, query.0).await?;
    Ok(Json(List::of(page, SegmentRowResponse::from)))
}

/// Shows a segment and how many contacts it holds, under its older name.
#[endpoint(tags("Audiences"))]
pub async fn get_audience(
    segments: State<Segments>,
    caller: Caller,
    id: PathId<resource::Segment>,
) -> ApiResult<Json<SegmentWithCountResponse>> {
    let segment = segments.find(caller.team, id.0).await?.ok_or_else(not_found)?;
    let count = segments.count_contacts(caller.team, &segment).await?;
    Ok(Json(SegmentWithCountResponse::of(Word::Audience, segment, count)))
}

/// Deletes a segment, under its older name. Its contacts stay.
#[endpoint(tags("Audiences"))]
pub async fn delete_audience(
    segments: State<Segments>,
    caller: Caller,
    id: PathId<resource::Segment>,
) -> ApiResult<Json<DeletedSegment>> {
    segments.delete(caller.team, id.0).await?;
    Ok(Json(DeletedSegment::of(Word::Audience, id.0)))
}
