//! Who hears of an event: the endpoints that asked for its type are written down beside its payload,
//! in the transaction of the fact, and found there by the dispatcher of webhooks.
//!
//! An event costs two rows however many endpoints hear of it, and none when nobody does: a row for
//! each endpoint is made apart, for many events in one commit. Endpoints are those of the moment of
//! the event; one that is made or enabled later hears nothing of it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::types::{EventType, EventTypes};
use crate::base::clock::TimestampMs;
use crate::base::id::{EventId, Id, TeamId, WebhookId};
use crate::context::Context;
use crate::event_bus::PublishedEvent;
use crate::store::{NEXT, Order, Reads, Row, STOP, StoreError, WriteTx, skip_corrupt};
use crate::tables::{EVENT_MESSAGES, EVENT_OUTBOX, EVENT_SUBSCRIPTIONS};

/// Which of the times that an endpoint was enabled this is: what happened in an earlier one is not
/// delivered in a later.
pub type Activation = u32;

/// Which enabled endpoints of a team hear of what, on disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscriptionsRow {
    /// The endpoints, oldest first, each with its term.
    pub endpoints: Vec<(WebhookId, Activation, EventTypes)>,
}
impl Row for SubscriptionsRow {}

/// What is delivered of an event, on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageRow {
    /// The event's type.
    pub event_type: EventType,
    /// When it happened.
    pub at_ms: TimestampMs,
    /// The body of every request that delivers it.
    pub body: String,
}
impl Row for MessageRow {}

/// The endpoints that an event has not been queued for, on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxRow {
    /// The event's type.
    pub event_type: EventType,
    /// When it happened.
    pub at_ms: TimestampMs,
    /// When it was written down: what the 24 hours of a delivery begin at.
    pub queued_ms: TimestampMs,
    /// The endpoints, each with its term then.
    pub endpoints: Vec<(WebhookId, Activation)>,
}
impl Row for OutboxRow {}

/// Has an endpoint hear of `types` from here on.
///
/// # Errors
/// [`StoreError`].
pub fn subscribe(
    tx: &WriteTx<'_>,
    team: TeamId,
    (webhook, term): (WebhookId, Activation),
    types: EventTypes,
) -> Result<(), StoreError> {
    let mut row = tx.get(&EVENT_SUBSCRIPTIONS, &(team,))?.unwrap_or_default();
    row.endpoints.retain(|(endpoint, ..)| *endpoint != webhook);
    row.endpoints.push((webhook, term, types));
    row.endpoints.sort_unstable_by_key(|(endpoint, ..)| *endpoint);
    tx.put(&EVENT_SUBSCRIPTIONS, &(team,), &row)
}

/// Has an endpoint hear of nothing from here on.
///
/// # Errors
/// [`StoreError`].
pub fn unsubscribe(tx: &WriteTx<'_>, team: TeamId, webhook: WebhookId) -> Result<(), StoreError> {
    let Some(mut row) = tx.get(&EVENT_SUBSCRIPTIONS, &(team,))? else { return Ok(()) };
    row.endpoints.retain(|(endpoint, ..)| *endpoint != webhook);
    if row.endpoints.is_empty() {
        tx.delete(&EVENT_SUBSCRIPTIONS, &(team,))?;
        return Ok(());
    }
    tx.put(&EVENT_SUBSCRIPTIONS, &(team,), &row)
}

/// An event that somebody may want to hear of.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventHeader {
    pub(super) team: TeamId,
    pub(super) id: EventId,
    pub(super) event_type: EventType,
    pub(super) at_ms: TimestampMs,
}

/// Writes an event down for the endpoints that asked for its type, and announces it after the commit.
/// `body` is asked for when anybody is there to hear it. Where it cannot be made because something does
/// not read, those who watch do without: they are no reason for a fact to fail.
pub(super) fn publish(
    tx: &WriteTx<'_>,
    context: &Context,
    told: EventHeader,
    body: impl FnOnce() -> Result<String, StoreError>,
) -> Result<(), StoreError> {
    let EventHeader { team, id, event_type, at_ms: _ } = told;
    let endpoints = subscribers(tx, team, event_type)?;
    let is_heard = context.event_bus.has_subscribers(team);
    if endpoints.is_empty() && !is_heard {
        return Ok(());
    }
    let body = if endpoints.is_empty() {
        skip_corrupt(body(), format_args!("what event {id} of team {team} would show to those who watch"))?
    } else {
        Some(body()?)
    };
    let Some(body) = body else { return Ok(()) };
    let announcement =
        is_heard.then(|| PublishedEvent { team, id, event_type: event_type.as_str(), body: Arc::from(body.as_str()) });
    let is_queued = !endpoints.is_empty();
    if is_queued {
        queue(tx, context, told, endpoints, body)?;
    }
    let announcer = context.event_bus.clone();
    tx.after_commit(move || {
        if is_queued {
            announcer.notify_outbox();
        }
        if let Some(announcement) = announcement {
            announcer.publish(announcement);
        }
    });
    Ok(())
}

