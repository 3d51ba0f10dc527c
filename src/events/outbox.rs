//! Subscriptions of endpoints, and the outbox: events with their subscribed endpoints, waiting for the fan-out.
//!
//! The transaction of an event stores two rows if any endpoint is subscribed, however many there are: the event
//! message and the outbox row. Without a subscribed endpoint it stores none. The fan-out creates one delivery for
//! each endpoint, for many events in one commit. An endpoint that is created or enabled after the event gets no
//! delivery of it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::message::{MessageRow, put_message};
use super::types::{EventType, EventTypes};
use crate::base::clock::TimestampMs;
use crate::base::id::{EventId, Id, TeamId, WebhookId};
use crate::context::Context;
use crate::event_bus::PublishedEvent;
use crate::store::{NEXT, Order, Reads, Row, STOP, StoreError, WriteTx, skip_corrupt};
use crate::tables::{EVENT_MESSAGES, EVENT_OUTBOX, EVENT_SUBSCRIPTIONS};

/// Number of times an endpoint has been enabled. A delivery queued in one activation is not sent in another.
pub type Activation = u32;

/// Subscriptions of the enabled endpoints of a team.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscriptionsRow {
    /// Endpoints, oldest first, with activation and event types.
    pub endpoints: Vec<(WebhookId, Activation, EventTypes)>,
}
impl Row for SubscriptionsRow {}

/// Event whose deliveries have not been queued yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxRow {
    pub event_type: EventType,
    /// Time of the event.
    pub at_ms: TimestampMs,
    /// Time of recording. A delivery expires 24 hours later.
    pub queued_ms: TimestampMs,
    /// Subscribed endpoints with their activations at that time.
    pub endpoints: Vec<(WebhookId, Activation)>,
}
impl Row for OutboxRow {}

/// Subscribes an endpoint to `types`, instead of its previous types.
pub fn subscribe(
    tx: &WriteTx<'_>,
    team: TeamId,
    (webhook, activation): (WebhookId, Activation),
    types: EventTypes,
) -> Result<(), StoreError> {
    let mut row = tx.get(&EVENT_SUBSCRIPTIONS, &(team,))?.unwrap_or_default();
    row.endpoints.retain(|(endpoint, ..)| *endpoint != webhook);
    row.endpoints.push((webhook, activation, types));
    row.endpoints.sort_unstable_by_key(|(endpoint, ..)| *endpoint);
    tx.put(&EVENT_SUBSCRIPTIONS, &(team,), &row)
}

/// Unsubscribes an endpoint from all types.
pub fn unsubscribe(tx: &WriteTx<'_>, team: TeamId, webhook: WebhookId) -> Result<(), StoreError> {
    let Some(mut row) = tx.get(&EVENT_SUBSCRIPTIONS, &(team,))? else { return Ok(()) };
    row.endpoints.retain(|(endpoint, ..)| *endpoint != webhook);
    if row.endpoints.is_empty() {
        tx.delete(&EVENT_SUBSCRIPTIONS, &(team,))?;
        return Ok(());
    }
    tx.put(&EVENT_SUBSCRIPTIONS, &(team,), &row)
}

/// Identity, type and time of an event.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventHeader {
    pub(super) team: TeamId,
    pub(super) id: EventId,
    pub(super) event_type: EventType,
    pub(super) at_ms: TimestampMs,
}

/// Stores an event in the outbox for its subscribed endpoints, and publishes it to live streams after the commit.
/// Calls `body` only if there is an endpoint or a stream. If the body cannot be composed because of a corrupt row and
/// only streams need it, the event is not published and the transaction succeeds.
pub(super) fn publish(
    tx: &WriteTx<'_>,
    context: &Context,
    header: EventHeader,
    body: impl FnOnce() -> Result<String, StoreError>,
) -> Result<(), StoreError> {
    let EventHeader { team, id, event_type, at_ms: _ } = header;
    let endpoints = subscribers(tx, team, event_type)?;
    let has_streams = context.event_bus.has_subscribers(team);
    if endpoints.is_empty() && !has_streams {
        return Ok(());
    }
    let body = if endpoints.is_empty() {
        skip_corrupt(body(), format_args!("the message of event {id} of team {team} for live streams"))?
    } else {
        Some(body()?)
    };
    let Some(body) = body else { return Ok(()) };
    let published = has_streams.then(|| PublishedEvent {
        team,
        id,
        event_type: event_type.as_str(),
        body: Arc::from(body.as_str()),
    });
    let is_queued = !endpoints.is_empty();
    if is_queued {
        queue(tx, context, header, endpoints, body)?;
    }
    let event_bus = context.event_bus.clone();
    tx.after_commit(move || {
        if is_queued {
            event_bus.outbox().notify();
        }
        if let Some(event) = published {
            event_bus.publish(event);
        }
    });
    Ok(())
}

