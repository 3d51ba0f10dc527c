//! Response bodies.

use salvo::oapi::ToSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use super::schema::{DeliveryStatusWord, EventTypeWord, StatusWord};
use crate::base::clock::to_iso;
use crate::base::id::{WebhookDeliveryId, WebhookId};
use crate::base::signature::WebhookSecret;
use crate::http::id_responses;
use crate::webhooks::{Delivery, DeliveryWithPayload, RotationResult, SubscribedEvents, Webhook, WebhookAttemptRow};

/// An endpoint, without its secret.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "Webhook"))]
pub(crate) struct WebhookResponse {
    /// Always `webhook`.
    object: &'static str,
    /// The id.
    id: String,
    /// The URL that events are posted to.
    endpoint: String,
    /// The types of events that it subscribes to; null for all except `email.prefetched`.
    #[salvo(schema(required = true))]
    events: Option<Vec<&'static str>>,
    /// `enabled`, or `disabled` by the team or after too many failed deliveries.
    #[salvo(schema(value_type = StatusWord))]
    status: &'static str,
    /// Time of its creation.
    created_at: String,
}

/// An endpoint with its secret.
#[derive(Serialize, ToSchema)]
pub(crate) struct WebhookWithSecret {
    /// Always `webhook`.
    object: &'static str,
    /// The id.
    id: String,
    /// The URL that events are posted to.
    endpoint: String,
    /// The types of events that it subscribes to; null for all except `email.prefetched`.
    #[salvo(schema(required = true))]
    events: Option<Vec<&'static str>>,
    /// `enabled`, or `disabled` by the team or after too many failed deliveries.
    #[salvo(schema(value_type = StatusWord))]
    status: &'static str,
    /// Time of its creation.
    created_at: String,
    /// The signing secret.
    signing_secret: String,
    /// Time at which the previous secret stops signing; null if only one secret signs.
    #[salvo(schema(required = true))]
    previous_secret_expires_at: Option<String>,
}

/// An endpoint that was created.
#[derive(Serialize, ToSchema)]
pub(super) struct CreatedWebhook {
    /// Always `webhook`.
    object: &'static str,
    /// The id.
    id: String,
    /// The signing secret.
    signing_secret: String,
}

id_responses! {
    /// An endpoint that was changed.
    pub(super) struct WebhookReference(WebhookId): "webhook", "Always `webhook`.";
    /// An endpoint that was deleted.
    pub(super) struct DeletedWebhook(WebhookId): "webhook", "Always `webhook`.", deleted;
    /// An event that is delivered again.
    #[salvo(schema(name = "WebhookEventReference"))]
    pub(super) struct DeliveryReference(WebhookDeliveryId): "webhook_event", "Always `webhook_event`.";
}

/// A secret that was replaced.
#[derive(Serialize, ToSchema)]
pub(super) struct RotatedSecret {
    /// Always `webhook`.
    object: &'static str,
    /// The id of the endpoint.
    id: String,
    /// The new signing secret.
    signing_secret: String,
    /// Time at which the previous secret stops signing; null if it has stopped.
    #[salvo(schema(required = true))]
    previous_secret_expires_at: Option<String>,
}

/// An event that was or will be delivered to an endpoint.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "WebhookEvent"))]
pub(super) struct DeliverySummary {
    /// The id. It differs for each endpoint that receives the event.
    id: String,
    /// The type of the event.
    #[serde(rename = "type")]
    #[salvo(schema(rename = "type", value_type = EventTypeWord))]
    event_type: &'static str,
    /// Time of the event.
    created_at: String,
    /// `pending`, `attempting`, `success` or `failed`.
    #[salvo(schema(value_type = DeliveryStatusWord))]
    status: &'static str,
}

/// An event that was or will be delivered to an endpoint, with its payload.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "WebhookEventWithPayload"))]
pub(super) struct DeliveryResponse {
    /// Always `webhook_event`.
    object: &'static str,
    /// The id.
    id: String,
    /// The type of the event.
    #[serde(rename = "type")]
    #[salvo(schema(rename = "type", value_type = EventTypeWord))]
    event_type: &'static str,
    /// Time of the event.
    created_at: String,
    /// `pending`, `attempting`, `success` or `failed`.
    #[salvo(schema(value_type = DeliveryStatusWord))]
    status: &'static str,
    /// Time of the next attempt; null if none is planned or one is in progress.
    #[salvo(schema(required = true))]
    next_attempt_at: Option<String>,
    /// The body of every request that delivers it; null if retention has deleted it.
    #[salvo(schema(required = true, value_type = Option<Object>))]
    payload: Option<Box<RawValue>>,
}

