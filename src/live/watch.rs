//! One watcher: the events of one team, in the order in which they were announced.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use super::filter::TypeFilter;
use crate::base::id::TeamId;
use crate::event_bus::{BusMessage, EventBus, PublishedEvent};

/// Events that a watcher keeps while it waits for whoever reads them: as many as may come at once.
const KEPT_MAX: usize = 1_024;
/// Bytes of their bodies.
const KEPT_BYTES_MAX: usize = 4 << 20;
/// The longest body that is shown, in bytes; an event with a longer one counts as missed.
const BODY_BYTES_MAX: usize = 1 << 20;

/// What a watcher sees.
#[derive(Clone, Debug)]
pub enum StreamItem {
    /// An event.
    Event(PublishedEvent),
    /// So many events, at most, that it was too slow for, or that an erasure came before.
    Missed(u64),
}

/// A watcher.
#[derive(Debug)]
pub struct EventStream {
    heard: broadcast::Receiver<BusMessage>,
    filter: TypeFilter,
    /// Events that were missed before those that are kept.
    missed_before: u64,
    kept: VecDeque<PublishedEvent>,
    /// Bytes of their bodies.
    kept_bytes: usize,
    /// Events that came after those that are kept and found no room; none while nothing is kept.
    missed_after: u64,
    /// Nothing will be announced any more.
    is_over: bool,
}

impl EventStream {
    /// Watches the events of a team from here on.
    pub fn new(announcer: &EventBus, team: TeamId, filter: TypeFilter) -> Self {
        Self {
            heard: announcer.subscribe(team),
            filter,
            missed_before: 0,
            kept: VecDeque::new(),
            kept_bytes: 0,
            missed_after: 0,
            is_over: false,
        }
    }

    /// Waits for the next thing to be seen; `None` when there will be nothing any more. Nothing is lost
    /// when the wait is given up.
    pub async fn next(&mut self) -> Option<StreamItem> {
        loop {
            // An erasure may have been said since, and what it came after is not shown.
            self.catch_up();
            if self.missed_before > 0 {
                return Some(StreamItem::Missed(std::mem::take(&mut self.missed_before)));
            }
            if let Some(announcement) = self.kept.pop_front() {
                self.kept_bytes -= announcement.body.len();
                if self.kept.is_empty() {
                    // What comes from here on is kept behind the gap.
                    self.missed_before = std::mem::take(&mut self.missed_after);
                }
                return Some(StreamItem::Event(announcement));
            }
            if self.is_over {
                return None;
            }
            let heard = self.heard.recv().await;
            self.take(heard);
        }
    }

