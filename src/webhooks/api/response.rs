//! What the webhook endpoints answer.

use salvo::oapi::ToSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::base::clock::to_iso;
use crate::base::id::{WebhookDeliveryId, WebhookId};
use crate::base::signature::WebhookSecret;
use crate::events::EventType;
use crate::webhooks::{Delivery, DeliveryWithPayload, RotationResult, SubscribedEvents, Webhook, WebhookAttemptRow};

/// An endpoint, without its secret.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "Webhook"))]
pub(super) struct WebhookResponse {
    /// Always `webhook`.
    object: &'static str,
    /// The id.
    id: String,
    /// The URL that events are posted to.
    endpoint: String,
    /// The types of events it hears of; null for all of them, but for `email.prefetched`.
    #[salvo(schema(required = true))]
    events: Option<Vec<&'static str>>,
    /// `enabled`, or `disabled` by the team or by too many deliveries in vain.
    status: &'static str,
    /// When it was made.
    created_at: String,
}

/// An endpoint with its secret.
#[derive(Serialize, ToSchema)]
pub(super) struct WebhookWithSecret {
    /// Always `webhook`.
    object: &'static str,
    /// The id.
    id: String,
    /// The URL that events are posted to.
    endpoint: String,
    /// The types of events it hears of; null for all of them, but for `email.prefetched`.
    #[salvo(schema(required = true))]
    events: Option<Vec<&'static str>>,
    /// `enabled`, or `disabled` by the team or by too many deliveries in vain.
    status: &'static str,
    /// When it was made.
    created_at: String,
    /// What signs.
    signing_secret: String,
    /// When the secret before it stops signing; null when one secret signs.
    #[salvo(schema(required = true))]
    previous_secret_expires_at: Option<String>,
}

/// An endpoint that was added.
#[derive(Serialize, ToSchema)]
pub(super) struct CreatedWebhook {
    /// Always `webhook`.
    object: &'static str,
    /// The id.
    id: String,
    /// What signs.
    signing_secret: String,
}

/// An endpoint that was changed.
#[derive(Serialize, ToSchema)]
pub(super) struct WebhookReference {
    /// Always `webhook`.
    object: &'static str,
    /// The id.
    id: String,
}

/// An endpoint that was deleted.
#[derive(Serialize, ToSchema)]
pub(super) struct DeletedWebhook {
    /// Always `webhook`.
    object: &'static str,
    /// The id.
    id: String,
    /// Always true.
    deleted: bool,
}

/// A secret that was replaced.
#[derive(Serialize, ToSchema)]
pub(super) struct RotatedSecret {
    /// Always `webhook`.
    object: &'static str,
    /// The id of the endpoint.
    id: String,
    /// What signs from here on.
    signing_secret: String,
    /// When the secret before it stops signing; null when it has.
    #[salvo(schema(required = true))]
    previous_secret_expires_at: Option<String>,
}

/// An event that was or will be delivered to an endpoint.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "WebhookEvent"))]
pub(super) struct DeliverySummary {
    /// The id. Each endpoint that hears of an event has its own.
    id: String,
    /// The type of the event.
    #[serde(rename = "type")]
    #[salvo(schema(rename = "type"))]
    event_type: &'static str,
    /// When the event happened.
    created_at: String,
    /// `pending`, `attempting`, `success` or `failed`.
    status: &'static str,
}

/// An event that was or will be delivered to an endpoint, with what is delivered.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "WebhookEventWithPayload"))]
pub(super) struct DeliveryResponse {
    /// Always `webhook_event`.
    object: &'static str,
    /// The id.
    id: String,
    /// The type of the event.
    #[serde(rename = "type")]
    #[salvo(schema(rename = "type"))]
    event_type: &'static str,
    /// When the event happened.
    created_at: String,
    /// `pending`, `attempting`, `success` or `failed`.
    status: &'static str,
    /// When it is tried next; null when it is not, or is being tried.
    #[salvo(schema(required = true))]
    next_attempt_at: Option<String>,
    /// The body of every request that delivers it; null once it is not kept any more.
    #[salvo(schema(required = true, value_type = Option<Object>))]
    payload: Option<Box<RawValue>>,
}

/// A request that carried an event.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "WebhookEventAttempt"))]
pub(super) struct AttemptResponse {
    /// The id.
    id: String,
    /// The status of the answer; 0 when there was none.
    http_status_code: u16,
    /// The start of the answer's body, or what went wrong.
    response: String,
    /// When it was sent.
    sent_at: String,
}

/// An event that is delivered again.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "WebhookEventReference"))]
pub(super) struct DeliveryReference {
    /// Always `webhook_event`.
    object: &'static str,
    /// The id.
    id: String,
}

/// A test that is on its way.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "WebhookTest"))]
pub(super) struct TestDelivery {
    /// Always `webhook_event`.
    object: &'static str,
    /// The id, under which it is read like any other.
    id: String,
    /// The type of the event.
    #[serde(rename = "type")]
    #[salvo(schema(rename = "type"))]
    event_type: &'static str,
    /// When it was asked for.
    created_at: String,
    /// `pending`.
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
    pub(super) fn of(webhook: Webhook, secret: &WebhookSecret) -> Self {
        let previous_secret_expires_at = webhook.previous_secret_expires_ms.map(to_iso);
        let WebhookResponse { object, id, endpoint, events, status, created_at } = webhook.into();
        let signing_secret = secret.reveal().to_owned();
        Self { object, id, endpoint, events, status, created_at, signing_secret, previous_secret_expires_at }
    }
}

/// The list of all types grows with the program, and is null as the compatible API's is.
fn events(subscription: SubscribedEvents) -> Option<Vec<&'static str>> {
    match subscription {
        SubscribedEvents::All => None,
        SubscribedEvents::Named(types) => Some(types.iter().map(EventType::as_str).collect()),
    }
}

impl CreatedWebhook {
    pub(super) fn of(id: WebhookId, secret: &WebhookSecret) -> Self {
        Self { object: "webhook", id: id.to_string(), signing_secret: secret.reveal().to_owned() }
    }
}

impl WebhookReference {
    pub(super) fn of(id: WebhookId) -> Self {
        Self { object: "webhook", id: id.to_string() }
    }
}

impl DeletedWebhook {
    pub(super) fn of(id: WebhookId) -> Self {
        Self { object: "webhook", id: id.to_string(), deleted: true }
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
    fn from(whole: DeliveryWithPayload) -> Self {
        let DeliveryWithPayload { delivery, payload } = whole;
        let next_attempt_at = delivery.next_attempt_ms.map(to_iso);
        let DeliverySummary { id, event_type, created_at, status } = delivery.into();
        // Shown as it is delivered, with its fields in their order.
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

impl DeliveryReference {
    pub(super) fn of(id: WebhookDeliveryId) -> Self {
        Self { object: "webhook_event", id: id.to_string() }
    }
}

impl From<Delivery> for TestDelivery {
    fn from(delivery: Delivery) -> Self {
        let DeliverySummary { id, event_type, created_at, status } = delivery.into();
        Self { object: "webhook_event", id, event_type, created_at, status }
    }
}
