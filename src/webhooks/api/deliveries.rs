//! Handlers of `/webhooks/{id}/events` and `/webhooks/{id}/test`.

use salvo::Writer;
use salvo::oapi::endpoint;
use salvo::writing::Json;

use super::not_found;
use super::request::TestWebhookRequest;
use super::response::{AttemptResponse, DeliveryReference, DeliveryResponse, DeliverySummary, TestDelivery};
use crate::api_keys::Caller;
use crate::base::id::resource;
use crate::http::{ApiError, ApiResult, Body, List, ListQuery, NoBody, PathId, State, api_error};
use crate::store::page::PageError;
use crate::webhooks::{DeliveryError, ReplayError, TestWebhookError, Webhooks};

/// Lists the events that were or will be delivered to an endpoint, newest first.
#[endpoint(tags("Webhooks"), responses(DeliveryError))]
pub async fn list_webhook_events(
    webhooks: State<Webhooks>,
    caller: Caller,
    id: PathId<resource::Webhook>,
    query: ListQuery<resource::WebhookDelivery>,
) -> ApiResult<Json<List<DeliverySummary>>> {
    let page = webhooks.deliveries(caller.team, id.0, query.0).await?;
    Ok(Json(List::of(page, DeliverySummary::from)))
}

/// Returns an event of an endpoint with its payload.
#[endpoint(tags("Webhooks"), responses(DeliveryError))]
pub async fn get_webhook_event(
    webhooks: State<Webhooks>,
    caller: Caller,
    id: PathId<resource::Webhook>,
    event_id: PathId<resource::WebhookDelivery>,
) -> ApiResult<Json<DeliveryResponse>> {
    let delivery = webhooks.delivery(caller.team, id.0, event_id.0).await?;
    Ok(Json(delivery.into()))
}

/// Lists the attempts to deliver an event to an endpoint, newest first.
#[endpoint(tags("Webhooks"), responses(DeliveryError))]
pub async fn list_webhook_event_attempts(
    webhooks: State<Webhooks>,
    caller: Caller,
    id: PathId<resource::Webhook>,
    event_id: PathId<resource::WebhookDelivery>,
    query: ListQuery<resource::WebhookAttempt>,
) -> ApiResult<Json<List<AttemptResponse>>> {
    let page = webhooks.attempts(caller.team, id.0, event_id.0, query.0).await?;
    Ok(Json(List::of(page, AttemptResponse::from)))
}

/// Delivers an event to an endpoint again.
///
/// The event is sent immediately, with the same `webhook-id` and a new retry schedule.
#[endpoint(tags("Webhooks"), responses(ReplayError))]
pub async fn replay_webhook_event(
    webhooks: State<Webhooks>,
    caller: Caller,
    id: PathId<resource::Webhook>,
    event_id: PathId<resource::WebhookDelivery>,
    _body: NoBody,
) -> ApiResult<Json<DeliveryReference>> {
    webhooks.replay(caller, id.0, event_id.0).await?;
    Ok(Json(DeliveryReference::of(event_id.0)))
}

/// Sends a sample event to an endpoint.
///
/// The sample has the exact fields of its type and sample values.
#[endpoint(tags("Webhooks"), responses(TestWebhookError))]
pub async fn test_webhook(
    webhooks: State<Webhooks>,
    caller: Caller,
    id: PathId<resource::Webhook>,
    test: Body<TestWebhookRequest>,
) -> ApiResult<Json<TestDelivery>> {
    let wanted = test.into_inner().parse()?;
    let delivery = webhooks.test(caller, id.0, wanted).await?;
    Ok(Json(delivery.into()))
}

fn unknown_delivery() -> ApiError {
    ApiError::not_found("Webhook event")
}

fn disabled() -> ApiError {
    ApiError::validation("The webhook endpoint is disabled. Enable it first, with `PATCH /webhooks/{id}`.")
}

api_error!(DeliveryError: NotFound, Validation {
    DeliveryError::UnknownWebhook => not_found(),
    DeliveryError::UnknownDelivery => unknown_delivery(),
    DeliveryError::UnknownCursor => PageError::UnknownCursor.into(),
});

api_error!(ReplayError: NotFound, Validation {
    ReplayError::UnknownWebhook => not_found(),
    ReplayError::UnknownDelivery => unknown_delivery(),
    ReplayError::Disabled => disabled(),
    ReplayError::PayloadDeleted => {
        ApiError::validation("The payload of this event has been deleted by retention. The event cannot be replayed.")
    },
    ReplayError::Retracted => ApiError::validation(
        "This event was retracted, because its click was one of a burst. The event cannot be replayed.",
    ),
});

api_error!(TestWebhookError: NotFound, Validation {
    TestWebhookError::NotFound => not_found(),
    TestWebhookError::Disabled => disabled(),
    TestWebhookError::NotSubscribed(event_type) => ApiError::validation(format!(
        "The webhook endpoint is not subscribed to `{}`. Use a `type` from its `events`, or add the type to them.",
        event_type.as_str()
    )),
});
