//! What is said in memory once a fact has been committed: to those who watch live, to the
//! dispatcher of webhooks, and to the worker of notices.
//!
//! Nothing depends on it. Who was not listening finds in the store whatever there is to find.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{Notify, broadcast};

use crate::id::{EventId, TeamId};

/// Announcements that a slow listener may lag behind before it loses some.
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

/// Tells of events. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Announcer(Arc<Channels>);

#[derive(Debug)]
struct Channels {
    live: broadcast::Sender<Announcement>,
    outbox: Notify,
    notices: Notify,
    /// How often an erasure has changed what is delivered of events.
    erasures: AtomicU64,
}

impl Default for Announcer {
    fn default() -> Self {
        Self(Arc::new(Channels {
            live: broadcast::Sender::new(LAG_MAX),
            outbox: Notify::new(),
            notices: Notify::new(),
            erasures: AtomicU64::new(0),
        }))
    }
}

impl Announcer {
    /// Listens to every event from here on; a listener that falls behind is told how many it lost.
    pub fn listen(&self) -> broadcast::Receiver<Announcement> {
        self.0.live.subscribe()
    }

    /// Returns whether anybody listens.
    pub fn is_heard(&self) -> bool {
        self.0.live.receiver_count() > 0
    }

    /// Tells those who listen.
    pub fn announce(&self, announcement: Announcement) {
        // Nobody listens any more, and nothing is owed to nobody.
        let _ = self.0.live.send(announcement);
    }

    /// Says that the outbox of events has something in it.
    pub fn ring_outbox(&self) {
        self.0.outbox.notify_one();
    }

    /// Says that an erasure has changed what is delivered of events: who holds bodies in memory lets go
    /// of them.
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
}
