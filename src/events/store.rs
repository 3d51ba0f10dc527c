//! The rows of email events.

use serde::{Deserialize, Serialize};

use super::model::{EmailEventKind, Event, EventDetail};
use super::outbox::{self, EventHeader, publish};
use super::payload::{self, EmailEventData};
use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, EventId, Id, TeamId};
use crate::context::Context;
use crate::store::{KeyOf, NEXT, Order, Reads, Row, STOP, StoreError, WriteTx};
use crate::tables::EVENTS;

/// Email event on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EventRow {
    pub(super) team: TeamId,
    pub(super) kind: EmailEventKind,
    pub(super) at_ms: TimestampMs,
    pub(super) recipients: Vec<String>,
    #[serde(default = "none", skip_serializing_if = "is_none")]
    pub(super) detail: EventDetail,
}
impl Row for EventRow {}

impl EventRow {
    /// Converts the row to an event.
    fn event(self) -> Event {
        let Self { team: _, kind, at_ms, recipients, detail } = self;
        Event { kind, at_ms, recipients, detail }
    }
}

fn none() -> EventDetail {
    EventDetail::None
}

fn is_none(detail: &EventDetail) -> bool {
    *detail == EventDetail::None
}

/// Stores an event in the transaction of its cause and publishes it to endpoints and live streams. Calls `data`
/// only if the type has a subscriber. Returns the event with its id.
pub fn record(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    email: EmailId,
    event: Event,
    data: impl FnOnce() -> Result<EmailEventData, StoreError>,
) -> Result<(EventId, Event), StoreError> {
    let id = context.id();
    if let Some(event_type) = event.kind.event_type() {
        let header = EventHeader { team, id, event_type, at_ms: event.at_ms };
        publish(tx, context, header, || Ok(payload::email(event_type, &event, &data()?)))?;
    }
    let Event { kind, at_ms, recipients, detail } = event;
    let row = EventRow { team, kind, at_ms, recipients, detail };
    tx.put(&EVENTS, &(email, id), &row)?;
    Ok((id, row.event()))
}

/// Returns an event of an email of a team; `None` if it does not exist or is corrupt.
pub(crate) fn email_event(
    tx: &impl Reads,
    team: TeamId,
    email: EmailId,
    id: EventId,
) -> Result<Option<Event>, StoreError> {
    Ok(tx.get_valid(&EVENTS, &(email, id))?.filter(|row| row.team == team).map(EventRow::event))
}

/// Returns the ids of the events of an email of a team, oldest first. Webhooks deliver events under these ids.
pub(crate) fn email_event_ids(tx: &impl Reads, team: TeamId, email: EmailId) -> Result<Vec<EventId>, StoreError> {
    tx.collect(&EVENTS, KeyOf::bounds(email), Order::Ascending, |(_, id), row| {
        Ok(row.valid().is_some_and(|row| row.team == team).then_some(id))
    })
}

/// Returns the events of an email with their ids, oldest first. Skips corrupt events.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn email_events(tx: &impl Reads, email: EmailId) -> Result<Vec<(EventId, Event)>, StoreError> {
    tx.collect(&EVENTS, KeyOf::bounds(email), Order::Ascending, |(_, id), row| {
        Ok(row.valid().map(|row| (id, row.event())))
    })
}

/// Returns whether an email has more than `events_max` events. Decodes none.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn has_more_email_events(tx: &impl Reads, email: EmailId, events_max: usize) -> Result<bool, StoreError> {
    let mut count = 0;
    tx.scan(&EVENTS, &(email, Id::MIN), &(email, Id::MAX), Order::Ascending, |_, _| {
        count += 1;
        if count > events_max { STOP } else { NEXT }
    })?;
    Ok(count > events_max)
}

/// Returns the time of the first `sent` event of each address, in the order of the addresses; `None` for an address without
/// one. Reads the timeline up to the last of these events.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn first_sent_times(
    tx: &impl Reads,
    email: EmailId,
    addresses: &[&String],
) -> Result<Vec<Option<TimestampMs>>, StoreError> {
    let mut times = vec![None; addresses.len()];
    tx.scan_valid(&EVENTS, &(email, Id::MIN), &(email, Id::MAX), Order::Ascending, |_, row| {
        if row.kind == EmailEventKind::Sent {
            for (time, address) in times.iter_mut().zip(addresses) {
                *time = time.or(row.recipients.contains(address).then_some(row.at_ms));
            }
        }
        if times.contains(&None) { NEXT } else { STOP }
    })?;
    Ok(times)
}

/// Returns whether an email has a `sent` event. Reads its timeline up to that event.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn was_sent(tx: &impl Reads, email: EmailId) -> Result<bool, StoreError> {
    let mut found = false;
    tx.scan_valid(&EVENTS, &(email, Id::MIN), &(email, Id::MAX), Order::Ascending, |_, row| {
        found = row.kind == EmailEventKind::Sent;
        if found { STOP } else { NEXT }
    })?;
    Ok(found)
}

/// Deletes an event that turned out to be wrong, in the transaction that records the right one. An endpoint receives it only
/// if its delivery was attempted or loaded before.
pub(crate) fn retract(tx: &WriteTx<'_>, team: TeamId, email: EmailId, event: EventId) -> Result<(), StoreError> {
    outbox::retract(tx, team, event)?;
    tx.delete(&EVENTS, &(email, event))?;
    Ok(())
}

/// Deletes up to `rows_max` events of an email, oldest first; returns their number.
pub(crate) fn delete_email_events(tx: &WriteTx<'_>, email: EmailId, rows_max: usize) -> Result<usize, StoreError> {
    tx.delete_range(&EVENTS, &(email, Id::MIN), &(email, Id::MAX), rows_max)
}

/// Returns the timeline of an email, oldest first. Skips corrupt events.
///
/// The list is bounded. An email has at most 50 recipients, each with a few events of the delivery and at most 252
/// opens, clicks and prefetches.
pub fn email_timeline(tx: &impl Reads, email: EmailId) -> Result<Vec<Event>, StoreError> {
    Ok(email_events(tx, email)?.into_iter().map(|(_, event)| event).collect())
}
