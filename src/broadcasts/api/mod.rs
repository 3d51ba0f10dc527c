//! The endpoints under `/broadcasts`.
//!
//! Reading order: `request.rs` (requests), `query.rs` (the filter of recipients), `response.rs` (responses), `error.rs`
//! (errors).

mod error;
mod query;
mod request;
mod response;

use salvo::Writer;
use salvo::oapi::endpoint;
use salvo::writing::Json;

pub(crate) use self::request::UpdateBroadcastRequest;
use self::request::{CreateBroadcastRequest, SendBroadcastRequest, SendChoice};
use self::response::{
    AcceptedBroadcast, BroadcastRecipientResponse, BroadcastReference, BroadcastSummary, CanceledBroadcast,
    ClickedLink, DeletedBroadcast,
};
pub(crate) use self::response::{BroadcastResponse, BroadcastWarning};
use super::RecipientFilter;
use super::error::{CancelBroadcastError, DeleteBroadcastError, DraftError, SendBroadcastError};
use super::service::Broadcasts;
use crate::api_keys::Caller;
use crate::base::compat::Compat;
use crate::base::id::resource;
use crate::http::{ApiResult, Body, Created, List, ListQuery, NoBody, Parameters, PathId, ResourceNotFound, State};

/// Creates a broadcast, and sends it if `send` is true.
///
/// Without `send`, the broadcast is a draft. If it cannot be sent, the draft remains and the error is returned.
#[endpoint(tags("Broadcasts"), responses(SendBroadcastError))]
pub async fn create_broadcast(
    broadcasts: State<Broadcasts>,
    compat: State<Compat>,
    caller: Caller,
    broadcast: Body<CreateBroadcastRequest>,
) -> ApiResult<Created<AcceptedBroadcast>> {
    let (new, choice) = broadcast.into_inner().parse(broadcasts.now_ms(), **compat)?;
    let id = broadcasts.create(caller.into(), new).await?;
    let plan = match choice {
        SendChoice::Draft => None,
        SendChoice::Send(due_ms) => Some(broadcasts.send(caller.into(), id, due_ms).await?),
    };
    Ok(Created(AcceptedBroadcast::of(id, plan)))
}

/// Lists broadcasts, newest first.
#[endpoint(tags("Broadcasts"))]
pub async fn list_broadcasts(
    broadcasts: State<Broadcasts>,
    caller: Caller,
    query: ListQuery<resource::Broadcast>,
) -> ApiResult<Json<List<BroadcastSummary>>> {
    let page = broadcasts.list(caller.team, query.0).await?;
    Ok(Json(List::of(page, |(id, row)| BroadcastSummary::of(caller.team, id, &row))))
}

/// Shows a broadcast with its content.
#[endpoint(tags("Broadcasts"), responses(ResourceNotFound))]
pub async fn get_broadcast(
    broadcasts: State<Broadcasts>,
    caller: Caller,
    id: PathId<resource::Broadcast>,
) -> ApiResult<Json<BroadcastResponse>> {
    let found = broadcasts.find(caller.team, id.0).await?;
    let (broadcast, content) = found.ok_or_else(error::not_found)?;
    Ok(Json(BroadcastResponse::of(caller.team, broadcast, content)))
}

/// Changes a draft.
#[endpoint(tags("Broadcasts"), responses(DraftError))]
pub async fn update_broadcast(
    broadcasts: State<Broadcasts>,
    compat: State<Compat>,
    caller: Caller,
    id: PathId<resource::Broadcast>,
    changes: Body<UpdateBroadcastRequest>,
) -> ApiResult<Json<BroadcastReference>> {
    let changes = changes.into_inner().parse(**compat)?;
    broadcasts.update(caller.into(), id.0, changes).await?;
    Ok(Json(BroadcastReference::of(id.0)))
}

/// Deletes a draft.
#[endpoint(tags("Broadcasts"), responses(DeleteBroadcastError))]
pub async fn delete_broadcast(
    broadcasts: State<Broadcasts>,
    caller: Caller,
    id: PathId<resource::Broadcast>,
) -> ApiResult<Json<DeletedBroadcast>> {
    broadcasts.delete(caller.into(), id.0).await?;
    Ok(Json(DeletedBroadcast::of(id.0)))
}

/// Sends or schedules a draft.
///
/// Each contact of the audience gets one email. Contacts who are unsubscribed, suppressed or opted out of the topic get
/// none.
#[endpoint(tags("Broadcasts"), responses(SendBroadcastError))]
pub async fn send_broadcast(
    broadcasts: State<Broadcasts>,
    caller: Caller,
    id: PathId<resource::Broadcast>,
    options: Body<SendBroadcastRequest>,
) -> ApiResult<Json<AcceptedBroadcast>> {
    let due_ms = options.into_inner().parse(broadcasts.now_ms())?;
    let plan = broadcasts.send(caller.into(), id.0, due_ms).await?;
    Ok(Json(AcceptedBroadcast::of(id.0, Some(plan))))
}

/// Cancels a scheduled or queued broadcast. Emails whose delivery has started are still sent.
#[endpoint(tags("Broadcasts"), responses(CancelBroadcastError))]
pub async fn cancel_broadcast(
    broadcasts: State<Broadcasts>,
    caller: Caller,
    id: PathId<resource::Broadcast>,
    _body: NoBody,
) -> ApiResult<Json<CanceledBroadcast>> {
    let canceled_remaining = broadcasts.cancel(caller.into(), id.0).await?;
    Ok(Json(CanceledBroadcast::of(id.0, canceled_remaining)))
}

/// Creates a draft with the fields and the content of a broadcast, in any status.
#[endpoint(tags("Broadcasts"), responses(DraftError))]
pub async fn duplicate_broadcast(
    broadcasts: State<Broadcasts>,
    caller: Caller,
    id: PathId<resource::Broadcast>,
    _body: NoBody,
) -> ApiResult<Json<BroadcastReference>> {
    let copy = broadcasts.duplicate(caller.into(), id.0).await?;
    Ok(Json(BroadcastReference::of(copy)))
}

/// Lists the recipients of a broadcast by outcome, newest email first.
///
/// The lists `opened` and `clicked` have the recipients of which a person opened the email or followed a link. The list
/// `unsubscribed` has the recipients who opted out with the link of the email.
#[endpoint(tags("Broadcasts"), responses(ResourceNotFound))]
pub async fn list_broadcast_recipients(
    broadcasts: State<Broadcasts>,
    caller: Caller,
    id: PathId<resource::Broadcast>,
    filter: Parameters<RecipientFilter>,
    query: ListQuery<resource::Email>,
) -> ApiResult<Json<List<BroadcastRecipientResponse>>> {
    let page = broadcasts.recipients(caller.team, id.0, filter.0, query.0).await?.ok_or_else(error::not_found)?;
    Ok(Json(List::of(page, BroadcastRecipientResponse::from)))
}

/// Lists the links of a broadcast that people have clicked, the newest first click first.
///
/// A URL is the link as the broadcast has it, with merge fields. Clicks of software do not count. At most 500 links of a
/// broadcast are counted.
#[endpoint(tags("Broadcasts"), responses(ResourceNotFound))]
pub async fn list_broadcast_clicked_links(
    broadcasts: State<Broadcasts>,
    caller: Caller,
    id: PathId<resource::Broadcast>,
    query: ListQuery<resource::BroadcastLink>,
) -> ApiResult<Json<List<ClickedLink>>> {
    let page = broadcasts.clicked_links(caller.team, id.0, query.0).await?.ok_or_else(error::not_found)?;
    Ok(Json(List::of(page, ClickedLink::from)))
}