fn queue(
    tx: &WriteTx<'_>,
    context: &Context,
    header: EventHeader,
    endpoints: Vec<(WebhookId, Activation)>,
    body: String,
) -> Result<(), StoreError> {
    let EventHeader { team, id, event_type, at_ms } = header;
    put_message(tx, team, id, &MessageRow::new(event_type, at_ms, body))?;
    let row = OutboxRow { event_type, at_ms, queued_ms: context.now_ms(), endpoints };
    tx.put(&EVENT_OUTBOX, &(team, id), &row)
}

/// Takes a retracted event out of the outbox, with its message. If the event has been fanned out, marks the message: the
/// dispatcher deletes the deliveries without an attempt when it loads them. A search for them would read all later
/// deliveries of each endpoint.
pub(super) fn retract(tx: &WriteTx<'_>, team: TeamId, event: EventId) -> Result<(), StoreError> {
    if tx.delete(&EVENT_OUTBOX, &(team, event))? {
        tx.delete(&EVENT_MESSAGES, &(team, event))?;
        return Ok(());
    }
    match tx.get_valid(&EVENT_MESSAGES, &(team, event))? {
        Some(row) => put_message(tx, team, event, &MessageRow { is_retracted: true, ..row }),
        None => Ok(()),
    }
}

/// Returns the enabled endpoints of a team with their activations.
pub fn enabled_endpoints(tx: &impl Reads, team: TeamId) -> Result<Vec<(WebhookId, Activation)>, StoreError> {
    let row = tx.get(&EVENT_SUBSCRIPTIONS, &(team,))?.unwrap_or_default();
    Ok(row.endpoints.into_iter().map(|(webhook, activation, _)| (webhook, activation)).collect())
}

fn subscribers(
    tx: &impl Reads,
    team: TeamId,
    event_type: EventType,
) -> Result<Vec<(WebhookId, Activation)>, StoreError> {
    let Some(row) = tx.get(&EVENT_SUBSCRIPTIONS, &(team,))? else { return Ok(Vec::new()) };
    let subscribed = row.endpoints.into_iter().filter(|(.., types)| types.contains(event_type));
    Ok(subscribed.map(|(webhook, activation, _)| (webhook, activation)).collect())
}

/// Event in the outbox.
#[derive(Clone, Debug)]
pub struct OutboxEntry {
    pub team: TeamId,
    pub event: EventId,
    pub row: OutboxRow,
}

/// Events removed from the outbox.
#[derive(Clone, Debug)]
pub struct OutboxBatch {
    /// Events, oldest first for each team.
    pub events: Vec<OutboxEntry>,
    /// Last team whose events were taken. The next batch starts after it.
    pub last_team: TeamId,
    pub is_outbox_empty: bool,
}

/// Removes events from the outbox until they amount to `deliveries_max` deliveries or more. Teams are served
/// round-robin in the order of their ids after `last`, with a quarter of the batch each. The backlog of one team
/// therefore does not delay another. The caller queues a delivery for each endpoint in the same transaction. Deletes
/// and skips corrupt rows.
pub fn take_batch(tx: &WriteTx<'_>, last: TeamId, deliveries_max: usize) -> Result<OutboxBatch, StoreError> {
    let mut batch = OutboxBatch { events: Vec::new(), last_team: last, is_outbox_empty: false };
    let mut left = deliveries_max;
    while left > 0 && !batch.is_outbox_empty {
        let team_batch = take_team_batch(tx, batch.last_team, left.min(deliveries_max.div_ceil(4)))?;
        // The first team follows the last.
        batch.is_outbox_empty = team_batch.team.is_none() && batch.last_team == TeamId::MIN;
        batch.last_team = team_batch.team.unwrap_or(TeamId::MIN);
        batch.events.extend(team_batch.events);
        left = left.saturating_sub(team_batch.deliveries);
    }
    Ok(batch)
}

/// Events of one team.
#[derive(Default)]
struct TeamBatch {
    /// `None` if no team after the last has events.
    team: Option<TeamId>,
    events: Vec<OutboxEntry>,
    deliveries: usize,
}

fn take_team_batch(tx: &WriteTx<'_>, last: TeamId, deliveries_max: usize) -> Result<TeamBatch, StoreError> {
    let (mut batch, mut keys) = (TeamBatch::default(), Vec::new());
    let from = if last == TeamId::MIN { (last, Id::MIN) } else { (last, Id::MAX) };
    tx.scan(&EVENT_OUTBOX, &from, &(Id::MAX, Id::MAX), Order::Ascending, |(team, event), row| {
        if *batch.team.get_or_insert(team) != team {
            return STOP;
        }
        keys.push((team, event));
        if let Some(row) = row.valid() {
            batch.deliveries += row.endpoints.len();
            batch.events.push(OutboxEntry { team, event, row });
        } else {
            batch.deliveries += 1;
        }
        if batch.deliveries < deliveries_max { NEXT } else { STOP }
    })?;
    for key in keys {
        tx.delete(&EVENT_OUTBOX, &key)?;
    }
    Ok(batch)
}

#[cfg(test)]
mod tests {
    use tokio::sync::broadcast;

    use super::*;
    use crate::event_bus::BusMessage;

