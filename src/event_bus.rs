//! What is said in memory once a fact has been committed: to those who watch live, to the
//! dispatcher of webhooks, and to the worker of notices.
//!
//! Nothing depends on it. Who was not listening finds in the store whatever there is to find.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::{Notify, broadcast};

use crate::base::id::{EventId, TeamId};
use crate::base::sync;

/// Announcements of its team that a slow listener may lag behind before it loses some: a request that
/// imports a thousand contacts announces them all at once.
const LAG_MAX: usize = 1_024;

/// An event as a webhook delivers it.
#[derive(Clone, Debug)]
pub struct PublishedEvent {
    /// Whose event it is.
    pub team: TeamId,
    /// The event.
    pub id: EventId,
    /// The name of its type.
    pub event_type: &'static str,
    /// `{"type", "created_at", "data"}`.
    pub body: Arc<str>,
}

/// What a listener hears.
#[derive(Clone, Debug)]
pub enum BusMessage {
    /// An event.
    Event(PublishedEvent),
    /// An erasure has been through the team's events. Whoever keeps any that came before this lets go of
    /// them: they may hold what was erased.
    Erasure,
}

#[cfg(test)]
impl BusMessage {
    /// Returns the body of an event.
    pub(crate) fn body(self) -> Arc<str> {
        match self {
            Self::Event(announcement) => announcement.body,
            Self::Erasure => panic!("an erasure was heard, and no event"),
        }
    }
}

/// Tells of events. Cheap to clone.
#[derive(Clone, Debug)]
pub struct EventBus(Arc<Channels>);

#[derive(Debug)]
struct Channels {
    /// One for each team that is listened to: nobody is woken by what happens to another team.
    live: Mutex<HashMap<TeamId, broadcast::Sender<BusMessage>>>,
    outbox: Notify,
    /// How often an erasure has changed what is delivered of events.
    erasures: AtomicU64,
    notices: Notify,
}

impl Default for EventBus {
    fn default() -> Self {
        Self(Arc::new(Channels {
            live: Mutex::default(),
            outbox: Notify::new(),
            erasures: AtomicU64::new(0),
            notices: Notify::new(),
        }))
    }
}

impl EventBus {
    /// Listens to every event of a team from here on; a listener that falls behind is told how many it
    /// lost.
    pub fn subscribe(&self, team: TeamId) -> broadcast::Receiver<BusMessage> {
        let mut live = self.live();
        // Channels whose listeners have gone go here: no more are left than there are listeners.
        live.retain(|_, channel| channel.receiver_count() > 0);
        live.entry(team).or_insert_with(|| broadcast::Sender::new(LAG_MAX)).subscribe()
    }

    /// Returns whether anybody listens to a team's events.
    pub fn has_subscribers(&self, team: TeamId) -> bool {
        self.live().get(&team).is_some_and(|channel| channel.receiver_count() > 0)
    }

    /// Tells those who listen to the team.
    pub fn publish(&self, announcement: PublishedEvent) {
        self.say(announcement.team, BusMessage::Event(announcement));
    }

    /// Says to those who listen to a team that an erasure has been through its events. They hear it after
    /// every event that came before it.
    pub fn publish_erasure(&self, team: TeamId) {
        self.say(team, BusMessage::Erasure);
    }

    fn say(&self, team: TeamId, what: BusMessage) {
        if let Some(channel) = self.live().get(&team) {
            // Nobody listens any more, and nothing is owed to nobody.
            let _ = channel.send(what);
        }
    }

    /// Says that the outbox of events has something in it.
    pub fn notify_outbox(&self) {
        self.0.outbox.notify_one();
    }

    /// Says that an erasure has changed what is delivered of events: who holds bodies in memory lets go
    /// of them. It is said on the writer's thread after the commit, so that a command that comes later
    /// finds it said.
    pub fn bump_erasure_generation(&self) {
        self.0.erasures.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns how often that was said.
    pub fn erasure_generation(&self) -> u64 {
        self.0.erasures.load(Ordering::SeqCst)
    }

    /// Waits until there may be something in the outbox. One listener hears it.
    pub async fn outbox_notified(&self) {
        self.0.outbox.notified().await;
    }

    /// Says that there is a notice to the owners of a team.
    pub fn notify_notices(&self) {
        self.0.notices.notify_one();
    }

    /// Waits until there may be a notice. One listener hears it.
    pub async fn notices_notified(&self) {
        self.0.notices.notified().await;
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

    fn announcement(team: TeamId) -> PublishedEvent {
        PublishedEvent { team, id: Id::MIN, event_type: "email.sent", body: "{}".into() }
    }

    #[test]
    fn a_team_is_heard_for_as_long_as_somebody_listens_to_it() {
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
    fn a_listener_hears_its_team_and_keeps_no_other_s_channel() {
        let announcer = EventBus::default();
        let mut ours = announcer.subscribe(team(1));
        let theirs = announcer.subscribe(team(2));
        announcer.publish(announcement(team(2)));
        announcer.publish(announcement(team(1)));

        assert_eq!((ours.len(), theirs.len()), (1, 1));
        assert!(matches!(ours.try_recv(), Ok(BusMessage::Event(PublishedEvent { team: of, .. })) if of == team(1)));
        drop(theirs);
        let _again = announcer.subscribe(team(1));
        assert_eq!(announcer.live().len(), 1);
    }
}
