//! Tests of the use cases with a real store.

mod deleting;
mod deliveries;
mod endpoints;

use super::store::{self, ATTEMPTS_KEPT, WebhookRow};
use super::*;
use crate::base::id::{EventId, Id, TeamId, WebhookDeliveryId, WebhookId};
use crate::context::Context;
use crate::events::{self, EventType, EventTypes, MessageRow};
use crate::http_client::{CustomerUrl, UrlPolicy};
use crate::store::{Reads as _, WriteTx};
use crate::tables::{EVENT_MESSAGES, EVENT_SUBSCRIPTIONS, WEBHOOK_DELIVERIES, WEBHOOK_QUEUE, WEBHOOKS};

const TEAM: TeamId = Id::from_bytes([1; 16]);
const OTHER: TeamId = Id::from_bytes([2; 16]);

fn webhooks(context: &Context) -> Webhooks {
    Webhooks::new(context.clone(), DispatchNotifier::default(), UrlPolicy::default())
}

fn types(types: &[EventType]) -> EventTypes {
    types.iter().copied().collect()
}

fn new(subscription: SubscribedEvents) -> NewWebhook {
    let endpoint = CustomerUrl::parse("https://hooks.example.com/mail", &UrlPolicy::default()).unwrap();
    NewWebhook { endpoint, subscription, status: WebhookStatus::Enabled, secret: None }
}

/// Creates an endpoint that subscribes to `email.sent`.
async fn create(webhooks: &Webhooks, team: TeamId) -> WebhookId {
    let new = new(SubscribedEvents::Named(types(&[EventType::EmailSent])));
    webhooks.create(team, new).await.unwrap().0
}

fn row(context: &Context, team: TeamId, id: WebhookId) -> WebhookRow {
    context.read(|tx| store::find(tx, team, id)).unwrap()
}

/// Returns the subscriptions of a team's endpoints.
fn subscriptions(context: &Context, team: TeamId) -> Vec<(WebhookId, EventTypes)> {
    let row = context.read(|tx| tx.get(&EVENT_SUBSCRIPTIONS, &(team,)));
    row.unwrap_or_default().endpoints.into_iter().map(|(id, _, types)| (id, types)).collect()
}

/// Stores `count` deliveries in `state`, each of its own event. Returns them with their events.
async fn put_deliveries(
    context: &Context,
    (team, webhook): (TeamId, WebhookId),
    state: WebhookDeliveryState,
    count: usize,
) -> Vec<(WebhookDeliveryId, EventId)> {
    let put: Vec<(WebhookDeliveryId, EventId)> = (0..count).map(|_| (context.id(), context.id())).collect();
    let (putting, at_ms) = (put.clone(), context.now_ms());
    let fill = move |tx: &WriteTx<'_>| {
        for (id, event) in &putting {
            let event_type = EventType::EmailSent;
            let message = MessageRow::new(event_type, at_ms - 5, r#"{"type":"email.sent"}"#.into());
            events::put_message(tx, team, *event, &message)?;
            let row = DeliveryRow {
                event: *event,
                event_type,
                at_ms: at_ms - 5,
                queued_ms: at_ms,
                activation: 0,
                state,
                counted: 3,
                attempts: Vec::new(),
            };
            store::put_queued(tx, (team, webhook, *id), &row)?;
        }
        Ok(())
    };
    context.commit(fill).await;
    put
}

/// Returns the numbers of all deliveries and all queue rows.
fn rows_left(context: &Context) -> (usize, usize) {
    (context.keys(&WEBHOOK_DELIVERIES).len(), context.keys(&WEBHOOK_QUEUE).len())
}