/// An attempt to deliver an event.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "WebhookEventAttempt"))]
pub(super) struct AttemptResponse {
    /// The id.
    id: String,
    /// The HTTP status; 0 if there was no response.
    http_status_code: u16,
    /// The start of the response body, or the error.
    response: String,
    /// Time of the request.
    sent_at: String,
}

/// A queued test event.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "WebhookTest"))]
pub(super) struct TestDelivery {
    /// Always `webhook_event`.
    object: &'static str,
    /// The id, for `GET /webhooks/{id}/events/{event_id}`.
    id: String,
    /// The type of the event.
    #[serde(rename = "type")]
    #[salvo(schema(rename = "type", value_type = EventTypeWord))]
    event_type: &'static str,
    /// Time of the test request.
    created_at: String,
    /// `pending`.
    #[salvo(schema(value_type = DeliveryStatusWord))]
    status: &'static str,
}

impl From<Webhook> for WebhookResponse {
    fn from(webhook: Webhook) -> Self {
        let Webhook { id, endpoint, subscription, status, created_ms, previous_secret_expires_ms: _ } = webhook;
        Self {
            object: "webhook",
            id: id.to_string(),
            endpoint,
            events: events(subscription),
            status: status.as_str(),
            created_at: to_iso(created_ms),
        }
    }
}

impl WebhookWithSecret {
    pub(crate) fn of(webhook: Webhook, secret: &WebhookSecret) -> Self {
        let previous_secret_expires_at = webhook.previous_secret_expires_ms.map(to_iso);
        let WebhookResponse { object, id, endpoint, events, status, created_at } = webhook.into();
        let signing_secret = secret.reveal().to_owned();
        Self { object, id, endpoint, events, status, created_at, signing_secret, previous_secret_expires_at }
    }
}

/// Returns the names of the types; `None` for all types, as in the compatible API, because later versions add types.
fn events(subscription: SubscribedEvents) -> Option<Vec<&'static str>> {
    match subscription {
        SubscribedEvents::All => None,
        SubscribedEvents::Named(types) => Some(types.names().collect()),
    }
}

impl CreatedWebhook {
    pub(super) fn of(id: WebhookId, secret: &WebhookSecret) -> Self {
        Self { object: "webhook", id: id.to_string(), signing_secret: secret.reveal().to_owned() }
    }
}

impl RotatedSecret {
    pub(super) fn of(id: WebhookId, rotated: &RotationResult) -> Self {
        let RotationResult { secret, previous_expires_ms } = rotated;
        Self {
            object: "webhook",
            id: id.to_string(),
            signing_secret: secret.reveal().to_owned(),
            previous_secret_expires_at: previous_expires_ms.map(to_iso),
        }
    }
}

impl From<Delivery> for DeliverySummary {
    fn from(delivery: Delivery) -> Self {
        let Delivery { id, event_type, at_ms, status, next_attempt_ms: _ } = delivery;
        Self { id: id.to_string(), event_type: event_type.as_str(), created_at: to_iso(at_ms), status: status.as_str() }
    }
}

impl From<DeliveryWithPayload> for DeliveryResponse {
    fn from(delivery: DeliveryWithPayload) -> Self {
        let DeliveryWithPayload { delivery, payload } = delivery;
        let next_attempt_at = delivery.next_attempt_ms.map(to_iso);
        let DeliverySummary { id, event_type, created_at, status } = delivery.into();
        // A raw value keeps the order of the fields.
        let payload = payload.and_then(|body| RawValue::from_string(body).ok());
        Self { object: "webhook_event", id, event_type, created_at, status, next_attempt_at, payload }
    }
}

impl From<WebhookAttemptRow> for AttemptResponse {
    fn from(attempt: WebhookAttemptRow) -> Self {
        let WebhookAttemptRow { id, sent_ms, took_ms: _, status, response } = attempt;
        Self { id: id.to_string(), http_status_code: status.unwrap_or(0), response, sent_at: to_iso(sent_ms) }
    }
}

impl From<Delivery> for TestDelivery {
    fn from(delivery: Delivery) -> Self {
        let DeliverySummary { id, event_type, created_at, status } = delivery.into();
        Self { object: "webhook_event", id, event_type, created_at, status }
    }
}
