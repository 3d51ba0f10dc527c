//! `GET` and `PATCH broadcasts/ID`: those of the API, with the revision of the draft.

use salvo::writing::Json;
use salvo::{Writer as _, handler};
use serde::Serialize;

use super::not_found;
use crate::api_keys::Caller;
use crate::base::compat::Compat;
use crate::base::id::resource;
use crate::broadcasts::api::{BroadcastResponse, UpdateBroadcastRequest};
use crate::broadcasts::{BroadcastChanges, Broadcasts};
use crate::dashboard::api::revision::{ChangedDraft, Revised};
use crate::http::{ApiResult, Body, PathId, State};

/// A broadcast with its revision.
#[derive(Serialize)]
pub(super) struct BroadcastWithRevision {
    #[serde(flatten)]
    broadcast: BroadcastResponse,
    /// Number of changes of the draft.
    revision: u32,
}

/// Returns a broadcast.
#[handler]
pub(super) async fn get_broadcast(
    broadcasts: State<Broadcasts>,
    caller: Caller,
    id: PathId<resource::Broadcast>,
) -> ApiResult<Json<BroadcastWithRevision>> {
    let (broadcast, content) = broadcasts.find(caller.team, id.0).await?.ok_or_else(not_found)?;
    let revision = broadcast.row.revision;
    let broadcast = BroadcastResponse::of(caller.team, broadcast, content);
    Ok(Json(BroadcastWithRevision { broadcast, revision }))
}

/// Changes a draft.
#[handler]
pub(super) async fn update_broadcast(
    broadcasts: State<Broadcasts>,
    compat: State<Compat>,
    caller: Caller,
    id: PathId<resource::Broadcast>,
    body: Body<Revised<UpdateBroadcastRequest>>,
) -> ApiResult<Json<ChangedDraft>> {
    let Revised { changes, revision } = body.into_inner();
    let changes = BroadcastChanges { revision, ..changes.parse(**compat)? };
    let revision = broadcasts.update(caller.into(), id.0, changes).await?;
    Ok(Json(ChangedDraft { object: "broadcast", id: id.0.to_string(), revision }))
}
