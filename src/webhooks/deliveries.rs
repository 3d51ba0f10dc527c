//! Use cases of deliveries: list and read them and their attempts, replay one, send a test.

use super::dispatch::DispatchNotifier;
use super::error::{DeliveryError, ReplayError, TestWebhookError};
use super::model::{Delivery, DeliveryStatus, DeliveryWithPayload, WebhookStatus};
use super::service::{Webhooks, entry};
use super::store::{self, ATTEMPTS_KEPT, DeliveryRow, WebhookAttemptRow, WebhookDeliveryState};
use crate::audit::{self, AuditAction, TeamActor};
use crate::base::id::{EventId, TeamId, WebhookAttemptId, WebhookDeliveryId, WebhookId};
use crate::events::{self, EventType, MessageRow};
use crate::store::page::{Page, PageQuery, page_of, page_under};
use crate::store::{Reads, WriteTx};
use crate::tables::{WEBHOOK_DELIVERIES, WEBHOOK_QUEUE, WEBHOOKS};

/// Event type of a test if the request names none and the endpoint subscribes to it.
const TEST_TYPE: EventType = EventType::EmailDelivered;

impl Webhooks {
    /// Returns a page of the deliveries to an endpoint, newest first.
    pub async fn deliveries(
        &self,
        team: TeamId,
        webhook: WebhookId,
        query: PageQuery<WebhookDeliveryId>,
    ) -> Result<Page<Delivery>, DeliveryError> {
        let notifier = self.notifier.clone();
        self.context
            .store
            .read(move |tx| {
                if !tx.contains(&WEBHOOKS, &(team, webhook))? {
                    return Err(DeliveryError::UnknownWebhook);
                }
                let show = |id, row| Ok(Some(delivery(id, &row, &notifier)));
                Ok(page_under(tx, &WEBHOOK_DELIVERIES, team, webhook, query, show)?)
            })
            .await
    }

    /// Returns a delivery with its event message.
    pub async fn delivery(
        &self,
        team: TeamId,
        webhook: WebhookId,
        id: WebhookDeliveryId,
    ) -> Result<DeliveryWithPayload, DeliveryError> {
        let notifier = self.notifier.clone();
        self.context
            .store
            .read(move |tx| {
                let row = find(tx, team, webhook, id)?;
                let message = events::message(tx, team, row.event)?;
                let delivery = delivery(id, &row, &notifier);
                Ok(DeliveryWithPayload { delivery, payload: message.map(|message| message.body) })
            })
            .await
    }

    /// Returns a page of the attempts of a delivery, newest first.
    pub async fn attempts(
        &self,
        team: TeamId,
        webhook: WebhookId,
        id: WebhookDeliveryId,
        query: PageQuery<WebhookAttemptId>,
    ) -> Result<Page<WebhookAttemptRow>, DeliveryError> {
        self.context
            .store
            .read(move |tx| {
                let mut attempts = find(tx, team, webhook, id)?.attempts;
                attempts.reverse();
                let oldest = attempts.last().filter(|_| attempts.len() >= ATTEMPTS_KEPT).map(|attempt| attempt.id);
                // Each further attempt removes the oldest. A cursor between the two can be a removed one.
                let was_attempt = |cursor: WebhookAttemptId| {
                    Ok(oldest.is_some_and(|oldest| cursor < oldest) && cursor.as_bytes() > id.as_bytes())
                };
                Ok(page_of(attempts, query, |attempt| attempt.id, was_attempt)?)
            })
            .await
    }

    /// Queues a delivery again under the same id, due immediately and with a new retry schedule.
    pub async fn replay(
        &self,
        by: impl Into<TeamActor>,
        webhook: WebhookId,
        id: WebhookDeliveryId,
    ) -> Result<(), ReplayError> {
        let (by, notifier, context) = (by.into(), self.notifier.clone(), self.context.clone());
        let team = by.team;
        self.context
            .store
            .write(move |tx| {
                let now_ms = context.now_ms();
                let endpoint = store::find(tx, team, webhook)?.ok_or(ReplayError::UnknownWebhook)?;
                let row = tx.get(&WEBHOOK_DELIVERIES, &(team, webhook, id))?.ok_or(ReplayError::UnknownDelivery)?;
                if endpoint.status != WebhookStatus::Enabled {
                    return Err(ReplayError::Disabled);
                }
                let message = events::message(tx, team, row.event)?.ok_or(ReplayError::PayloadDeleted)?;
                if row.is_revoked(&message) {
                    return Err(ReplayError::Retracted);
                }
                if let WebhookDeliveryState::Queued { due_ms } = row.state {
                    tx.delete(&WEBHOOK_QUEUE, &store::queue_key(webhook, due_ms, id))?;
                }
                let state = WebhookDeliveryState::Queued { due_ms: now_ms };
                let row = DeliveryRow { queued_ms: now_ms, activation: endpoint.activation, counted: 0, state, ..row };
                store::put_queued(tx, (team, webhook, id), &row)?;
                let entry = entry(AuditAction::WebhookReplayed, webhook, &endpoint);
                audit::record(tx, &context, by, entry.with("event_id", id.to_string()))?;
                notify_queued(tx, &notifier, webhook);
                Ok(())
            })
            .await
    }

