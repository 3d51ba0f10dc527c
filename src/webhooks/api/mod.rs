//! Handlers of `/webhooks`.
//!
//! Files:
//! - `request.rs`: request bodies;
//! - `response.rs`: response bodies;
//! - `schema.rs`: their fields in the OpenAPI document;
//! - `payloads.rs`: the events in the OpenAPI document;
//! - `deliveries.rs`: handlers of deliveries and tests.

pub mod deliveries;
pub(crate) mod request;

mod payloads;
mod response;
mod schema;

use salvo::Writer;
use salvo::oapi::endpoint;
use salvo::writing::Json;

pub(crate) use self::payloads::describe_events;
use self::request::{CreateWebhookRequest, RotateSecretRequest, UpdateWebhookRequest};
use self::response::{CreatedWebhook, DeletedWebhook, RotatedSecret, WebhookReference};
pub(crate) use self::response::{WebhookResponse, WebhookWithSecret};
use super::error::{CreateWebhookError, RotateSecretError, UpdateWebhookError};
use super::model::WEBHOOKS_MAX;
use super::service::Webhooks;
use crate::api_keys::Caller;
use crate::base::compat::Compat;
use crate::base::id::{WebhookId, resource};
use crate::http::{ApiError, ApiResult, Body, Created, List, ListQuery, PathId, ResourceNotFound, State, api_error};

/// Creates an endpoint that receives events from now on.
///
/// The response contains the signing secret.
#[endpoint(tags("Webhooks"), responses(CreateWebhookError))]
pub async fn create_webhook(
    webhooks: State<Webhooks>,
    compat: State<Compat>,
    caller: Caller,
    webhook: Body<CreateWebhookRequest>,
) -> ApiResult<Created<CreatedWebhook>> {
    let new = webhook.into_inner().parse(webhooks.policy(), **compat)?;
    let (id, secret) = webhooks.create(caller, new).await?;
    Ok(Created(CreatedWebhook::of(id, &secret)))
}

/// Lists endpoints, newest first, without their secrets.
#[endpoint(tags("Webhooks"))]
pub async fn list_webhooks(
    webhooks: State<Webhooks>,
    caller: Caller,
    query: ListQuery<resource::Webhook>,
) -> ApiResult<Json<List<WebhookResponse>>> {
    let page = webhooks.list(caller.team, query.0).await?;
    Ok(Json(List::of(page, WebhookResponse::from)))
}

/// Returns an endpoint with its signing secret.
#[endpoint(tags("Webhooks"), responses(ResourceNotFound))]
pub async fn get_webhook(
    webhooks: State<Webhooks>,
    caller: Caller,
    id: PathId<resource::Webhook>,
) -> ApiResult<Json<WebhookWithSecret>> {
    let (webhook, secret) = webhooks.find(caller.team, id.0).await?.ok_or_else(not_found)?;
    Ok(Json(WebhookWithSecret::of(webhook, &secret)))
}

/// Changes the URL, the events or the status of an endpoint.
///
/// If an endpoint is disabled, its queued events are never delivered, nor are events that occur until it is enabled
/// again.
#[endpoint(tags("Webhooks"), responses(UpdateWebhookError))]
pub async fn update_webhook(
    webhooks: State<Webhooks>,
    compat: State<Compat>,
    caller: Caller,
    id: PathId<resource::Webhook>,
    changes: Body<UpdateWebhookRequest>,
) -> ApiResult<Json<WebhookReference>> {
    let changes = changes.into_inner().parse(webhooks.policy(), **compat)?;
    webhooks.update(caller, id.0, changes).await?;
    Ok(Json(WebhookReference::of(id.0)))
}

/// Deletes an endpoint with all its deliveries.
#[endpoint(tags("Webhooks"), responses(ResourceNotFound))]
pub async fn delete_webhook(
    webhooks: State<Webhooks>,
    caller: Caller,
    id: PathId<resource::Webhook>,
) -> ApiResult<Json<DeletedWebhook>> {
    if webhooks.delete(caller, id.0).await? { Ok(Json(DeletedWebhook::of(id.0))) } else { Err(not_found()) }
}

/// Replaces the secret of an endpoint.
///
/// The previous secret signs as well during the overlap, so that a receiver can verify with either.
#[endpoint(tags("Webhooks"), responses(RotateSecretError))]
pub async fn rotate_webhook(
    webhooks: State<Webhooks>,
    caller: Caller,
    id: PathId<resource::Webhook>,
    rotation: Body<RotateSecretRequest>,
) -> ApiResult<Json<RotatedSecret>> {
    rotate(&webhooks, caller, id.0, rotation.into_inner()).await
}

/// Replaces the secret of an endpoint, as `/webhooks/{id}/rotate` does.
#[endpoint(tags("Webhooks"), responses(RotateSecretError))]
pub async fn rotate_signing_secret(
    webhooks: State<Webhooks>,
    caller: Caller,
    id: PathId<resource::Webhook>,
    rotation: Body<RotateSecretRequest>,
) -> ApiResult<Json<RotatedSecret>> {
    rotate(&webhooks, caller, id.0, rotation.into_inner()).await
}

async fn rotate(
    webhooks: &Webhooks,
    caller: Caller,
    id: WebhookId,
    rotation: RotateSecretRequest,
) -> ApiResult<Json<RotatedSecret>> {
    let rotated = webhooks.rotate(caller, id, rotation.parse()?).await?;
    Ok(Json(RotatedSecret::of(id, &rotated)))
}

fn not_found() -> ApiError {
    ApiError::not_found("Webhook endpoint")
}

api_error!(CreateWebhookError: Validation {
    CreateWebhookError::TooMany => ApiError::validation(format!(
        "A team has at most {WEBHOOKS_MAX} webhook endpoints. Delete one that is not used."
    )),
});

api_error!(UpdateWebhookError: NotFound {
    UpdateWebhookError::NotFound => not_found(),
});

api_error!(RotateSecretError: NotFound {
    RotateSecretError::NotFound => not_found(),
});
