//! The lanes of a site in turn: each team gets the same number of groups, and so does each stream of a team.
//!
//! Each turn charges the groups that a session takes. The next lane is that of the team, and of its stream, that was
//! charged least. A team or stream without lanes keeps its charge while it is ahead of the others, and saves no turns.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::base::id::{StreamId, TeamId};
use crate::delivery::queue::LaneKey;

/// Lanes that wait for a session. Each lane is in it at most once.
#[derive(Debug, Default)]
pub(super) struct LaneRotation {
    teams: FairQueue<TeamId>,
    streams: BTreeMap<TeamId, TeamLanes>,
    /// Number of lanes of all teams.
    len: usize,
}

/// The lanes of a team, by stream.
#[derive(Debug, Default)]
struct TeamLanes {
    streams: FairQueue<StreamId>,
    lanes: BTreeMap<StreamId, VecDeque<LaneKey>>,
}

impl LaneRotation {
    /// Adds a lane of a team as the last one of its stream.
    pub(super) fn push(&mut self, team: TeamId, lane: LaneKey) {
        self.teams.add(team);
        let known = &self.teams;
        if self.streams.len() > 2 * known.keys.len() {
            self.streams.retain(|team, _| known.keys.contains_key(team));
        }
        let streams = self.streams.entry(team).or_default();
        streams.streams.add(lane.stream);
        streams.lanes.entry(lane.stream).or_default().push_back(lane);
        self.len += 1;
    }

    /// Removes and returns the first lane of the next stream.
    pub(super) fn pop(&mut self) -> Option<LaneKey> {
        let team = self.teams.next()?;
        let streams = self.streams.get_mut(&team)?;
        let stream = streams.streams.next()?;
        let lanes = streams.lanes.get_mut(&stream)?;
        let lane = lanes.pop_front()?;
        self.len -= 1;
        if lanes.is_empty() {
            streams.lanes.remove(&stream);
            streams.streams.remove(stream);
        }
        if streams.lanes.is_empty() {
            self.teams.remove(team);
        }
        Some(lane)
    }

    /// Charges the groups that a session takes of a lane.
    pub(super) fn charge(&mut self, team: TeamId, stream: StreamId, groups: usize) {
        self.teams.charge(team, groups);
        if let Some(streams) = self.streams.get_mut(&team) {
            streams.streams.charge(stream, groups);
        }
    }

    /// Returns the number of lanes.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns whether no lane waits.
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Keys of which the one that was charged least is the next.
#[derive(Debug)]
struct FairQueue<K> {
    /// The keys that wait, by their charge and then in the order of their last change.
    waiting: BTreeSet<(u64, u64, K)>,
    /// Charge of each key, and its number in `waiting` while it waits.
    keys: BTreeMap<K, (u64, Option<u64>)>,
    /// Charge of the last key that was the next one. A key that is added starts with it.
    level: u64,
    changes: u64,
}

impl<K> Default for FairQueue<K> {
    fn default() -> Self {
        Self { waiting: BTreeSet::new(), keys: BTreeMap::new(), level: 0, changes: 0 }
    }
}

impl<K: Ord + Copy> FairQueue<K> {
    /// Lets a key wait, if it does not.
    fn add(&mut self, key: K) {
        let (charge, number) = self.keys.get(&key).copied().unwrap_or_default();
        if number.is_none() {
            self.set(key, charge.max(self.level), true);
        }
    }

    /// Returns the next key. It still waits.
    fn next(&mut self) -> Option<K> {
        let (charge, _, key) = *self.waiting.first()?;
        self.level = charge;
        Some(key)
    }

    /// Ends the wait of a key, which keeps its charge.
    fn remove(&mut self, key: K) {
        if let Some((charge, Some(_))) = self.keys.get(&key).copied() {
            self.set(key, charge, false);
        }
        if self.keys.len() > 2 * self.waiting.len() + KEPT_MIN {
            let level = self.level;
            self.keys.retain(|_, (charge, number)| number.is_some() || *charge > level);
        }
    }

    fn charge(&mut self, key: K, groups: usize) {
        if let Some((charge, number)) = self.keys.get(&key).copied() {
            self.set(key, charge.saturating_add(groups as u64), number.is_some());
        }
    }

    /// Sets the charge of a key, and whether it waits: behind those with the same charge.
    fn set(&mut self, key: K, charge: u64, waits: bool) {
        if let Some((old, Some(number))) = self.keys.get(&key).copied() {
            self.waiting.remove(&(old, number, key));
        }
        self.changes += 1;
        let number = waits.then_some(self.changes);
        self.keys.insert(key, (charge, number));
        if waits {
            self.waiting.insert((charge, self.changes, key));
        }
    }
}

/// Number of keys without lanes that are kept beside as many as wait.
const KEPT_MIN: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Id;
    use crate::delivery::rows::Class;

