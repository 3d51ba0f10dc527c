//! Sends one request: headers, signatures, and the outcome.

use super::page::{ClaimedDelivery, EndpointSnapshot, ReadyDelivery};
use super::settle::{DeliveryDisposition, DeliveryOutcome};
use crate::base::clock::{TimestampMs, monotonic};
use crate::base::signature::sign;
use crate::context::Context;
use crate::http_client::HttpSession;
use crate::webhooks::retry::ResponseInfo;
use crate::webhooks::store::WebhookAttemptRow;

/// Characters of an error text that are stored.
const ERROR_CHARS_MAX: usize = 300;

/// Posts a delivery, signed with the secrets that are valid at `sent_ms`.
pub(super) async fn send(
    context: &Context,
    session: &mut HttpSession,
    endpoint: &EndpointSnapshot,
    delivery: ReadyDelivery,
    sent_ms: TimestampMs,
) -> DeliveryOutcome {
    let ReadyDelivery { claimed, queued_ms: _, body, erasure_generation } = delivery;
    let id = message_id(claimed);
    let timestamp_s = sent_ms.div_euclid(1_000);
    let timestamp = timestamp_s.to_string();
    let signatures: Vec<String> =
        endpoint.secrets(sent_ms).map(|secret| sign(secret, &id, timestamp_s, &body)).collect();
    let signature = signatures.join(" ");
    let headers = [
        ("content-type", "application/json"),
        ("webhook-id", id.as_str()),
        ("webhook-timestamp", timestamp.as_str()),
        ("webhook-signature", signature.as_str()),
        ("svix-id", id.as_str()),
        ("svix-timestamp", timestamp.as_str()),
        ("svix-signature", signature.as_str()),
    ];
    let started = monotonic();
    let result = session.post(&headers, body, sent_ms).await;
    let took_ms = u32::try_from(started.elapsed().as_millis()).unwrap_or(u32::MAX);
    let (info, response) = match result {
        Ok(response) => {
            (ResponseInfo { status: Some(response.status), retry_after: response.retry_after }, response.body)
        }
        Err(error) => {
            let text = error.to_string().chars().take(ERROR_CHARS_MAX).collect();
            (ResponseInfo { status: None, retry_after: None }, text)
        }
    };
    let attempt = WebhookAttemptRow { id: context.id(), sent_ms, took_ms, status: info.status, response };
    DeliveryOutcome { claimed, disposition: DeliveryDisposition::Attempted { attempt, info, erasure_generation } }
}

/// Returns the `webhook-id`. It is the same in every attempt, so that the receiver can detect duplicates.
fn message_id(claimed: ClaimedDelivery) -> String {
    format!("msg_{}", claimed.delivery)
}