fn queue(
    tx: &WriteTx<'_>,
    context: &Context,
    told: EventHeader,
    endpoints: Vec<(WebhookId, Activation)>,
    body: String,
) -> Result<(), StoreError> {
    let EventHeader { team, id, event_type, at_ms } = told;
    tx.put(&EVENT_MESSAGES, &(team, id), &MessageRow { event_type, at_ms, body })?;
    let row = OutboxRow { event_type, at_ms, queued_ms: context.now_ms(), endpoints };
    tx.put(&EVENT_OUTBOX, &(team, id), &row)
}

/// Returns the enabled endpoints of a team, with their terms.
///
/// # Errors
/// [`StoreError`].
pub fn enabled_endpoints(tx: &impl Reads, team: TeamId) -> Result<Vec<(WebhookId, Activation)>, StoreError> {
    let row = tx.get(&EVENT_SUBSCRIPTIONS, &(team,))?.unwrap_or_default();
    Ok(row.endpoints.into_iter().map(|(webhook, term, _)| (webhook, term)).collect())
}

fn subscribers(
    tx: &impl Reads,
    team: TeamId,
    event_type: EventType,
) -> Result<Vec<(WebhookId, Activation)>, StoreError> {
    let Some(row) = tx.get(&EVENT_SUBSCRIPTIONS, &(team,))? else { return Ok(Vec::new()) };
    let hear = row.endpoints.into_iter().filter(|(.., types)| types.contains(event_type));
    Ok(hear.map(|(webhook, term, _)| (webhook, term)).collect())
}

/// An event in the outbox.
#[derive(Clone, Debug)]
pub struct OutboxEntry {
    /// Whose event it is.
    pub team: TeamId,
    /// The event.
    pub event: EventId,
    /// Who is to hear of it.
    pub row: OutboxRow,
}

/// Events taken out of the outbox.
#[derive(Clone, Debug)]
pub struct OutboxBatch {
    /// The events, each team's oldest first.
    pub events: Vec<OutboxEntry>,
    /// The team that had its turn last.
    pub last_team: TeamId,
    /// Whether nothing is left.
    pub is_outbox_empty: bool,
}

/// Takes events out of the outbox until they come to `deliveries_max` deliveries or more. Teams have
/// their turns in the order of their ids, a quarter of it each, from the one after `last_team` on: what one
/// team has waiting keeps no other from its own. The caller queues a delivery for each endpoint in the
/// same transaction. A row that does not read goes too, and is not among them.
///
/// # Errors
/// [`StoreError`].
pub fn take_batch(tx: &WriteTx<'_>, last: TeamId, deliveries_max: usize) -> Result<OutboxBatch, StoreError> {
    let mut departed = OutboxBatch { events: Vec::new(), last_team: last, is_outbox_empty: false };
    let mut left = deliveries_max;
    while left > 0 && !departed.is_outbox_empty {
        let turn = take_team_batch(tx, departed.last_team, left.min(deliveries_max.div_ceil(4)))?;
        // After the last team comes the first.
        departed.is_outbox_empty = turn.team.is_none() && departed.last_team == TeamId::MIN;
        departed.last_team = turn.team.unwrap_or(TeamId::MIN);
        departed.events.extend(turn.events);
        left = left.saturating_sub(turn.deliveries);
    }
    Ok(departed)
}

/// What one team's turn brought.
#[derive(Default)]
struct TeamBatch {
    /// Whose it was; none when no team after the last has anything.
    team: Option<TeamId>,
    events: Vec<OutboxEntry>,
    deliveries: usize,
}

fn take_team_batch(tx: &WriteTx<'_>, last: TeamId, deliveries_max: usize) -> Result<TeamBatch, StoreError> {
    let (mut turn, mut keys) = (TeamBatch::default(), Vec::new());
    let from = if last == TeamId::MIN { (last, Id::MIN) } else { (last, Id::MAX) };
    tx.scan(&EVENT_OUTBOX, &from, &(Id::MAX, Id::MAX), Order::Ascending, |(team, event), row| {
        if *turn.team.get_or_insert(team) != team {
            return STOP;
        }
        keys.push((team, event));
        let what = format_args!("event {event} of team {team} in the outbox");
        if let Some(row) = skip_corrupt::<OutboxRow>(row.decode(), what)? {
            turn.deliveries += row.endpoints.len();
            turn.events.push(OutboxEntry { team, event, row });
        } else {
            turn.deliveries += 1;
        }
        if turn.deliveries < deliveries_max { NEXT } else { STOP }
    })?;
    for key in keys {
        tx.delete(&EVENT_OUTBOX, &key)?;
    }
    Ok(turn)
}

