//! The endpoints under `/suppressions`.
//!
//! `request.rs` the request types and their rules; `response.rs` what is answered.

mod request;
mod response;

use salvo::Writer;
use salvo::oapi::endpoint;
use salvo::writing::Json;

use self::request::{AddSuppressionsRequest, CreateSuppressionRequest, OriginQuery, RemoveSuppressionsRequest};
use self::response::{
    AddedSuppressions, DeletedSuppression, RemovedSuppressions, SuppressionReference, SuppressionResponse,
};
use super::service::Suppressions;
use crate::api_keys::Caller;
use crate::base::id::resource;
use crate::events::ChangeSource;
use crate::http::{ApiError, ApiResult, Body, Created, List, ListQuery, PathIdOrEmail, State};

/// Lists an address, so that the team does not write to it.
///
/// One that is listed already is answered as it stands.
#[endpoint(tags("Suppressions"))]
pub async fn create_suppression(
    suppressions: State<Suppressions>,
    caller: Caller,
    suppression: Body<CreateSuppressionRequest>,
) -> ApiResult<Created<SuppressionResponse>> {
    let (address, origin) = suppression.into_inner().parse()?;
    let listed = suppressions.add(caller.team, address, origin, ChangeSource::Api).await?;
    Ok(Created(listed.into()))
}

/// Lists suppressions, newest first.
#[endpoint(tags("Suppressions"))]
pub async fn list_suppressions(
    suppressions: State<Suppressions>,
    caller: Caller,
    query: ListQuery<resource::Suppression>,
    origin: OriginQuery,
) -> ApiResult<Json<List<SuppressionResponse>>> {
    let page = suppressions.list(caller.team, origin.0, query.0).await?;
    Ok(Json(List::of(page, SuppressionResponse::from)))
}

/// Shows a suppression, by its id or its address.
#[endpoint(tags("Suppressions"))]
pub async fn get_suppression(
    suppressions: State<Suppressions>,
    caller: Caller,
    id: PathIdOrEmail<resource::Suppression>,
) -> ApiResult<Json<SuppressionResponse>> {
    let found = suppressions.find(caller.team, id.0).await?;
    found.map(|found| Json(found.into())).ok_or_else(not_found)
}

/// Removes a suppression, by its id or its address, so that the team may write there again.
#[endpoint(tags("Suppressions"))]
pub async fn delete_suppression(
    suppressions: State<Suppressions>,
    caller: Caller,
    id: PathIdOrEmail<resource::Suppression>,
) -> ApiResult<Json<DeletedSuppression>> {
    let removed = suppressions.remove(caller.team, id.0, ChangeSource::Api).await?;
    removed.map(|id| Json(DeletedSuppression::of(id))).ok_or_else(not_found)
}

/// Lists up to 1000 addresses together.
///
/// The answer has one entry for each address, in the order they are first named; an address that is
/// listed already keeps its entry.
#[endpoint(tags("Suppressions"))]
pub async fn add_suppressions(
    suppressions: State<Suppressions>,
    caller: Caller,
    batch: Body<AddSuppressionsRequest>,
) -> ApiResult<Created<AddedSuppressions>> {
    let (addresses, origin) = batch.into_inner().parse()?;
    let ids = suppressions.add_all(caller.team, addresses, origin, ChangeSource::Api).await?;
    Ok(Created(AddedSuppressions { data: ids.into_iter().map(SuppressionReference::of).collect() }))
}

/// Removes up to 1000 suppressions together, by their ids or their addresses.
///
/// The answer has those that were removed; what is not listed is passed over.
#[endpoint(tags("Suppressions"))]
pub async fn remove_suppressions(
    suppressions: State<Suppressions>,
    caller: Caller,
    batch: Body<RemoveSuppressionsRequest>,
) -> ApiResult<Json<RemovedSuppressions>> {
    let targets = batch.into_inner().parse()?;
    let ids = suppressions.remove_all(caller.team, targets, ChangeSource::Api).await?;
    Ok(Json(RemovedSuppressions { data: ids.into_iter().map(DeletedSuppression::of).collect() }))
}

fn not_found() -> ApiError {
    ApiError::not_found("Suppression")
}
