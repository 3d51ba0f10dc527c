//! Rows of endpoints, deliveries and the delivery queue.

use serde::{Deserialize, Serialize};

use super::model::{SubscribedEvents, WEBHOOKS_MAX, Webhook, WebhookStatus};
use crate::base::clock::TimestampMs;
use crate::base::id::{EventId, TeamId, WebhookAttemptId, WebhookDeliveryId, WebhookId};
use crate::events::{Activation, EventType, MessageRow};
use crate::store::{KeyOf, Keyring, Order, Reads, Row, StoreError, WriteTx};
use crate::tables::{WEBHOOK_DELIVERIES, WEBHOOK_QUEUE, WEBHOOKS};
use crate::teams;

/// Attempts that a delivery row stores. A delivery whose endpoint keeps answering 429 has more.
pub(super) const ATTEMPTS_KEPT: usize = 16;

/// Row of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookRow {
    /// URL that receives the events.
    pub endpoint: String,
    pub subscription: SubscribedEvents,
    pub status: WebhookStatus,
    /// Number of times that the endpoint has been enabled again.
    pub activation: Activation,
    /// Signing secret with its prefix, sealed.
    #[serde(with = "serde_bytes")]
    pub secret: Vec<u8>,
    /// Previous secret, which signs during the overlap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<PreviousSecretRow>,
}
impl Row for WebhookRow {}

/// A secret that was replaced and signs until it expires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviousSecretRow {
    /// Sealed.
    #[serde(with = "serde_bytes")]
    pub secret: Vec<u8>,
    /// Time at which it stops signing.
    pub expires_ms: TimestampMs,
}

/// Row of the recent delivery results of an endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthRow {
    /// Exhausted deliveries since the last success.
    pub consecutive_failures: u32,
    /// Results of the last ten complete deliveries as bits, the newest in the lowest. An exhausted delivery is 1.
    pub recent_failures: u16,
    /// Number of complete deliveries, at most ten.
    pub recent_count: u8,
    /// Time of the last notice about failed deliveries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing_notified_ms: Option<TimestampMs>,
    /// Time of the last notice about a backlog.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog_notified_ms: Option<TimestampMs>,
    /// Failed attempts since the last success; `None` if the last attempt succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_attempts: Option<FailedAttemptsRow>,
}
impl Row for HealthRow {}

/// Failed attempts in a row, of any delivery to an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedAttemptsRow {
    pub count: u32,
    /// Time of the first one.
    pub since_ms: TimestampMs,
    /// Time of the last one.
    pub last_ms: TimestampMs,
    /// HTTP status of the last one; `None` if there was no response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

/// Row of a delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryRow {
    /// Event, which is also the key of the event message.
    pub event: EventId,
    pub event_type: EventType,
    /// Time of the event.
    pub at_ms: TimestampMs,
    /// Time of the last queueing: start of the retry schedule and of the 24 hours.
    pub queued_ms: TimestampMs,
    /// Activation of the endpoint at the last queueing. The delivery is not sent in another activation.
    pub activation: Activation,
    pub state: WebhookDeliveryState,
    /// Attempts of the retry schedule since the last queueing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub counted: u8,
    /// The last [`ATTEMPTS_KEPT`] attempts, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<WebhookAttemptRow>,
}
impl Row for DeliveryRow {}

impl DeliveryRow {
    /// Returns whether the delivery is not sent because its event, which has this message, was retracted. A delivery with a
    /// stored attempt is completed: the endpoint may have received the event.
    pub(super) fn is_revoked(&self, message: &MessageRow) -> bool {
        message.is_retracted && self.attempts.is_empty()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u8) -> bool {
    *number == 0
}

/// State of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WebhookDeliveryState {
    /// The queue contains a row with this due time.
    Queued {
        due_ms: TimestampMs,
    },
    /// The endpoint answered 2xx.
    Delivered {
        at_ms: TimestampMs,
    },
    Exhausted {
        at_ms: TimestampMs,
        why: ExhaustedReason,
    },
}

/// Reason of an exhausted delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExhaustedReason {
    /// All attempts of the retry schedule failed.
    Schedule,
    /// The delivery was not successful within 24 hours.
    Expired,
    /// The endpoint was disabled after the event, or deleted.
    Disabled,
    /// The event message is deleted or corrupt.
    PayloadMissing,
}

