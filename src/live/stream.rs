//! One stream: the events of one team in the order of publication.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use super::filter::TypeFilter;
use crate::base::id::TeamId;
use crate::event_bus::{BusMessage, EventBus, PublishedEvent};

/// Events that a stream buffers for its reader.
const BUFFERED_MAX: usize = 1_024;
/// Bytes of the bodies that a stream buffers.
const BUFFERED_BYTES_MAX: usize = 4 << 20;
/// Bytes of the longest body that is delivered. An event with a longer body counts as missed.
const BODY_BYTES_MAX: usize = 1 << 20;

/// Item of a stream.
#[derive(Clone, Debug)]
pub enum StreamItem {
    Event(PublishedEvent),
    /// Upper bound of the number of events that the reader was too slow for, or that an erasure removed.
    Missed(u64),
}

/// Stream of the events of one team.
#[derive(Debug)]
pub struct EventStream {
    receiver: broadcast::Receiver<BusMessage>,
    filter: TypeFilter,
    /// Events that were missed before the buffered events.
    missed_before: u64,
    buffered: VecDeque<PublishedEvent>,
    /// Bytes of the buffered bodies.
    buffered_bytes: usize,
    /// Events that did not fit into the buffer; 0 while the buffer is empty.
    missed_after: u64,
    /// The event bus is closed.
    is_closed: bool,
}

impl EventStream {
    /// Subscribes to the events of a team that are published from now on.
    pub fn new(event_bus: &EventBus, team: TeamId, filter: TypeFilter) -> Self {
        Self {
            receiver: event_bus.subscribe(team),
            filter,
            missed_before: 0,
            buffered: VecDeque::new(),
            buffered_bytes: 0,
            missed_after: 0,
            is_closed: false,
        }
    }

    /// Waits for the next item; returns `None` after the event bus is closed. Cancel safe: no item is lost.
    pub async fn next(&mut self) -> Option<StreamItem> {
        loop {
            // An erasure may have been published since then. Events before it must not be delivered.
            self.catch_up();
            if self.missed_before > 0 {
                return Some(StreamItem::Missed(std::mem::take(&mut self.missed_before)));
            }
            if let Some(event) = self.buffered.pop_front() {
                self.buffered_bytes -= event.body.len();
                if self.buffered.is_empty() {
                    // The gap precedes the events that are buffered from now on.
                    self.missed_before = std::mem::take(&mut self.missed_after);
                }
                return Some(StreamItem::Event(event));
            }
            if self.is_closed {
                return None;
            }
            let message = self.receiver.recv().await;
            self.take(message);
        }
    }

