//! Notifications in memory after a commit: events for live streams, and wake-ups of the webhook dispatcher and
//! the notice worker.
//!
//! Delivery does not depend on them. A receiver that misses a notification finds the data in the store.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::broadcast;

use crate::base::id::{EventId, TeamId};
use crate::base::opaque::Opaque;
use crate::base::sync;
use crate::base::wakeup::Wakeup;

/// Messages of a team that a slow subscriber can lag behind before it loses some. One request can import a
/// thousand contacts and publishes their events together.
const LAG_MAX: usize = 1_024;

/// An event with the body that webhooks deliver.
#[derive(Clone, Debug)]
pub struct PublishedEvent {
    pub team: TeamId,
    pub id: EventId,
    /// Name of the event type, such as `email.sent`.
    pub event_type: &'static str,
    /// JSON: `{"type", "created_at", "data"}`.
    pub body: Arc<str>,
}

/// A message to the subscribers of a team.
#[derive(Clone, Debug)]
pub enum BusMessage {
    Event(PublishedEvent),
    /// An erasure has changed events of the team. A subscriber must drop the events that it received before
    /// this message: they can contain erased text.
    Erasure,
}

#[cfg(test)]
impl BusMessage {
    /// Returns the body of an event.
    pub(crate) fn body(self) -> Arc<str> {
        match self {
            Self::Event(event) => event.body,
            Self::Erasure => panic!("expected an event, received an erasure"),
        }
    }
}

/// Publishes events and wakes workers. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct EventBus(Opaque<Channels>);

#[derive(Debug, Default)]
struct Channels {
    /// One channel for each team with subscribers, so that an event wakes only those of its team.
    live: Mutex<HashMap<TeamId, broadcast::Sender<BusMessage>>>,
    outbox: Wakeup,
    notices: Wakeup,
    erasure_generation: AtomicU64,
}

impl EventBus {
    /// Subscribes to the events of a team from now on. A subscriber that lags receives the number of lost
    /// messages.
    pub fn subscribe(&self, team: TeamId) -> broadcast::Receiver<BusMessage> {
        let mut live = self.live();
        // Channels without subscribers are removed here, so that there are never more channels than subscribers.
        live.retain(|_, channel| channel.receiver_count() > 0);
        live.entry(team).or_insert_with(|| broadcast::Sender::new(LAG_MAX)).subscribe()
    }

    /// Returns whether the team has subscribers.
    pub fn has_subscribers(&self, team: TeamId) -> bool {
        self.live().get(&team).is_some_and(|channel| channel.receiver_count() > 0)
    }

    /// Publishes an event to the subscribers of its team.
    pub fn publish(&self, event: PublishedEvent) {
        self.send(event.team, BusMessage::Event(event));
    }

    /// Publishes to the subscribers of a team that an erasure has changed its events. They receive the message
    /// after the events that were published before it.
    pub fn publish_erasure(&self, team: TeamId) {
        self.send(team, BusMessage::Erasure);
    }

    fn send(&self, team: TeamId, message: BusMessage) {
        if let Some(channel) = self.live().get(&team) {
            // An error means that the last subscriber has gone.
            let _ = channel.send(message);
        }
    }

    /// Returns the wake-up of the fan-out, which a commit to the outbox notifies.
    pub fn outbox(&self) -> &Wakeup {
        &self.0.outbox
    }

    /// Returns the wake-up of the notice worker, which a commit of a notice notifies.
    pub fn notices(&self) -> &Wakeup {
        &self.0.notices
    }

    /// Increments the erasure generation, so that bodies in memory are loaded again before their next use. Runs on
    /// the writer's thread after the commit of an erasure: later commands see the new generation.
    pub fn bump_erasure_generation(&self) {
        self.0.erasure_generation.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns the number of erasures that have changed bodies since the process started.
    pub fn erasure_generation(&self) -> u64 {
        self.0.erasure_generation.load(Ordering::SeqCst)
    }

    fn live(&self) -> MutexGuard<'_, HashMap<TeamId, broadcast::Sender<BusMessage>>> {
        sync::lock(&self.0.live)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Id;

    fn team(number: u8) -> TeamId {
        TeamId::from_bytes([number; 16])
    }

    fn event(team: TeamId) -> PublishedEvent {
        PublishedEvent { team, id: Id::MIN, event_type: "email.sent", body: "{}".into() }
    }

    #[test]
    fn a_team_has_subscribers_until_the_last_one_is_dropped() {
        let event_bus = EventBus::default();
        let first = event_bus.subscribe(team(1));
        let second = event_bus.subscribe(team(1));

        assert!(event_bus.has_subscribers(team(1)));
        assert!(!event_bus.has_subscribers(team(2)));
        drop(first);
        assert!(event_bus.has_subscribers(team(1)));
        drop(second);
        assert!(!event_bus.has_subscribers(team(1)));
    }

    #[test]
    fn a_subscriber_receives_the_events_of_its_team_and_unused_channels_are_removed() {
        let event_bus = EventBus::default();
        let mut ours = event_bus.subscribe(team(1));
        let theirs = event_bus.subscribe(team(2));
        event_bus.publish(event(team(2)));
        event_bus.publish(event(team(1)));

        assert_eq!((ours.len(), theirs.len()), (1, 1));
        assert!(matches!(ours.try_recv(), Ok(BusMessage::Event(PublishedEvent { team: of, .. })) if of == team(1)));
        drop(theirs);
        let _again = event_bus.subscribe(team(1));
        assert_eq!(event_bus.live().len(), 1);
    }
}
