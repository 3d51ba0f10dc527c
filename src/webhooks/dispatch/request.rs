//! One request: its headers, its signatures, and what came back.

use super::page::{ClaimedDelivery, EndpointSnapshot, ReadyDelivery};
use super::settle::{DeliveryDisposition, DeliveryOutcome};
use crate::base::clock::TimestampMs;
use crate::base::signature::sign;
use crate::context::Context;
use crate::http_client::HttpSession;
use crate::webhooks::retry::ResponseInfo;
use crate::webhooks::store::WebhookAttemptRow;

/// The longest sentence that is kept of a failure.
const FAILURE_CHARS_MAX: usize = 300;

/// Posts a delivery, signed with the secrets in force.
pub(super) async fn attempt(
    context: &Context,
    session: &mut HttpSession,
    endpoint: &EndpointSnapshot,
    work: ReadyDelivery,
    sent_ms: TimestampMs,
) -> DeliveryOutcome {
    let ReadyDelivery { taken, queued_ms: _, body, erasures } = work;
    let id = message_id(taken);
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
    let began = crate::base::clock::monotonic();
    let answer = session.post(&headers, body, sent_ms).await;
    let took_ms = u32::try_from(began.elapsed().as_millis()).unwrap_or(u32::MAX);
    let (answered, response) = match answer {
        Ok(answer) => (ResponseInfo { status: Some(answer.status), retry_after: answer.retry_after }, answer.body),
        Err(failure) => {
            let sentence = failure.to_string().chars().take(FAILURE_CHARS_MAX).collect();
            (ResponseInfo { status: None, retry_after: None }, sentence)
        }
    };
    let attempt = WebhookAttemptRow { id: context.id(), sent_ms, took_ms, status: answered.status, response };
    DeliveryOutcome { taken, fate: DeliveryDisposition::Attempted { attempt, answered, erasures } }
}

/// Returns what becomes of a delivery that could not be sent: an attempt without a request.
pub(super) fn not_sent(context: &Context, taken: ClaimedDelivery, why: &str) -> DeliveryOutcome {
    let answered = ResponseInfo { status: None, retry_after: None };
    let response = why.chars().take(FAILURE_CHARS_MAX).collect();
    let attempt = WebhookAttemptRow { id: context.id(), sent_ms: context.now_ms(), took_ms: 0, status: None, response };
    DeliveryOutcome {
        taken,
        fate: DeliveryDisposition::Attempted { attempt, answered, erasures: context.event_bus.erasure_generation() },
    }
}

/// Returns the `webhook-id`: the same in every attempt, so that a repeat can be told.
fn message_id(taken: ClaimedDelivery) -> String {
    format!("msg_{}", taken.delivery)
}