    /// Waits for `work` and buffers events meanwhile. A reader that is slow for a moment therefore misses nothing, and
    /// an erasure empties the buffer immediately.
    pub async fn buffer_while<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                message = self.receiver.recv(), if !self.is_closed => self.take(message),
            }
        }
    }

    /// Buffers the messages that have been published so far.
    fn catch_up(&mut self) {
        for _ in 0..self.receiver.len() {
            match self.receiver.try_recv() {
                Ok(message) => self.take(Ok(message)),
                Err(TryRecvError::Lagged(count)) => self.take(Err(RecvError::Lagged(count))),
                Err(TryRecvError::Empty | TryRecvError::Closed) => return,
            }
        }
    }

    fn take(&mut self, message: Result<BusMessage, RecvError>) {
        match message {
            Ok(BusMessage::Event(event)) if !self.filter.matches(event.event_type) => {}
            Ok(BusMessage::Event(event)) if self.has_room_for(&event) => {
                self.buffered_bytes += event.body.len();
                self.buffered.push_back(event);
            }
            Ok(BusMessage::Event(_)) if self.buffered.is_empty() => self.missed_before += 1,
            Ok(BusMessage::Event(_)) => self.missed_after += 1,
            Ok(BusMessage::Erasure) => self.drop_buffered(),
            // The lost messages may include an erasure, and events that the filter rejects.
            Err(RecvError::Lagged(count)) => {
                self.drop_buffered();
                self.missed_before = self.missed_before.saturating_add(count);
            }
            Err(RecvError::Closed) => self.is_closed = true,
        }
    }

    fn has_room_for(&self, event: &PublishedEvent) -> bool {
        let body_bytes = event.body.len();
        // Events after a gap are not buffered until the events before it are delivered.
        self.missed_after == 0
            && self.buffered.len() < BUFFERED_MAX
            && body_bytes <= BODY_BYTES_MAX
            && self.buffered_bytes + body_bytes <= BUFFERED_BYTES_MAX
    }

    /// Empties the buffer and counts its events as missed.
    fn drop_buffered(&mut self) {
        self.missed_before += std::mem::take(&mut self.missed_after) + self.buffered.len() as u64;
        self.buffered = VecDeque::new();
        self.buffered_bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::EventId;

    const TEAM: TeamId = TeamId::from_bytes([1; 16]);
    const OTHER: TeamId = TeamId::from_bytes([2; 16]);

    fn event(team: TeamId, number: u8, event_type: &'static str) -> PublishedEvent {
        PublishedEvent { team, id: EventId::from_bytes([number; 16]), event_type, body: "{}".into() }
    }

    fn with_body(number: u8, body_bytes: usize) -> PublishedEvent {
        PublishedEvent { body: "x".repeat(body_bytes).into(), ..event(TEAM, number, "email.sent") }
    }

    async fn number(stream: &mut EventStream) -> u8 {
        match stream.next().await {
            Some(StreamItem::Event(event)) => event.id.as_bytes()[0],
            item => panic!("{item:?}"),
        }
    }

    #[tokio::test]
    async fn a_stream_delivers_the_filtered_events_of_its_team_in_order() {
        let event_bus = EventBus::default();
        let mut stream = EventStream::new(&event_bus, TEAM, TypeFilter::parse("email.*").unwrap());

        event_bus.publish(event(TEAM, 1, "email.sent"));
        event_bus.publish(event(OTHER, 2, "email.sent"));
        event_bus.publish(event(TEAM, 3, "contact.created"));
        event_bus.publish(event(TEAM, 4, "email.delivered"));

        assert_eq!([number(&mut stream).await, number(&mut stream).await], [1, 4]);
    }

    #[tokio::test]
    async fn a_slow_reader_gets_the_number_of_missed_events_and_continues() {
        let event_bus = EventBus::default();
        let mut stream = EventStream::new(&event_bus, TEAM, TypeFilter::everything());
        let writing = async {
            for _ in 0..BUFFERED_MAX + 7 {
                event_bus.publish(event(TEAM, 1, "email.sent"));
                event_bus.publish(event(OTHER, 1, "email.sent"));
                // The stream receives at least one event whenever the writer yields.
                tokio::task::yield_now().await;
                tokio::task::yield_now().await;
            }
        };
        stream.buffer_while(writing).await;

        for _ in 0..BUFFERED_MAX {
            assert_eq!(number(&mut stream).await, 1);
        }
        assert!(matches!(stream.next().await, Some(StreamItem::Missed(7))));
        event_bus.publish(event(TEAM, 2, "email.sent"));
        while number(&mut stream).await != 2 {}
    }

    #[tokio::test]
    async fn a_gap_ends_while_events_continue() {
        let event_bus = EventBus::default();
        let mut stream = EventStream::new(&event_bus, TEAM, TypeFilter::everything());
        for _ in 0..BUFFERED_MAX + 7 {
            event_bus.publish(event(TEAM, 1, "email.sent"));
            stream.catch_up();
        }

        let mut missed = Vec::new();
        for _ in 0..2 * BUFFERED_MAX {
            event_bus.publish(event(TEAM, 2, "email.sent"));
            if let Some(StreamItem::Missed(count)) = stream.next().await {
                missed.push(count);
            }
        }

        // The missed events of the first loop, and the events published while the buffer was read.
        assert_eq!(missed, [7 + BUFFERED_MAX as u64]);
    }

    #[tokio::test]
    async fn a_reader_that_never_reads_gets_the_number_of_missed_events() {
        let event_bus = EventBus::default();
        let mut stream = EventStream::new(&event_bus, TEAM, TypeFilter::everything());
        for _ in 0..3_000 {
            event_bus.publish(event(TEAM, 1, "email.sent"));
        }

        let Some(StreamItem::Missed(missed)) = stream.next().await else { panic!("the gap comes first") };

        assert!(missed >= 1_000, "{missed}");
        assert_eq!(number(&mut stream).await, 1);
    }

    #[tokio::test]
    async fn an_event_with_a_body_over_the_limit_is_missed() {
        let event_bus = EventBus::default();
        let mut stream = EventStream::new(&event_bus, TEAM, TypeFilter::everything());

        event_bus.publish(with_body(1, BODY_BYTES_MAX + 1));

        assert!(matches!(stream.next().await, Some(StreamItem::Missed(1))));
    }

    #[tokio::test]
    async fn an_event_that_exceeds_the_buffer_is_missed_until_the_reader_frees_it() {
        let event_bus = EventBus::default();
        let mut stream = EventStream::new(&event_bus, TEAM, TypeFilter::everything());
        let fitting = BUFFERED_BYTES_MAX / BODY_BYTES_MAX;

        for _ in 0..2 {
            for _ in 0..fitting {
                event_bus.publish(with_body(1, BODY_BYTES_MAX));
            }
            event_bus.publish(with_body(2, 1));
            for _ in 0..fitting {
                assert_eq!(number(&mut stream).await, 1);
            }
            assert!(matches!(stream.next().await, Some(StreamItem::Missed(1))));
        }
        assert_eq!(stream.buffered_bytes, 0);
    }

    #[tokio::test]
    async fn a_burst_of_a_thousand_events_is_delivered() {
        let event_bus = EventBus::default();
        let mut stream = EventStream::new(&event_bus, TEAM, TypeFilter::everything());

        for _ in 0..1_000 {
            event_bus.publish(event(TEAM, 1, "contact.created"));
        }

        for _ in 0..1_000 {
            assert_eq!(number(&mut stream).await, 1);
        }
    }

    /// Lets the stream receive published messages while its reader reads nothing.
    async fn stall(stream: &mut EventStream) {
        stream
            .buffer_while(async {
                for _ in 0..8 {
                    tokio::task::yield_now().await;
                }
            })
            .await;
    }

    #[tokio::test]
    async fn an_erasure_empties_the_buffer_of_its_team() {
        let event_bus = EventBus::default();
        let mut stream = EventStream::new(&event_bus, TEAM, TypeFilter::everything());
        for number in 1..=2 {
            event_bus.publish(event(TEAM, number, "email.sent"));
            stall(&mut stream).await;
        }
        assert_eq!(stream.buffered.len(), 2);

        event_bus.publish_erasure(OTHER);
        stall(&mut stream).await;
        assert_eq!(stream.buffered.len(), 2);
        event_bus.publish_erasure(TEAM);
        stall(&mut stream).await;
        assert_eq!((stream.buffered.len(), stream.buffered_bytes), (0, 0));

        event_bus.publish(event(TEAM, 3, "email.sent"));
        assert!(matches!(stream.next().await, Some(StreamItem::Missed(2))));
        assert_eq!(number(&mut stream).await, 3);
    }

    #[tokio::test]
    async fn events_before_an_erasure_are_not_delivered_after_it() {
        let event_bus = EventBus::default();
        let mut stream = EventStream::new(&event_bus, TEAM, TypeFilter::everything());
        for number in 1..=3 {
            event_bus.publish(event(TEAM, number, "email.sent"));
        }
        assert_eq!(number(&mut stream).await, 1);

        event_bus.publish_erasure(TEAM);
        event_bus.publish(event(TEAM, 4, "email.sent"));

        assert!(matches!(stream.next().await, Some(StreamItem::Missed(2))));
        assert_eq!(number(&mut stream).await, 4);
    }

    #[tokio::test]
    async fn a_stream_that_lost_messages_empties_its_buffer() {
        let event_bus = EventBus::default();
        let mut stream = EventStream::new(&event_bus, TEAM, TypeFilter::everything());
        event_bus.publish(event(TEAM, 1, "email.sent"));
        event_bus.publish(event(TEAM, 1, "email.sent"));
        assert_eq!(number(&mut stream).await, 1);
        assert_eq!(stream.buffered.len(), 1);

        event_bus.publish_erasure(TEAM);
        for _ in 0..3_000 {
            event_bus.publish(event(TEAM, 2, "email.sent"));
        }

        assert!(matches!(stream.next().await, Some(StreamItem::Missed(missed)) if missed > 1));
        assert_eq!(number(&mut stream).await, 2);
    }

    #[tokio::test]
    async fn a_stream_ends_when_the_event_bus_is_closed() {
        let event_bus = EventBus::default();
        let mut stream = EventStream::new(&event_bus, TEAM, TypeFilter::everything());
        drop(event_bus);

        assert!(stream.next().await.is_none());
    }
}
