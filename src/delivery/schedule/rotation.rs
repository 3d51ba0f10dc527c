//! The lanes of a site in turn: each team gets the same number of groups, and so does each stream of a team.
//!
//! A session adds the groups that it takes to the charges of the team and of the stream. The team with the lowest charge is
//! next, and so is its stream with the lowest charge. A team or stream without lanes keeps a charge that is higher than
//! those of the others. A lower one does not count after its absence. Groups that are taken and not sent stay charged.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::base::id::{StreamId, TeamId};
use crate::delivery::queue::LaneKey;

/// Number of absent keys that a queue may have beside one for each key that waits.
const ABSENT_KEPT_MAX: usize = 16;

/// Lanes that wait for a session. Each lane is in it at most once.
#[derive(Debug, Default)]
pub(super) struct LaneRotation {
    teams: FairQueue<TeamId>,
    lanes_of: BTreeMap<TeamId, TeamLanes>,
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
        if self.lanes_of.len() > self.teams.keys.len() {
            let teams = &self.teams;
            self.lanes_of.retain(|team, _| teams.keys.contains_key(team));
        }
        let of_team = self.lanes_of.entry(team).or_default();
        of_team.streams.add(lane.stream);
        of_team.lanes.entry(lane.stream).or_default().push_back(lane);
        self.len += 1;
    }

    /// Removes and returns the first lane of the next stream.
    pub(super) fn pop(&mut self) -> Option<LaneKey> {
        let team = self.teams.next()?;
        let of_team = self.lanes_of.get_mut(&team)?;
        let stream = of_team.streams.next()?;
        let lanes = of_team.lanes.get_mut(&stream)?;
        let lane = lanes.pop_front()?;
        self.len -= 1;
        if lanes.is_empty() {
            of_team.lanes.remove(&stream);
            of_team.streams.remove(stream);
        }
        if of_team.lanes.is_empty() {
            self.teams.remove(team);
        }
        Some(lane)
    }

    /// Puts a lane back that was popped and not taken. It is the first one of its stream again.
    pub(super) fn put_back(&mut self, team: TeamId, lane: LaneKey) {
        self.teams.put_back(team);
        let of_team = self.lanes_of.entry(team).or_default();
        of_team.streams.put_back(lane.stream);
        of_team.lanes.entry(lane.stream).or_default().push_front(lane);
        self.len += 1;
    }

    /// Charges the groups that a session takes of a lane.
    pub(super) fn charge(&mut self, team: TeamId, stream: StreamId, groups: usize) {
        self.teams.charge(team, groups);
        if let Some(of_team) = self.lanes_of.get_mut(&team) {
            of_team.streams.charge(stream, groups);
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

/// Keys of which the one with the lowest charge is next.
#[derive(Debug)]
struct FairQueue<K> {
    /// The keys that wait, by their charge and then in the order of their last change.
    waiting: BTreeSet<(u64, u64, K)>,
    /// Charge of each key, and its number in `waiting` while it waits.
    keys: BTreeMap<K, (u64, Option<u64>)>,
    /// Lowest charge of a key that is added: that of the keys that have waited.
    charge_min: u64,
    charge_max: u64,
    changes: u64,
}

impl<K> Default for FairQueue<K> {
    fn default() -> Self {
        Self { waiting: BTreeSet::new(), keys: BTreeMap::new(), charge_min: 0, charge_max: 0, changes: 0 }
    }
}

impl<K: Ord + Copy> FairQueue<K> {
    /// Lets a key wait, if it does not. Forgets absent keys, and their charges if no key waits: there is no competition.
    fn add(&mut self, key: K) {
        if self.waiting.is_empty() {
            self.charge_min = self.charge_max;
        }
        let (charge, number) = self.keys.get(&key).copied().unwrap_or_default();
        if number.is_none() {
            self.set(key, charge.max(self.charge_min), true);
        }
        if self.keys.len() > 2 * self.waiting.len() + ABSENT_KEPT_MAX {
            let charge_min = self.charge_min;
            self.keys.retain(|_, (charge, number)| number.is_some() || *charge > charge_min);
        }
    }

    /// Returns the next key. It still waits.
    fn next(&self) -> Option<K> {
        self.waiting.first().map(|(_, _, key)| *key)
    }

    /// Ends the wait of a key, which keeps its charge.
    fn remove(&mut self, key: K) {
        if let Some((charge, Some(_))) = self.keys.get(&key).copied() {
            self.set(key, charge, false);
        }
    }

    /// Lets a key wait in the place that it had, if it does not wait.
    fn put_back(&mut self, key: K) {
        let (charge, number) = self.keys.get(&key).copied().unwrap_or((self.charge_min, None));
        if number.is_none() {
            self.keys.insert(key, (charge, Some(0)));
            self.waiting.insert((charge, 0, key));
        }
    }

    fn charge(&mut self, key: K, groups: usize) {
        let Some((charge, number)) = self.keys.get(&key).copied() else { return };
        let lowest = self.waiting.first().map_or(charge, |(lowest, _, _)| charge.min(*lowest));
        self.charge_min = self.charge_min.max(lowest);
        self.set(key, charge.saturating_add(groups as u64), number.is_some());
    }

    /// Sets the charge of a key, and whether it waits: behind those with the same charge.
    fn set(&mut self, key: K, charge: u64, waits: bool) {
        if let Some((old, Some(number))) = self.keys.get(&key).copied() {
            self.waiting.remove(&(old, number, key));
        }
        self.changes += 1;
        self.charge_max = self.charge_max.max(charge);
        let number = waits.then_some(self.changes);
        self.keys.insert(key, (charge, number));
        if waits {
            self.waiting.insert((charge, self.changes, key));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Id;
    use crate::delivery::rows::Class;

    fn team(number: u16) -> TeamId {
        let mut bytes = [0; 16];
        bytes[..2].copy_from_slice(&number.to_be_bytes());
        Id::from_bytes(bytes)
    }

    /// A lane of the stream of a team, or of a broadcast, with this number.
    fn lane(destination: u8, stream: u16) -> LaneKey {
        LaneKey { destination: [destination; 16], class: Class::Broadcast, stream: team(stream).cast() }
    }

    fn number(stream: StreamId) -> u16 {
        let bytes = stream.as_bytes();
        u16::from_be_bytes([bytes[0], bytes[1]])
    }

    /// Returns a rotation with one lane of each of these teams.
    fn rotation(teams: impl IntoIterator<Item = u16>) -> LaneRotation {
        let mut rotation = LaneRotation::default();
        for number in teams {
            rotation.push(team(number), lane(1, number));
        }
        rotation
    }

    /// Pops a lane, takes this many groups of it, and adds it again. Returns its stream.
    fn turn(rotation: &mut LaneRotation, team_of: fn(u16) -> u16, taken: fn(u16) -> usize) -> u16 {
        let next = rotation.pop().unwrap();
        let stream = number(next.stream);
        rotation.charge(team(team_of(stream)), next.stream, taken(stream));
        rotation.push(team(team_of(stream)), next);
        stream
    }

    fn turns(rotation: &mut LaneRotation, count: usize, team_of: fn(u16) -> u16, taken: fn(u16) -> usize) -> Vec<u16> {
        (0..count).map(|_| turn(rotation, team_of, taken)).collect()
    }

    fn own(stream: u16) -> u16 {
        stream
    }

    fn times(turns: &[u16], stream: u16) -> usize {
        turns.iter().filter(|its| **its == stream).count()
    }

    #[test]
    fn a_stream_with_many_lanes_gets_no_more_turns_than_another() {
        let mut rotation = LaneRotation::default();
        for destination in 1..=3 {
            rotation.push(team(1), lane(destination, 1));
        }
        rotation.push(team(2), lane(9, 2));

        assert_eq!(turns(&mut rotation, 6, own, |_| 1), [1, 2, 1, 2, 1, 2]);
        assert_eq!(rotation.len(), 4);
        let mut lanes: Vec<u8> = std::iter::from_fn(|| rotation.pop()).map(|lane| lane.destination[0]).collect();
        lanes.sort_unstable();
        assert_eq!(lanes, [1, 2, 3, 9]);
    }

    #[test]
    fn a_team_with_ten_broadcasts_gets_as_many_turns_as_a_team_with_one() {
        fn team_of(broadcast: u16) -> u16 {
            if broadcast == 11 { 2 } else { 1 }
        }
        let mut rotation = LaneRotation::default();
        for broadcast in 1..=11 {
            rotation.push(team(team_of(broadcast)), lane(1, broadcast));
        }

        let turns = turns(&mut rotation, 22, team_of, |_| 1);

        assert_eq!(times(&turns, 11), 11);
        let others: Vec<u16> = turns.into_iter().filter(|stream| *stream != 11).take(10).collect();
        assert_eq!(others, (1..=10).collect::<Vec<u16>>());
    }

    #[test]
    fn a_team_that_takes_many_groups_at_once_gets_fewer_turns() {
        let mut rotation = rotation([1, 2]);

        let turns = turns(&mut rotation, 27, own, |stream| if stream == 1 { 8 } else { 1 });

        assert_eq!(times(&turns, 1), 3);
    }

    #[test]
    fn a_team_that_was_absent_gets_no_more_turns_and_no_fewer() {
        let mut rotation = rotation([1]);
        turns(&mut rotation, 100, own, |_| 1);
        rotation.push(team(2), lane(1, 2));

        assert_eq!(times(&turns(&mut rotation, 4, own, |_| 1), 2), 2);
    }

    #[test]
    fn a_lane_that_returns_after_its_claim_is_still_charged_for_it() {
        let mut rotation = rotation(1..=3);
        let claimed = rotation.pop().unwrap();
        rotation.charge(team(1), claimed.stream, 8);
        turns(&mut rotation, 2, own, |_| 1);

        rotation.push(team(1), claimed);

        assert_eq!(times(&turns(&mut rotation, 14, own, |_| 1), 1), 0);
        assert_eq!(times(&turns(&mut rotation, 3, own, |_| 1), 1), 1);
    }

    #[test]
    fn a_team_with_a_backlog_does_not_stop_teams_that_come_and_go() {
        let mut rotation = rotation(1..=100);
        for _ in 1..=100 {
            let next = rotation.pop().unwrap();
            rotation.charge(team(number(next.stream)), next.stream, 1);
        }
        rotation.push(team(500), lane(1, 500));
        turns(&mut rotation, 3, own, |_| 8);

        rotation.push(team(7), lane(1, 7));

        assert_eq!(times(&turns(&mut rotation, 45, own, |stream| if stream == 7 { 1 } else { 8 }), 500), 5);
    }

    #[test]
    fn a_lane_that_is_put_back_keeps_its_place() {
        let mut rotation = rotation([1, 2]);
        // A session that fits the second team only takes 100 groups of it.
        for _ in 0..100 {
            let unfit = rotation.pop().unwrap();
            let taken = if number(unfit.stream) == 2 {
                unfit
            } else {
                let fitting = rotation.pop().unwrap();
                rotation.put_back(team(1), unfit);
                fitting
            };
            assert_eq!(number(taken.stream), 2);
            rotation.charge(team(2), taken.stream, 1);
            rotation.push(team(2), taken);
        }

        // The first team has not got its groups yet.
        assert_eq!(turns(&mut rotation, 100, own, |_| 1), [1; 100]);
    }

    #[test]
    fn absent_teams_and_streams_are_forgotten() {
        let mut rotation = LaneRotation::default();
        for stream in 1..=2_000 {
            rotation.push(team(stream), lane(1, stream));
            rotation.push(team(3_000), lane(1, 3_000 + stream));
            for _ in 0..2 {
                let next = rotation.pop().unwrap();
                let of = if number(next.stream) > 3_000 { 3_000 } else { stream };
                rotation.charge(team(of), next.stream, 1);
            }
        }

        assert!(rotation.is_empty());
        let kept = ABSENT_KEPT_MAX + 4;
        assert!(rotation.teams.keys.len() <= kept, "{}", rotation.teams.keys.len());
        assert!(rotation.lanes_of.len() <= kept, "{}", rotation.lanes_of.len());
        let streams = rotation.lanes_of.values().map(|of_team| of_team.streams.keys.len()).max().unwrap();
        assert!(streams <= kept, "{streams}");
    }
}
