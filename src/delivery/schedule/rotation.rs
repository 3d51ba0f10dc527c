//! The lanes of a site in turn: each stream gets the same number of turns, and so does each lane of a stream.

use std::collections::{BTreeMap, VecDeque};

use crate::base::id::StreamId;
use crate::delivery::queue::LaneKey;

/// Lanes that wait for a session. Each lane is in it at most once.
#[derive(Debug, Default)]
pub(super) struct LaneRotation {
    streams: VecDeque<StreamId>,
    lanes: BTreeMap<StreamId, VecDeque<LaneKey>>,
    /// Number of lanes of all streams.
    len: usize,
}

impl LaneRotation {
    /// Adds a lane as the last one of its stream.
    pub(super) fn push(&mut self, lane: LaneKey) {
        let lanes = self.lanes.entry(lane.stream).or_default();
        if lanes.is_empty() {
            self.streams.push_back(lane.stream);
        }
        lanes.push_back(lane);
        self.len += 1;
    }

    /// Removes and returns the first lane of the next stream.
    pub(super) fn pop(&mut self) -> Option<LaneKey> {
        let stream = self.streams.pop_front()?;
        let lanes = self.lanes.get_mut(&stream)?;
        let lane = lanes.pop_front();
        self.len -= usize::from(lane.is_some());
        if lanes.is_empty() {
            self.lanes.remove(&stream);
        } else {
            self.streams.push_back(stream);
        }
        lane
    }

    /// Returns the number of lanes.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns whether no lane waits.
    pub(super) fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Id;
    use crate::delivery::rows::Class;

    fn lane(destination: u8, stream: u8) -> LaneKey {
        LaneKey { destination: [destination; 16], class: Class::Transactional, stream: Id::from_bytes([stream; 16]) }
    }

    #[test]
    fn a_stream_with_many_lanes_gets_no_more_turns_than_another() {
        let mut rotation = LaneRotation::default();
        for destination in 1..=3 {
            rotation.push(lane(destination, 1));
        }
        rotation.push(lane(9, 2));

        let mut turns = Vec::new();
        for _ in 0..6 {
            let next = rotation.pop().unwrap();
            turns.push((next.stream.as_bytes()[0], next.destination[0]));
            rotation.push(next);
        }

        assert_eq!(turns, [(1, 1), (2, 9), (1, 2), (2, 9), (1, 3), (2, 9)]);
        assert_eq!(rotation.len(), 4);
    }
}
