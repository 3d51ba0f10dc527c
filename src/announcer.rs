//! What is said in memory once a fact has been committed: to those who watch live, to the
//! dispatcher of webhooks, and to the worker of notices.
//!
//! Nothing depends on it. Who was not listening finds in the store whatever there is to find.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, broadcast};

use crate::id::{EventId, TeamId};

/// Announcements of its team that a slow listener may lag behind before it loses some: a request that
/// imports a thousand contacts announces them all at once.
const LAG_MAX: usize = 1_024;

/// An event as a webhook delivers it.
#[derive(Clone, Debug)]
pub struct Announcement {
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
pub enum Heard {
    /// An event.
    Event(Announcement),
    /// An erasure has been through the team's events. Whoever keeps any that came before this lets go of
    /// them: they may hold what was erased.
    Erasure,
}

#[cfg(test)]
impl Heard {
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
pub struct Announcer(Arc<Channels>);

#[derive(Debug)]
struct Channels {
    /// One for each team that is listened to: nobody is woken by what happens to another team.
    live: Mutex<HashMap<TeamId, broadcast::Sender<Heard>>>,
    outbox: Notify,
    /// How often an erasure has changed what is delivered of events.
    erasures: AtomicU64,
    notices: Notify,
}

impl Default for Announcer {
    fn default() -> Self {
        Self(Arc::new(Channels {
            live: Mutex::default(),
            outbox: Notify::new(),
            erasures: AtomicU64::new(0),
            notices: Notify::new(),
        }))
    }
}

impl Announcer {
    /// Listens to every event of a team from here on; a listener that falls behind is told how many it
    /// lost.
    pub fn listen(&self, team: TeamId) -> broadcast::Receiver<Heard> {
        let mut live = self.live();
        // Channels whose listeners have gone go here: no more are left than there are listeners.
        live.retain(|_, channel| channel.receiver_count() > 0);
        live.entry(team).or_insert_with(|| broadcast::Sender::new(LAG_MAX)).subscribe()
    }

    /// Returns whether anybody listens to a team's events.
    pub fn is_heard(&self, team: TeamId) -> bool {
        self.live().get(&team).is_some_and(|channel| channel.receiver_count() > 0)
    }

    /// Tells those who listen to the team.
    pub fn announce(&self, announcement: Announcement) {
        self.say(announcement.team, Heard::Event(announcement));
    }

    /// Says to those who listen to a team that an erasure has been through its events. They hear it after
    /// every event that came before it.
    pub fn announce_erasure(&self, team: TeamId) {
        self.say(team, Heard::Erasure);
    }

    fn say(&self, team: TeamId, what: Heard) {
        if let Some(channel) = self.live().get(&team) {
            // Nobody listens any more, and nothing is owed to nobody.
            let _ = channel.send(what);
        }
    }

    /// Says that the outbox of events has something in it.
    pub fn ring_outbox(&self) {
        self.0.outbox.notify_one();
    }

    /// Says that an erasure has changed what is delivered of events: who holds bodies in memory lets go
    /// of them. It is said on the writer's thread after the commit, so that a command that comes later
    /// finds it said.
    pub fn bodies_erased(&self) {
        self.0.erasures.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns how often that was said.
    pub fn erasures(&self) -> u64 {
        self.0.erasures.load(Ordering::SeqCst)
    }

    /// Waits until there may be something in the outbox. One listener hears it.
    pub async fn outbox_rung(&self) {
        self.0.outbox.notified().await;
    }

    /// Says that there is a notice to the owners of a team.
    pub fn ring_notices(&self) {
        self.0.notices.notify_one();
    }

    /// Waits until there may be a notice. One listener hears it.
    pub async fn notices_rung(&self) {
        self.0.notices.notified().await;
    }

    fn live(&self) -> MutexGuard<'_, HashMap<TeamId, broadcast::Sender<Heard>>> {
        self.0.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id;

    fn team(number: u8) -> TeamId {
        TeamId::from_bytes([number; 16])
    }

    fn announcement(team: TeamId) -> Announcement {
        Announcement { team, id: Id::MIN, event_type: "email.sent", body: "{}".into() }
    }

    #[test]
    fn a_team_is_heard_for_as_long_as_somebody_listens_to_it() {
        let announcer = Announcer::default();
        let first = announcer.listen(team(1));
        let second = announcer.listen(team(1));

        assert!(announcer.is_heard(team(1)));
        assert!(!announcer.is_heard(team(2)));
        drop(first);
        assert!(announcer.is_heard(team(1)));
        drop(second);
        assert!(!announcer.is_heard(team(1)));
    }

    #[test]
    fn a_listener_hears_its_team_and_keeps_no_other_s_channel() {
        let announcer = Announcer::default();
        let mut ours = announcer.listen(team(1));
        let theirs = announcer.listen(team(2));
        announcer.announce(announcement(team(2)));
        announcer.announce(announcement(team(1)));

        assert_eq!((ours.len(), theirs.len()), (1, 1));
        assert!(matches!(ours.try_recv(), Ok(Heard::Event(Announcement { team: of, .. })) if of == team(1)));
        drop(theirs);
        let _again = announcer.listen(team(1));
        assert_eq!(announcer.live().len(), 1);
    }
}
