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
use crate::store::{Encoded, Key, NEXT, Order, Reads as _, StoreError, Table, Value, WriteTx};
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

async fn write<T: Send + 'static>(
    context: &Context,
    work: impl Fn(&WriteTx<'_>) -> Result<T, StoreError> + Send + 'static,
) -> T {
    context.store.write(work).await.unwrap()
}

fn row(context: &Context, team: TeamId, id: WebhookId) -> WebhookRow {
    context.store.read_now(|tx| store::find(tx, team, id)).unwrap().unwrap()
}

/// Returns the subscriptions of a team's endpoints.
fn subscriptions(context: &Context, team: TeamId) -> Vec<(WebhookId, EventTypes)> {
    let row = context.store.read_now::<_, StoreError>(|tx| tx.get(&EVENT_SUBSCRIPTIONS, &(team,))).unwrap();
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
    write(context, move |tx| {
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
    })
    .await;
    put
}

fn count<K: Key, V: Value>(context: &Context, table: &Table<K, V>, (from, to): (K, K)) -> usize {
    let mut rows = 0;
    let counted = context.store.read_now::<_, StoreError>(|tx| {
        tx.scan(table, &from, &to, Order::Ascending, |_, _| {
            rows += 1;
            NEXT
        })
    });
    counted.unwrap();
    rows
}

/// Returns the numbers of all deliveries and all queue rows.
fn rows_left(context: &Context) -> (usize, usize) {
    let deliveries = count(context, &WEBHOOK_DELIVERIES, ((Id::MIN, Id::MIN, Id::MIN), (Id::MAX, Id::MAX, Id::MAX)));
    (deliveries, count(context, &WEBHOOK_QUEUE, ((Id::MIN, 0, Id::MIN), (Id::MAX, u64::MAX, Id::MAX))))
}