    /// Queues a sample event for one endpoint. Without `wanted`, its type is [`TEST_TYPE`] or else the first type
    /// that the endpoint subscribes to.
    pub async fn test(
        &self,
        by: impl Into<TeamActor>,
        webhook: WebhookId,
        wanted: Option<EventType>,
    ) -> Result<Delivery, TestWebhookError> {
        let (by, notifier, context) = (by.into(), self.notifier.clone(), self.context.clone());
        let team = by.team;
        self.context
            .store
            .write(move |tx| {
                let now_ms = context.now_ms();
                let endpoint = store::find(tx, team, webhook)?.ok_or(TestWebhookError::NotFound)?;
                if endpoint.status != WebhookStatus::Enabled {
                    return Err(TestWebhookError::Disabled);
                }
                let types = endpoint.subscription.types();
                let default = || if types.contains(TEST_TYPE) { Some(TEST_TYPE) } else { types.iter().next() };
                let event_type = wanted.or_else(default).unwrap_or(TEST_TYPE);
                if !types.contains(event_type) {
                    return Err(TestWebhookError::NotSubscribed(event_type));
                }
                let (event, id): (EventId, WebhookDeliveryId) = (context.id(), context.id());
                let body = events::sample(event_type, now_ms);
                let message = MessageRow::new(event_type, now_ms, body);
                events::put_message(tx, team, event, &message)?;
                let state = WebhookDeliveryState::Queued { due_ms: now_ms };
                let row = DeliveryRow {
                    event,
                    event_type,
                    at_ms: now_ms,
                    queued_ms: now_ms,
                    activation: endpoint.activation,
                    state,
                    counted: 0,
                    attempts: Vec::new(),
                };
                store::put_queued(tx, (team, webhook, id), &row)?;
                let entry = entry(AuditAction::WebhookTested, webhook, &endpoint);
                audit::record(tx, &context, by, entry.with("event", event_type.as_str()))?;
                notify_queued(tx, &notifier, webhook);
                let (status, next_attempt_ms) = (DeliveryStatus::Pending, Some(now_ms));
                Ok(Delivery { id, event_type, at_ms: now_ms, status, next_attempt_ms })
            })
            .await
    }
}

fn find(
    tx: &impl Reads,
    team: TeamId,
    webhook: WebhookId,
    id: WebhookDeliveryId,
) -> Result<DeliveryRow, DeliveryError> {
    // Deliveries of a deleted endpoint can still be stored.
    if !tx.contains(&WEBHOOKS, &(team, webhook))? {
        return Err(DeliveryError::UnknownWebhook);
    }
    tx.get(&WEBHOOK_DELIVERIES, &(team, webhook, id))?.ok_or(DeliveryError::UnknownDelivery)
}

/// Notifies the dispatcher of a queued delivery after the commit. The endpoint itself is unchanged.
fn notify_queued(tx: &WriteTx<'_>, notifier: &DispatchNotifier, webhook: WebhookId) {
    let notifier = notifier.clone();
    tx.after_commit(move || notifier.deliveries_queued([webhook]));
}

pub(super) fn delivery(id: WebhookDeliveryId, row: &DeliveryRow, notifier: &DispatchNotifier) -> Delivery {
    let DeliveryRow { event: _, event_type, at_ms, queued_ms: _, activation: _, state, counted: _, attempts: _ } = row;
    let (status, next_attempt_ms) = match state {
        WebhookDeliveryState::Queued { .. } if notifier.is_attempting(id) => (DeliveryStatus::Attempting, None),
        WebhookDeliveryState::Queued { due_ms } => (DeliveryStatus::Pending, Some(*due_ms)),
        WebhookDeliveryState::Delivered { at_ms: _ } => (DeliveryStatus::Success, None),
        WebhookDeliveryState::Exhausted { at_ms: _, why: _ } => (DeliveryStatus::Failed, None),
    };
    Delivery { id, event_type: *event_type, at_ms: *at_ms, status, next_attempt_ms }
}