    fn team(number: u8) -> TeamId {
        Id::from_bytes([number; 16])
    }

    fn lane(destination: u8, stream: u8) -> LaneKey {
        LaneKey { destination: [destination; 16], class: Class::Broadcast, stream: Id::from_bytes([stream; 16]) }
    }

    /// Pops lanes this many times. Each turn takes `taken` groups of the lane and adds the lane again. Returns the streams.
    fn turns(rotation: &mut LaneRotation, count: usize, team_of: fn(u8) -> u8, taken: fn(u8) -> usize) -> Vec<u8> {
        let turn = |_| {
            let next = rotation.pop().unwrap();
            let stream = next.stream.as_bytes()[0];
            rotation.charge(team(team_of(stream)), next.stream, taken(stream));
            rotation.push(team(team_of(stream)), next);
            stream
        };
        (0..count).map(turn).collect()
    }

    #[test]
    fn a_stream_with_many_lanes_gets_no_more_turns_than_another() {
        let mut rotation = LaneRotation::default();
        for destination in 1..=3 {
            rotation.push(team(1), lane(destination, 1));
        }
        rotation.push(team(2), lane(9, 2));

        assert_eq!(turns(&mut rotation, 6, |stream| stream, |_| 1), [1, 2, 1, 2, 1, 2]);
        assert_eq!(rotation.len(), 4);
        let mut lanes: Vec<u8> = std::iter::from_fn(|| rotation.pop()).map(|lane| lane.destination[0]).collect();
        lanes.sort_unstable();
        assert_eq!(lanes, [1, 2, 3, 9]);
    }

    #[test]
    fn a_team_with_ten_broadcasts_gets_as_many_turns_as_a_team_with_one() {
        let mut rotation = LaneRotation::default();
        for broadcast in 1..=11 {
            rotation.push(team(if broadcast == 11 { 2 } else { 1 }), lane(1, broadcast));
        }

        let turns = turns(&mut rotation, 22, |stream| if stream == 11 { 2 } else { 1 }, |_| 1);

        assert_eq!(turns.iter().filter(|stream| **stream == 11).count(), 11);
        let mut others: Vec<u8> = turns.into_iter().filter(|stream| *stream != 11).collect();
        others.truncate(10);
        assert_eq!(others, (1..=10).collect::<Vec<u8>>());
    }

    #[test]
    fn a_team_that_takes_many_groups_at_once_gets_fewer_turns() {
        let mut rotation = LaneRotation::default();
        rotation.push(team(1), lane(1, 1));
        rotation.push(team(2), lane(1, 2));

        let turns = turns(&mut rotation, 27, |stream| stream, |stream| if stream == 1 { 8 } else { 1 });

        assert_eq!(turns.iter().filter(|stream| **stream == 1).count(), 3);
    }

    #[test]
    fn a_team_saves_no_turns_while_it_has_no_lanes_and_keeps_what_it_was_charged() {
        let mut rotation = LaneRotation::default();
        rotation.push(team(1), lane(1, 1));
        turns(&mut rotation, 100, |stream| stream, |_| 1);
        rotation.push(team(2), lane(1, 2));

        let after_absence = turns(&mut rotation, 4, |stream| stream, |_| 1);
        assert!(after_absence.iter().filter(|stream| **stream == 2).count() <= 2, "{after_absence:?}");

        let mut rotation = LaneRotation::default();
        rotation.push(team(1), lane(1, 1));
        rotation.push(team(2), lane(1, 2));
        let popped = rotation.pop().unwrap();
        rotation.charge(team(1), popped.stream, 8);
        rotation.push(team(1), popped);
        assert_eq!(turns(&mut rotation, 8, |stream| stream, |_| 1), [2; 8]);
    }

    #[test]
    fn keys_without_lanes_are_forgotten_when_the_others_have_caught_up() {
        let mut rotation = LaneRotation::default();
        for number in 1..=200 {
            rotation.push(team(number), lane(1, number));
        }
        turns(&mut rotation, 200, |stream| stream, |_| 1);
        while rotation.pop().is_some() {}
        for _ in 0..3 {
            rotation.push(team(1), lane(1, 1));
            turns(&mut rotation, 1, |stream| stream, |_| 1);
            rotation.pop();
        }

        assert!(rotation.is_empty());
        assert!(rotation.teams.keys.len() <= KEPT_MIN + 1, "{}", rotation.teams.keys.len());
    }
}
