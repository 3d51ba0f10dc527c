//! Deliveries of webhooks with their last attempts.

use salvo::writing::Json;
use salvo::{Writer as _, handler};
use serde::Serialize;
use serde_json::value::RawValue;

use super::reply::DataList;
use crate::api_keys::Caller;
use crate::base::clock::to_iso;
use crate::base::id::{WebhookDeliveryId, WebhookId, resource};
use crate::http::{ApiResult, ListQuery, PathId, State};
use crate::store::page::{Cursor, PageQuery};
use crate::webhooks::{Delivery, WebhookAttemptRow, WebhookDeliveryReport, Webhooks};

/// Maximum number of attempts of a delivery. A delivery stores fewer.
const ATTEMPTS_MAX: usize = 100;

#[derive(Serialize)]
pub(super) struct DeliveryView {
    id: String,
    webhook_id: String,
    endpoint: String,
    event: &'static str,
    status: &'static str,
    attempts: usize,
    next_attempt_at: Option<String>,
    response_status: Option<u16>,
    duration_ms: Option<u32>,
    created_at: String,
}

#[derive(Serialize)]
struct DeliveryDetails {
    object: &'static str,
    id: String,
    webhook_id: String,
    event: &'static str,
    status: &'static str,
    next_attempt_at: Option<String>,
    created_at: String,
    payload: Option<Box<RawValue>>,
    attempts: Vec<AttemptView>,
}

#[derive(Serialize)]
struct AttemptView {
    id: String,
    sent_at: String,
    duration_ms: u32,
    response_status: Option<u16>,
    response: String,
}

impl From<WebhookDeliveryReport> for DeliveryView {
    fn from(report: WebhookDeliveryReport) -> Self {
        let WebhookDeliveryReport { webhook, endpoint, delivery, attempts, response_status, duration_ms } = report;
        let Delivery { id, event_type, at_ms, status, next_attempt_ms } = delivery;
        Self {
            id: id.to_string(),
            webhook_id: webhook.to_string(),
            endpoint,
            event: event_type.as_str(),
            status: status.as_str(),
            attempts,
            next_attempt_at: next_attempt_ms.map(to_iso),
            response_status,
            duration_ms,
            created_at: to_iso(at_ms),
        }
    }
}

impl From<WebhookAttemptRow> for AttemptView {
    fn from(attempt: WebhookAttemptRow) -> Self {
        let WebhookAttemptRow { id, sent_ms, took_ms, status, response } = attempt;
        Self { id: id.to_string(), sent_at: to_iso(sent_ms), duration_ms: took_ms, response_status: status, response }
    }
}

/// Lists the deliveries to an endpoint, newest first.
#[handler]
pub(super) async fn list_deliveries(
    webhooks: State<Webhooks>,
    caller: Caller,
    id: PathId<resource::Webhook>,
    query: ListQuery<resource::WebhookDelivery>,
) -> ApiResult<Json<DataList<DeliveryView>>> {
    let page = webhooks.delivery_reports(caller.team, id.0, query.0).await?;
    Ok(Json(DataList::new(page.rows.into_iter().map(DeliveryView::from).collect(), page.has_more)))
}

/// Returns a delivery with its payload and its attempts.
#[handler]
pub(super) async fn get_delivery(
    webhooks: State<Webhooks>,
    caller: Caller,
    id: PathId<resource::Webhook>,
    event_id: PathId<resource::WebhookDelivery>,
) -> ApiResult<Json<DeliveryDetails>> {
    let (webhook, delivery): (WebhookId, WebhookDeliveryId) = (id.0, event_id.0);
    let found = webhooks.delivery(caller.team, webhook, delivery).await?;
    let attempts = PageQuery { limit: ATTEMPTS_MAX, cursor: Cursor::Newest };
    let attempts = webhooks.attempts(caller.team, webhook, delivery, attempts).await?;
    let Delivery { id, event_type, at_ms, status, next_attempt_ms } = found.delivery;
    Ok(Json(DeliveryDetails {
        object: "webhook_delivery",
        id: id.to_string(),
        webhook_id: webhook.to_string(),
        event: event_type.as_str(),
        status: status.as_str(),
        next_attempt_at: next_attempt_ms.map(to_iso),
        created_at: to_iso(at_ms),
        payload: found.payload.and_then(|body| RawValue::from_string(body).ok()),
        attempts: attempts.rows.into_iter().map(AttemptView::from).collect(),
    }))
}
