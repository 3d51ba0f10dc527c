//! The rows of endpoints and of the deliveries to them.

use serde::{Deserialize, Serialize};

use super::model::{SubscribedEvents, WEBHOOKS_MAX, Webhook, WebhookStatus};
use crate::base::clock::TimestampMs;
use crate::base::id::{EventId, Id, TeamId, WebhookAttemptId, WebhookDeliveryId, WebhookId};
use crate::events::{Activation, EventType};
use crate::store::{Keyring, NEXT, Order, Reads, Row, StoreError, WriteTx};
use crate::tables::{WEBHOOK_DELIVERIES, WEBHOOK_QUEUE, WEBHOOKS};
use crate::teams;

/// An endpoint on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookRow {
    /// Where events are posted to.
    pub endpoint: String,
    /// What it hears of.
    pub subscription: SubscribedEvents,
    /// Whether anything is delivered.
    pub status: WebhookStatus,
    /// Which of the times that it was enabled this is, or was the last.
    pub activation: Activation,
    /// The secret that signs, sealed: the text with its prefix.
    #[serde(with = "serde_bytes")]
    pub secret: Vec<u8>,
    /// The secret before it, while both sign.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<PreviousSecretRow>,
}
impl Row for WebhookRow {}

/// A secret that has been rotated out and signs for a while yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviousSecretRow {
    /// The secret, sealed.
    #[serde(with = "serde_bytes")]
    pub secret: Vec<u8>,
    /// When it stops signing.
    pub expires_ms: TimestampMs,
}

/// How the deliveries to an endpoint have ended of late, on disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthRow {
    /// Deliveries that ended in vain since the last that did not.
    pub consecutive_failures: u32,
    /// The last ten that ended, the newest in the lowest bit; set for one in vain.
    pub recent_failures: u16,
    /// How many have ended, up to ten.
    pub recent_count: u8,
    /// When the owners were last told that deliveries fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing_notified_ms: Option<TimestampMs>,
    /// When the owners were last told that deliveries wait too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog_notified_ms: Option<TimestampMs>,
}
impl Row for HealthRow {}

/// A delivery of one event to one endpoint, on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryRow {
    /// The event; its body lies under it.
    pub event: EventId,
    /// The event's type.
    pub event_type: EventType,
    /// When the event happened.
    pub at_ms: TimestampMs,
    /// When it was queued last: what the schedule and the 24 hours begin at.
    pub queued_ms: TimestampMs,
    /// The endpoint's term when it was queued last: it is not delivered in another.
    pub activation: Activation,
    /// How far it has come.
    pub state: WebhookDeliveryState,
    /// Attempts that count against the schedule, since it was queued last.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub counted: u8,
    /// What was tried, oldest first: the last sixteen attempts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<WebhookAttemptRow>,
}
impl Row for DeliveryRow {}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u8) -> bool {
    *number == 0
}

/// How far a delivery has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WebhookDeliveryState {
    /// In the queue, under this time.
    Queued {
        /// When it is due.
        due_ms: TimestampMs,
    },
    /// The endpoint answered 2xx.
    Delivered {
        /// When.
        at_ms: TimestampMs,
    },
    /// Given up.
    Exhausted {
        /// When.
        at_ms: TimestampMs,
        /// Why.
        why: ExhaustedReason,
    },
}

/// Why a delivery was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExhaustedReason {
    /// Every attempt of the schedule was made.
    Schedule,
    /// It was not delivered within 24 hours.
    Expired,
    /// Its endpoint was disabled meanwhile.
    Disabled,
    /// Its body is gone, or does not read.
    PayloadMissing,
}

/// One request that carried a delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookAttemptRow {
    /// Its id.
    pub id: WebhookAttemptId,
    /// When it was sent.
    pub sent_ms: TimestampMs,
    /// How long it took.
    pub took_ms: u32,
    /// The status of the answer; none when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The start of the answer's body, or what went wrong.
    pub response: String,
}

/// A delivery's place in the queue, on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueRow {
    /// Whose delivery it is.
    pub team: TeamId,
    /// When it was queued last.
    pub queued_ms: TimestampMs,
}
impl Row for QueueRow {}

impl WebhookRow {
    /// Returns the endpoint at `now_ms`.
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

/// Returns an endpoint's row.
///
/// # Errors
/// [`StoreError`].
pub(super) fn find(tx: &impl Reads, team: TeamId, id: WebhookId) -> Result<Option<WebhookRow>, StoreError> {
    tx.get(&WEBHOOKS, &(team, id))
}

/// Returns whose endpoint it is, by asking for it in every team: where nothing else says so.
///
/// # Errors
/// [`StoreError`].
pub(super) fn owner(tx: &impl Reads, id: WebhookId) -> Result<Option<TeamId>, StoreError> {
    for team in teams::list(tx)? {
        if tx.contains(&WEBHOOKS, &(team.id, id))? {
            return Ok(Some(team.id));
        }
    }
    Ok(None)
}

/// Returns the ids of the team's endpoints, oldest first; at most [`WEBHOOKS_MAX`].
///
/// # Errors
/// [`StoreError`].
pub(super) fn ids(tx: &impl Reads, team: TeamId) -> Result<Vec<WebhookId>, StoreError> {
    let mut ids = Vec::new();
    tx.scan(&WEBHOOKS, &(team, Id::MIN), &(team, Id::MAX), Order::Ascending, |(_, id), _| {
        ids.push(id);
        NEXT
    })?;
    Ok(ids)
}

/// Returns whether the team has as many endpoints as a team can have.
///
/// # Errors
/// [`StoreError`].
pub(super) fn is_full(tx: &impl Reads, team: TeamId) -> Result<bool, StoreError> {
    Ok(ids(tx, team)?.len() >= WEBHOOKS_MAX)
}

/// Seals a secret for an endpoint.
pub(super) fn seal_secret(keyring: &Keyring, id: WebhookId, secret: &str) -> Vec<u8> {
    keyring.seal(&secret_place(id), secret.as_bytes())
}

/// Opens a secret of an endpoint.
///
/// # Errors
/// [`StoreError::Corrupt`] when it does not open.
pub(super) fn open_secret(keyring: &Keyring, id: WebhookId, sealed: &[u8]) -> Result<String, StoreError> {
    let opened = keyring.open_sealed(&secret_place(id), sealed)?;
    String::from_utf8(opened).map_err(|_| StoreError::Corrupt("a signing secret is no text".into()))
}

fn secret_place(id: WebhookId) -> [u8; 17] {
    let mut place = [b'w'; 17];
    place[1..].copy_from_slice(id.as_bytes());
    place
}

/// Queues a delivery: its row and its place in the queue.
///
/// # Errors
/// [`StoreError`].
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

/// Returns the key of a delivery's place in the queue.
pub(super) fn queue_key(
    webhook: WebhookId,
    due_ms: TimestampMs,
    id: WebhookDeliveryId,
) -> (WebhookId, u64, WebhookDeliveryId) {
    (webhook, u64::try_from(due_ms).unwrap_or(0), id)
}
