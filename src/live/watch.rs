//! One watcher: the events of one team, in the order in which they were announced.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::filter::Filter;
use crate::announcer::{Announcement, Announcer};
use crate::id::TeamId;

/// Events that a watcher keeps while it waits for whoever reads them.
const KEPT_MAX: usize = 256;
/// The longest body that is shown, in bytes; an event with a longer one counts as missed.
const BODY_BYTES_MAX: usize = 1 << 20;

/// What a watcher sees.
#[derive(Clone, Debug)]
pub enum Seen {
    /// An event.
    Event(Announcement),
    /// So many events, at most, that it was too slow for.
    Missed(u64),
}

/// A watcher.
#[derive(Debug)]
pub struct Watch {
    heard: broadcast::Receiver<Announcement>,
    filter: Filter,
    kept: VecDeque<Announcement>,
    /// Events that came after those that are kept and found no room.
    missed: u64,
    /// Nothing will be announced any more.
    is_over: bool,
}

impl Watch {
    /// Watches the events of a team from here on.
    pub fn new(announcer: &Announcer, team: TeamId, filter: Filter) -> Self {
        Self { heard: announcer.listen(team), filter, kept: VecDeque::new(), missed: 0, is_over: false }
    }

    /// Waits for the next thing to be seen; `None` when there will be nothing any more. Nothing is lost
    /// when the wait is given up.
    pub async fn next(&mut self) -> Option<Seen> {
        loop {
            if let Some(announcement) = self.kept.pop_front() {
                return Some(Seen::Event(announcement));
            }
            if self.missed > 0 {
                return Some(Seen::Missed(std::mem::take(&mut self.missed)));
            }
            if self.is_over {
                return None;
            }
            let heard = self.heard.recv().await;
            self.take(heard);
        }
    }

    /// Waits for `work`, and goes on listening meanwhile: a reader that is slow for a moment misses
    /// nothing.
    pub async fn meanwhile<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                heard = self.heard.recv(), if !self.is_over => self.take(heard),
            }
        }
    }

    fn take(&mut self, heard: Result<Announcement, RecvError>) {
        match heard {
            Ok(announcement) if !self.filter.lets_through(announcement.event_type) => {}
            // What comes after a gap waits behind it.
            Ok(announcement)
                if self.missed == 0 && self.kept.len() < KEPT_MAX && announcement.body.len() <= BODY_BYTES_MAX =>
            {
                self.kept.push_back(announcement);
            }
            Ok(_) => self.missed += 1,
            // Whether they were asked for is not known.
            Err(RecvError::Lagged(count)) => self.missed = self.missed.saturating_add(count),
            Err(RecvError::Closed) => self.is_over = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{EventId, Id};

    const TEAM: TeamId = TeamId::from_bytes([1; 16]);
    const OTHER: TeamId = TeamId::from_bytes([2; 16]);

    fn announcement(team: TeamId, number: u8, event_type: &'static str) -> Announcement {
        Announcement { team, id: EventId::from_bytes([number; 16]), event_type, body: "{}".into() }
    }

    async fn number(watch: &mut Watch) -> u8 {
        match watch.next().await {
            Some(Seen::Event(announcement)) => announcement.id.as_bytes()[0],
            seen => panic!("{seen:?}"),
        }
    }

    #[tokio::test]
    async fn a_watcher_sees_what_it_asked_for_of_its_own_team_in_order() {
        let announcer = Announcer::default();
        let mut watch = Watch::new(&announcer, TEAM, Filter::parse("email.*").unwrap());

        announcer.announce(announcement(TEAM, 1, "email.sent"));
        announcer.announce(announcement(OTHER, 2, "email.sent"));
        announcer.announce(announcement(TEAM, 3, "contact.created"));
        announcer.announce(announcement(TEAM, 4, "email.delivered"));

        assert_eq!([number(&mut watch).await, number(&mut watch).await], [1, 4]);
    }

    #[tokio::test]
    async fn a_slow_watcher_is_told_how_many_it_missed_and_goes_on() {
        let announcer = Announcer::default();
        let mut watch = Watch::new(&announcer, TEAM, Filter::everything());
        let writing = async {
            for _ in 0..KEPT_MAX + 7 {
                announcer.announce(announcement(TEAM, 1, "email.sent"));
                announcer.announce(announcement(OTHER, 1, "email.sent"));
                // The watcher hears at least one whenever the writer waits.
                tokio::task::yield_now().await;
                tokio::task::yield_now().await;
            }
        };
        watch.meanwhile(writing).await;

        for _ in 0..KEPT_MAX {
            assert_eq!(number(&mut watch).await, 1);
        }
        assert!(matches!(watch.next().await, Some(Seen::Missed(7))));
        announcer.announce(announcement(TEAM, 2, "email.sent"));
        while number(&mut watch).await != 2 {}
    }

    #[tokio::test]
    async fn a_watcher_that_did_not_listen_at_all_is_told_so() {
        let announcer = Announcer::default();
        let mut watch = Watch::new(&announcer, TEAM, Filter::everything());
        for _ in 0..3_000 {
            announcer.announce(announcement(TEAM, 1, "email.sent"));
        }

        let Some(Seen::Missed(missed)) = watch.next().await else { panic!("the gap comes first") };

        assert!(missed >= 1_000, "{missed}");
        assert_eq!(number(&mut watch).await, 1);
    }

    #[tokio::test]
    async fn a_body_beyond_the_bound_is_missed() {
        let announcer = Announcer::default();
        let mut watch = Watch::new(&announcer, TEAM, Filter::everything());
        let body = "x".repeat(BODY_BYTES_MAX + 1).into();

        announcer.announce(Announcement { team: TEAM, id: Id::MIN, event_type: "email.sent", body });

        assert!(matches!(watch.next().await, Some(Seen::Missed(1))));
    }

    #[tokio::test]
    async fn a_watcher_ends_when_nothing_can_be_announced_any_more() {
        let announcer = Announcer::default();
        let mut watch = Watch::new(&announcer, TEAM, Filter::everything());
        drop(announcer);

        assert!(watch.next().await.is_none());
    }
}