    /// Waits for `work`, and goes on listening meanwhile: a reader that is slow for a moment misses
    /// nothing, and what an erasure came before is not kept until it reads on.
    pub async fn buffer_while<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                heard = self.heard.recv(), if !self.is_over => self.take(heard),
            }
        }
    }

    /// Takes what has been said so far.
    fn catch_up(&mut self) {
        for _ in 0..self.heard.len() {
            match self.heard.try_recv() {
                Ok(heard) => self.take(Ok(heard)),
                Err(TryRecvError::Lagged(count)) => self.take(Err(RecvError::Lagged(count))),
                Err(TryRecvError::Empty | TryRecvError::Closed) => return,
            }
        }
    }

    fn take(&mut self, heard: Result<BusMessage, RecvError>) {
        match heard {
            Ok(BusMessage::Event(announcement)) if !self.filter.matches(announcement.event_type) => {}
            Ok(BusMessage::Event(announcement)) if self.has_room_for(&announcement) => {
                self.kept_bytes += announcement.body.len();
                self.kept.push_back(announcement);
            }
            Ok(BusMessage::Event(_)) if self.kept.is_empty() => self.missed_before += 1,
            Ok(BusMessage::Event(_)) => self.missed_after += 1,
            Ok(BusMessage::Erasure) => self.drop_buffered(),
            // Whether these were asked for is not known, nor whether an erasure was among them.
            Err(RecvError::Lagged(count)) => {
                self.drop_buffered();
                self.missed_before = self.missed_before.saturating_add(count);
            }
            Err(RecvError::Closed) => self.is_over = true,
        }
    }

    fn has_room_for(&self, announcement: &PublishedEvent) -> bool {
        let body_bytes = announcement.body.len();
        // What comes after a gap waits behind it.
        self.missed_after == 0
            && self.kept.len() < KEPT_MAX
            && body_bytes <= BODY_BYTES_MAX
            && self.kept_bytes + body_bytes <= KEPT_BYTES_MAX
    }

    /// Has missed all that is kept.
    fn drop_buffered(&mut self) {
        self.missed_before += std::mem::take(&mut self.missed_after) + self.kept.len() as u64;
        self.kept = VecDeque::new();
        self.kept_bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::EventId;

    const TEAM: TeamId = TeamId::from_bytes([1; 16]);
    const OTHER: TeamId = TeamId::from_bytes([2; 16]);

    fn announcement(team: TeamId, number: u8, event_type: &'static str) -> PublishedEvent {
        PublishedEvent { team, id: EventId::from_bytes([number; 16]), event_type, body: "{}".into() }
    }

    fn with_body(number: u8, body_bytes: usize) -> PublishedEvent {
        PublishedEvent { body: "x".repeat(body_bytes).into(), ..announcement(TEAM, number, "email.sent") }
    }

    async fn number(watch: &mut EventStream) -> u8 {
        match watch.next().await {
            Some(StreamItem::Event(announcement)) => announcement.id.as_bytes()[0],
            seen => panic!("{seen:?}"),
        }
    }

    #[tokio::test]
    async fn a_watcher_sees_what_it_asked_for_of_its_own_team_in_order() {
        let announcer = EventBus::default();
        let mut watch = EventStream::new(&announcer, TEAM, TypeFilter::parse("email.*").unwrap());

        announcer.publish(announcement(TEAM, 1, "email.sent"));
        announcer.publish(announcement(OTHER, 2, "email.sent"));
        announcer.publish(announcement(TEAM, 3, "contact.created"));
        announcer.publish(announcement(TEAM, 4, "email.delivered"));

        assert_eq!([number(&mut watch).await, number(&mut watch).await], [1, 4]);
    }

    #[tokio::test]
    async fn a_slow_watcher_is_told_how_many_it_missed_and_goes_on() {
        let announcer = EventBus::default();
        let mut watch = EventStream::new(&announcer, TEAM, TypeFilter::everything());
        let writing = async {
            for _ in 0..KEPT_MAX + 7 {
                announcer.publish(announcement(TEAM, 1, "email.sent"));
                announcer.publish(announcement(OTHER, 1, "email.sent"));
                // The watcher hears at least one whenever the writer waits.
                tokio::task::yield_now().await;
                tokio::task::yield_now().await;
            }
        };
        watch.buffer_while(writing).await;

        for _ in 0..KEPT_MAX {
            assert_eq!(number(&mut watch).await, 1);
        }
        assert!(matches!(watch.next().await, Some(StreamItem::Missed(7))));
        announcer.publish(announcement(TEAM, 2, "email.sent"));
        while number(&mut watch).await != 2 {}
    }

    #[tokio::test]
    async fn a_gap_ends_while_events_go_on_coming() {
        let announcer = EventBus::default();
        let mut watch = EventStream::new(&announcer, TEAM, TypeFilter::everything());
        for _ in 0..KEPT_MAX + 7 {
            announcer.publish(announcement(TEAM, 1, "email.sent"));
            watch.catch_up();
        }

        let mut missed = Vec::new();
        for _ in 0..2 * KEPT_MAX {
            announcer.publish(announcement(TEAM, 2, "email.sent"));
            if let Some(StreamItem::Missed(count)) = watch.next().await {
                missed.push(count);
            }
        }

        // Those of the first lot, and those that came while it was shown.
        assert_eq!(missed, [7 + KEPT_MAX as u64]);
    }

    #[tokio::test]
    async fn a_watcher_that_did_not_listen_at_all_is_told_so() {
        let announcer = EventBus::default();
        let mut watch = EventStream::new(&announcer, TEAM, TypeFilter::everything());
        for _ in 0..3_000 {
            announcer.publish(announcement(TEAM, 1, "email.sent"));
        }

        let Some(StreamItem::Missed(missed)) = watch.next().await else { panic!("the gap comes first") };

        assert!(missed >= 1_000, "{missed}");
        assert_eq!(number(&mut watch).await, 1);
    }

    #[tokio::test]
    async fn a_body_beyond_the_bound_is_missed() {
        let announcer = EventBus::default();
        let mut watch = EventStream::new(&announcer, TEAM, TypeFilter::everything());

        announcer.publish(with_body(1, BODY_BYTES_MAX + 1));

        assert!(matches!(watch.next().await, Some(StreamItem::Missed(1))));
    }

    #[tokio::test]
    async fn bodies_beyond_the_bound_of_all_are_missed_and_room_comes_back() {
        let announcer = EventBus::default();
        let mut watch = EventStream::new(&announcer, TEAM, TypeFilter::everything());
        let fitting = KEPT_BYTES_MAX / BODY_BYTES_MAX;

        for _ in 0..2 {
            for _ in 0..fitting {
                announcer.publish(with_body(1, BODY_BYTES_MAX));
            }
            announcer.publish(with_body(2, 1));
            for _ in 0..fitting {
                assert_eq!(number(&mut watch).await, 1);
            }
            assert!(matches!(watch.next().await, Some(StreamItem::Missed(1))));
        }
        assert_eq!(watch.kept_bytes, 0);
    }

    #[tokio::test]
    async fn a_thousand_events_at_once_are_seen_by_whoever_reads_on() {
        let announcer = EventBus::default();
        let mut watch = EventStream::new(&announcer, TEAM, TypeFilter::everything());

        for _ in 0..1_000 {
            announcer.publish(announcement(TEAM, 1, "contact.created"));
        }

        for _ in 0..1_000 {
            assert_eq!(number(&mut watch).await, 1);
        }
    }

    /// Has the watcher hear what has been said while its reader takes nothing.
    async fn stall(watch: &mut EventStream) {
        watch
            .buffer_while(async {
                for _ in 0..8 {
                    tokio::task::yield_now().await;
                }
            })
            .await;
    }

    #[tokio::test]
    async fn an_erasure_wakes_a_watcher_to_let_go_of_what_came_before_it() {
        let announcer = EventBus::default();
        let mut watch = EventStream::new(&announcer, TEAM, TypeFilter::everything());
        for number in 1..=2 {
            announcer.publish(announcement(TEAM, number, "email.sent"));
            stall(&mut watch).await;
        }
        assert_eq!(watch.kept.len(), 2);

        announcer.publish_erasure(OTHER);
        stall(&mut watch).await;
        assert_eq!(watch.kept.len(), 2);
        announcer.publish_erasure(TEAM);
        stall(&mut watch).await;
        assert_eq!((watch.kept.len(), watch.kept_bytes), (0, 0));

        announcer.publish(announcement(TEAM, 3, "email.sent"));
        assert!(matches!(watch.next().await, Some(StreamItem::Missed(2))));
        assert_eq!(number(&mut watch).await, 3);
    }

    #[tokio::test]
    async fn what_came_before_an_erasure_is_not_shown_after_it_to_whoever_was_not_listening() {
        let announcer = EventBus::default();
        let mut watch = EventStream::new(&announcer, TEAM, TypeFilter::everything());
        for number in 1..=3 {
            announcer.publish(announcement(TEAM, number, "email.sent"));
        }
        assert_eq!(number(&mut watch).await, 1);

        announcer.publish_erasure(TEAM);
        announcer.publish(announcement(TEAM, 4, "email.sent"));

        assert!(matches!(watch.next().await, Some(StreamItem::Missed(2))));
        assert_eq!(number(&mut watch).await, 4);
    }

    #[tokio::test]
    async fn a_watcher_that_lost_something_lets_go_of_what_it_keeps_for_it_may_have_lost_an_erasure() {
        let announcer = EventBus::default();
        let mut watch = EventStream::new(&announcer, TEAM, TypeFilter::everything());
        announcer.publish(announcement(TEAM, 1, "email.sent"));
        announcer.publish(announcement(TEAM, 1, "email.sent"));
        assert_eq!(number(&mut watch).await, 1);
        assert_eq!(watch.kept.len(), 1);

        announcer.publish_erasure(TEAM);
        for _ in 0..3_000 {
            announcer.publish(announcement(TEAM, 2, "email.sent"));
        }

        assert!(matches!(watch.next().await, Some(StreamItem::Missed(missed)) if missed > 1));
        assert_eq!(number(&mut watch).await, 2);
    }

    #[tokio::test]
    async fn a_watcher_ends_when_nothing_can_be_announced_any_more() {
        let announcer = EventBus::default();
        let mut watch = EventStream::new(&announcer, TEAM, TypeFilter::everything());
        drop(announcer);

        assert!(watch.next().await.is_none());
    }
}