/// Returns what is delivered of an event; `None` once retention has removed it.
///
/// # Errors
/// [`StoreError`].
pub fn message(tx: &impl Reads, team: TeamId, event: EventId) -> Result<Option<MessageRow>, StoreError> {
    tx.get(&EVENT_MESSAGES, &(team, event))
}

/// Keeps what is delivered of an event that one endpoint alone hears of. The caller queues the delivery
/// in the same transaction.
///
/// # Errors
/// [`StoreError`].
pub fn put_message(tx: &WriteTx<'_>, team: TeamId, event: EventId, message: &MessageRow) -> Result<(), StoreError> {
    tx.put(&EVENT_MESSAGES, &(team, event), message)
}

#[cfg(test)]
mod tests {
    use tokio::sync::broadcast;

    use super::*;
    use crate::event_bus::BusMessage;
    use crate::store::Encoded;

    fn team(number: u8) -> TeamId {
        TeamId::from_bytes([number; 16])
    }

    /// Stores a fact and tells of an event of the first team, whose body is asked of `body`.
    async fn tell_of(
        context: &Context,
        body: impl Fn() -> Result<String, StoreError> + Send + 'static,
    ) -> Result<(), StoreError> {
        let (telling, id, at_ms) = (context.clone(), context.id(), context.now_ms());
        let told = EventHeader { team: team(1), id, event_type: EventType::ContactCreated, at_ms };
        let fact = MessageRow { event_type: told.event_type, at_ms, body: String::new() };
        let write = move |tx: &WriteTx<'_>| {
            tx.put(&EVENT_MESSAGES, &(team(9), id), &fact)?;
            publish(tx, &telling, told, &body)
        };
        context.store.write(write).await
    }

    /// Returns the body that a listener hears of.
    fn body_heard(heard: &mut broadcast::Receiver<BusMessage>) -> Arc<str> {
        heard.try_recv().unwrap().body()
    }

    #[tokio::test]
    async fn a_body_is_made_for_those_who_watch_the_team_and_for_no_other_s() {
        let (_directory, context) = Context::temporary();
        let theirs = context.event_bus.subscribe(team(2));
        tell_of(&context, || panic!("nobody hears of it")).await.unwrap();

        let mut ours = context.event_bus.subscribe(team(1));
        tell_of(&context, || Ok("{}".into())).await.unwrap();

        assert_eq!(&*body_heard(&mut ours), "{}");
        assert!(theirs.is_empty());
    }

    #[tokio::test]
    async fn a_body_that_does_not_read_costs_those_who_watch_the_event_and_nobody_the_fact() {
        let (_directory, context) = Context::temporary();
        let mut heard = context.event_bus.subscribe(team(1));
        let corrupt = || Err(StoreError::Corrupt("the content".into()));

        tell_of(&context, corrupt).await.unwrap();
        let failed = tell_of(&context, || Err(StoreError::Closed)).await;
        assert!(matches!(failed, Err(StoreError::Closed)), "{failed:?}");
        tell_of(&context, || Ok("{}".into())).await.unwrap();
        assert_eq!(&*body_heard(&mut heard), "{}");

        // An endpoint is owed its delivery.
        let (webhook, types) = (context.id(), EventType::all().collect());
        let write = move |tx: &WriteTx<'_>| subscribe(tx, team(1), (webhook, 0), types);
        context.store.write::<_, StoreError>(write).await.unwrap();
        assert!(matches!(tell_of(&context, corrupt).await, Err(StoreError::Corrupt(_))));
    }

    /// Puts `count` events into a team's outbox, each heard by two endpoints.
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
        context.store.write::<_, StoreError>(put).await.unwrap();
    }

    async fn take(context: &Context, last: TeamId, deliveries_max: usize) -> OutboxBatch {
        context.store.write::<_, StoreError>(move |tx| take_batch(tx, last, deliveries_max)).await.unwrap()
    }

    fn teams(departed: &OutboxBatch) -> Vec<TeamId> {
        departed.events.iter().map(|event| event.team).collect()
    }

    #[tokio::test]
    async fn teams_have_turns_and_one_alone_has_everything() {
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
    async fn a_row_that_does_not_read_goes_and_the_others_are_taken() {
        let (_directory, context) = Context::temporary();
        fill(&context, team(1), 1).await;
        let broken = (team(1), context.id());
        let put = move |tx: &WriteTx<'_>| tx.put_encoded(&EVENT_OUTBOX, &broken, &Encoded::unreadable());
        context.store.write::<_, StoreError>(put).await.unwrap();
        fill(&context, team(1), 1).await;

        assert_eq!(take(&context, TeamId::MIN, 100).await.events.len(), 2);
        let left = context.store.read_now::<_, StoreError>(|tx| tx.contains(&EVENT_OUTBOX, &broken));
        assert!(!left.unwrap());
    }
}
