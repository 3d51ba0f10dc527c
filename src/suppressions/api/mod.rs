//! The endpoints under `/suppressions`.
//!
//! Reading order: `request.rs` (requests and their checks), `response.rs` (responses).

mod request;
mod response;

use salvo::Writer;
use salvo::oapi::endpoint;
use salvo::writing::Json;

use self::request::{AddSuppressionsRequest, CreateSuppressionRequest, RemoveSuppressionsRequest};
use self::response::{
    AddedSuppressions, DeletedSuppression, RemovedSuppressions, SuppressionReference, SuppressionResponse,
};
use super::SuppressionOrigin;
use super::service::Suppressions;
use crate::api_keys::Caller;
use crate::base::id::resource;
use crate::events::ChangeSource;
use crate::http::{
    ApiError, ApiResult, Body, Created, List, ListQuery, Parameters, PathIdOrEmail, ResourceNotFound, State,
};

/// Adds an address to the suppression list, so that the team does not send to it.
///
/// An address that is already listed keeps its entry, and the response contains that entry.
#[endpoint(tags("Suppressions"))]
pub async fn create_suppression(
    suppressions: State<Suppressions>,
    caller: Caller,
    suppression: Body<CreateSuppressionRequest>,
) -> ApiResult<Created<SuppressionResponse>> {
    let (address, origin) = suppression.into_inner().parse()?;
    let listed = suppressions.add(caller, address, origin, ChangeSource::of(&caller)).await?;
    Ok(Created(listed.into()))
}

/// Lists suppressions, newest first.
#[endpoint(tags("Suppressions"))]
pub async fn list_suppressions(
    suppressions: State<Suppressions>,
    caller: Caller,
    query: ListQuery<resource::Suppression>,
    origin: Parameters<Option<SuppressionOrigin>>,
) -> ApiResult<Json<List<SuppressionResponse>>> {
    let page = suppressions.list(caller.team, origin.0, query.0).await?;
    Ok(Json(List::of(page, SuppressionResponse::from)))
}

/// Shows a suppression, by its id or its address.
#[endpoint(tags("Suppressions"), responses(ResourceNotFound))]
pub async fn get_suppression(
    suppressions: State<Suppressions>,
    caller: Caller,
    id: PathIdOrEmail<resource::Suppression>,
) -> ApiResult<Json<SuppressionResponse>> {
    let found = suppressions.find(caller.team, id.0).await?;
    found.map(|found| Json(found.into())).ok_or_else(not_found)
}

/// Removes a suppression, by its id or its address, so that the team can send to the address again.
#[endpoint(tags("Suppressions"), responses(ResourceNotFound))]
pub async fn delete_suppression(
    suppressions: State<Suppressions>,
    caller: Caller,
    id: PathIdOrEmail<resource::Suppression>,
) -> ApiResult<Json<DeletedSuppression>> {
    let removed = suppressions.remove(caller, id.0, ChangeSource::of(&caller)).await?;
    removed.map(|id| Json(DeletedSuppression::of(id))).ok_or_else(not_found)
}

/// Adds up to 1000 addresses in one request.
///
/// The response has one entry for each distinct address, in the order of their first occurrence. An
/// address that is already listed keeps its entry.
#[endpoint(tags("Suppressions"))]
pub async fn add_suppressions(
    suppressions: State<Suppressions>,
    caller: Caller,
    batch: Body<AddSuppressionsRequest>,
) -> ApiResult<Created<AddedSuppressions>> {
    let (addresses, origin) = batch.into_inner().parse()?;
    let ids = suppressions.add_all(caller, addresses, origin, ChangeSource::of(&caller)).await?;
    Ok(Created(AddedSuppressions { data: ids.into_iter().map(SuppressionReference::of).collect() }))
}

/// Removes up to 1000 suppressions in one request, by their ids or their addresses.
///
/// The response has the removed suppressions. Ids and addresses that are not listed are ignored.
#[endpoint(tags("Suppressions"))]
pub async fn remove_suppressions(
    suppressions: State<Suppressions>,
    caller: Caller,
    batch: Body<RemoveSuppressionsRequest>,
) -> ApiResult<Json<RemovedSuppressions>> {
    let targets = batch.into_inner().parse()?;
    let ids = suppressions.remove_all(caller, targets, ChangeSource::of(&caller)).await?;
    Ok(Json(RemovedSuppressions { data: ids.into_iter().map(DeletedSuppression::of).collect() }))
}

fn not_found() -> ApiError {
    ApiError::not_found("Suppression")
}