    fn team(number: u8) -> TeamId {
        TeamId::from_bytes([number; 16])
    }

    /// Stores a row and publishes an event of the first team with the body that `body` returns.
    async fn publish_with(
        context: &Context,
        body: impl Fn() -> Result<String, StoreError> + Send + 'static,
    ) -> Result<(), StoreError> {
        let (publishing, id, at_ms) = (context.clone(), context.id(), context.now_ms());
        let header = EventHeader { team: team(1), id, event_type: EventType::ContactCreated, at_ms };
        let fact = MessageRow::new(header.event_type, at_ms, String::new());
        let write = move |tx: &WriteTx<'_>| {
            tx.put(&EVENT_MESSAGES, &(team(9), id), &fact)?;
            publish(tx, &publishing, header, &body)
        };
        context.store.write(write).await
    }

    /// Returns the body of the next published event.
    fn next_body(receiver: &mut broadcast::Receiver<BusMessage>) -> Arc<str> {
        receiver.try_recv().unwrap().body()
    }

    #[tokio::test]
    async fn a_body_is_composed_only_for_streams_of_its_team() {
        let (_directory, context) = Context::temporary();
        let theirs = context.event_bus.subscribe(team(2));
        publish_with(&context, || panic!("the team has no stream")).await.unwrap();

        let mut ours = context.event_bus.subscribe(team(1));
        publish_with(&context, || Ok("{}".into())).await.unwrap();

        assert_eq!(&*next_body(&mut ours), "{}");
        assert!(theirs.is_empty());
    }

    #[tokio::test]
    async fn a_corrupt_body_drops_the_event_for_streams_and_keeps_the_transaction() {
        let (_directory, context) = Context::temporary();
        let mut receiver = context.event_bus.subscribe(team(1));
        let corrupt = || Err(StoreError::Corrupt("the content".into()));

        publish_with(&context, corrupt).await.unwrap();
        let failed = publish_with(&context, || Err(StoreError::Closed)).await;
        assert!(matches!(failed, Err(StoreError::Closed)), "{failed:?}");
        publish_with(&context, || Ok("{}".into())).await.unwrap();
        assert_eq!(&*next_body(&mut receiver), "{}");

        // An endpoint must get its delivery, so the transaction fails.
        let (webhook, types) = (context.id(), EventType::all().collect());
        context.commit(move |tx| subscribe(tx, team(1), (webhook, 0), types)).await;
        assert!(matches!(publish_with(&context, corrupt).await, Err(StoreError::Corrupt(_))));
    }

    /// Adds `count` events with two endpoints each to the outbox of a team.
    async fn fill(context: &Context, team: TeamId, count: usize) {
        let filling = context.clone();
        let put = move |tx: &WriteTx<'_>| {
            let endpoints = vec![(filling.id(), 0), (filling.id(), 0)];
            let now_ms = filling.now_ms();
            (0..count).try_for_each(|_| {
                let row = OutboxRow {
                    event_type: EventType::ContactCreated,
                    at_ms: now_ms,
                    queued_ms: now_ms,
                    endpoints: endpoints.clone(),
                };
                tx.put(&EVENT_OUTBOX, &(team, filling.id()), &row)
            })
        };
        context.commit(put).await;
    }

    async fn take(context: &Context, last: TeamId, deliveries_max: usize) -> OutboxBatch {
        context.commit(move |tx| take_batch(tx, last, deliveries_max)).await
    }

    fn teams(batch: &OutboxBatch) -> Vec<TeamId> {
        batch.events.iter().map(|event| event.team).collect()
    }

    #[tokio::test]
    async fn teams_are_served_round_robin_and_a_single_team_gets_the_whole_batch() {
        let (_directory, context) = Context::temporary();
        fill(&context, team(1), 9).await;
        fill(&context, team(2), 1).await;
        fill(&context, team(3), 2).await;

        let first = take(&context, TeamId::MIN, 8).await;
        assert_eq!(teams(&first), [team(1), team(2), team(3), team(1)]);
        let second = take(&context, first.last_team, 8).await;
        assert_eq!(teams(&second), [team(3), team(1), team(1), team(1)]);
        let third = take(&context, second.last_team, 100).await;
        assert_eq!((teams(&third), third.is_outbox_empty), (vec![team(1); 4], true));
        assert!(!second.is_outbox_empty);
        let fourth = take(&context, third.last_team, 8).await;
        assert_eq!((teams(&fourth), fourth.is_outbox_empty), (vec![], true));
    }

    #[tokio::test]
    async fn a_corrupt_row_is_deleted_and_the_others_are_taken() {
        let (_directory, context) = Context::temporary();
        fill(&context, team(1), 1).await;
        let broken = (team(1), context.id());
        context.corrupt(&EVENT_OUTBOX, broken).await;
        fill(&context, team(1), 1).await;

        assert_eq!(take(&context, TeamId::MIN, 100).await.events.len(), 2);
        assert!(!context.read(|tx| tx.contains(&EVENT_OUTBOX, &broken)));
    }
}