/// One attempt of a delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookAttemptRow {
    pub id: WebhookAttemptId,
    pub sent_ms: TimestampMs,
    /// Duration of the request.
    pub took_ms: u32,
    /// HTTP status; `None` if there was no response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Start of the response body, or the error.
    pub response: String,
}

/// Row of the delivery queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueRow {
    pub team: TeamId,
    /// Time of the last queueing.
    pub queued_ms: TimestampMs,
}
impl Row for QueueRow {}

impl WebhookRow {
    /// Returns the endpoint as of `now_ms`.
    pub fn webhook(&self, id: WebhookId, now_ms: TimestampMs) -> Webhook {
        let Self { endpoint, subscription, status, activation: _, secret: _, previous } = self;
        let expires_ms = previous.as_ref().map(|previous| previous.expires_ms);
        Webhook {
            id,
            endpoint: endpoint.clone(),
            subscription: *subscription,
            status: *status,
            created_ms: id.created_ms(),
            previous_secret_expires_ms: expires_ms.filter(|expires_ms| *expires_ms > now_ms),
        }
    }
}

/// Returns the row of an endpoint; `None` if the team has no such endpoint.
pub(super) fn find(tx: &impl Reads, team: TeamId, id: WebhookId) -> Result<Option<WebhookRow>, StoreError> {
    tx.get(&WEBHOOKS, &(team, id))
}

/// Returns the team of an endpoint; `None` if there is no such endpoint. Searches all teams: for corrupt rows only.
pub(super) fn owner(tx: &impl Reads, id: WebhookId) -> Result<Option<TeamId>, StoreError> {
    for team in teams::list(tx)? {
        if tx.contains(&WEBHOOKS, &(team.id, id))? {
            return Ok(Some(team.id));
        }
    }
    Ok(None)
}

/// Returns the ids of the team's endpoints, oldest first; at most [`WEBHOOKS_MAX`].
pub(super) fn ids(tx: &impl Reads, team: TeamId) -> Result<Vec<WebhookId>, StoreError> {
    tx.collect(&WEBHOOKS, KeyOf::bounds(team), Order::Ascending, |(_, id), _| Ok(Some(id)))
}

/// Returns whether the team has [`WEBHOOKS_MAX`] endpoints.
pub(super) fn is_full(tx: &impl Reads, team: TeamId) -> Result<bool, StoreError> {
    Ok(ids(tx, team)?.len() >= WEBHOOKS_MAX)
}

/// Seals a secret for an endpoint.
pub(super) fn seal_secret(keyring: &Keyring, id: WebhookId, secret: &str) -> Vec<u8> {
    keyring.seal(&secret_associated_data(id), secret.as_bytes())
}

/// Opens a secret of an endpoint.
///
/// # Errors
/// [`StoreError::Corrupt`] if the secret cannot be opened.
pub(super) fn open_secret(keyring: &Keyring, id: WebhookId, sealed: &[u8]) -> Result<String, StoreError> {
    let opened = keyring.open_sealed(&secret_associated_data(id), sealed)?;
    String::from_utf8(opened).map_err(|_| StoreError::Corrupt("a signing secret is not UTF-8".into()))
}

fn secret_associated_data(id: WebhookId) -> [u8; 17] {
    let mut data = [b'w'; 17];
    data[1..].copy_from_slice(id.as_bytes());
    data
}

/// Stores the row of a delivery, and its queue row if it is queued.
pub(super) fn put_queued(
    tx: &WriteTx<'_>,
    (team, webhook, id): (TeamId, WebhookId, WebhookDeliveryId),
    row: &DeliveryRow,
) -> Result<(), StoreError> {
    if let WebhookDeliveryState::Queued { due_ms } = row.state {
        tx.put(&WEBHOOK_QUEUE, &queue_key(webhook, due_ms, id), &QueueRow { team, queued_ms: row.queued_ms })?;
    }
    tx.put(&WEBHOOK_DELIVERIES, &(team, webhook, id), row)
}

/// Returns the key of a queue row.
pub(super) fn queue_key(
    webhook: WebhookId,
    due_ms: TimestampMs,
    id: WebhookDeliveryId,
) -> (WebhookId, u64, WebhookDeliveryId) {
    (webhook, u64::try_from(due_ms).unwrap_or(0), id)
}
