//! Turns of the lanes of slowed teams, whose broadcasts together send one message a second.
//!
//! The claim decides whether a group is taken. The schedule learns from claims which broadcasts are slowed down. It
//! lets one lane of the team claim each second, so that the others cost nothing while they wait. A turn does not wait
//! for the lane that got the one before: its site can be paused. The first claim that finds the full pace releases all
//! lanes of the team.

use std::cmp::Reverse;
use std::collections::{HashSet, VecDeque};

use super::{Now, Place, Schedule, Timer};
use crate::base::id::{StreamId, TeamId};
use crate::delivery::queue::{LaneKey, LanePace, SLOWED_INTERVAL_MS};
use crate::delivery::rows::Class;

/// Time for which the pace of a broadcast without lanes in memory stays known. Many scans of the table follow in this time,
/// and find the lanes that did not fit.
pub(super) const STREAM_KEPT_MS: i64 = 60 * 60_000;

/// The turns of a slowed team.
#[derive(Debug, Default)]
pub(super) struct SlowedLanes {
    /// Monotonic time of the next turn. It has a timer while lanes wait.
    turn_ms: i64,
    /// Lanes in [`Place::Slowed`], in the order of their turns.
    waiting: VecDeque<LaneKey>,
}

/// A broadcast of a slowed team, as of the last claim.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlowedStream {
    team: TeamId,
    /// Monotonic time of this claim.
    claimed_ms: i64,
}

impl Schedule {
    /// Records the pace that a claim of a lane found. Must precede [`Schedule::claimed`].
    pub(in crate::delivery) fn paced(&mut self, key: LaneKey, pace: LanePace, now: Now) {
        match pace {
            LanePace::Unknown => {}
            LanePace::Full => {
                if let Some(team) = self.slowed_team(key) {
                    self.release_slowed(team, now);
                }
            }
            LanePace::Slowed { team, next_ms } => {
                let turn_ms = now.elapsed_ms + (next_ms - now.wall_ms).clamp(0, SLOWED_INTERVAL_MS);
                self.slowed_streams.insert(key.stream, SlowedStream { team, claimed_ms: now.elapsed_ms });
                self.slowed.entry(team).or_default();
                self.set_turn(team, turn_ms);
            }
        }
    }

    /// Returns the slowed team of a lane; `None` if its broadcasts are not slowed down, as far as known.
    fn slowed_team(&self, key: LaneKey) -> Option<TeamId> {
        match key.class {
            Class::Transactional => None,
            Class::Broadcast => self.slowed_streams.get(&key.stream).map(|stream| stream.team),
        }
    }

    /// Returns whether a lane must wait for the turn of its slowed team.
    pub(super) fn needs_turn(&self, key: LaneKey) -> bool {
        self.is_slowed(key) && self.lanes.get(&key).is_some_and(|lane| !lane.has_turn)
    }

    /// Returns whether the last claim of a broadcast found that its team is slowed.
    pub(super) fn is_slowed(&self, key: LaneKey) -> bool {
        self.slowed_team(key).is_some()
    }

    /// Lets a lane wait for the turn of its team.
    pub(super) fn wait_for_turn(&mut self, key: LaneKey) {
        let Some(team) = self.slowed_team(key) else { return };
        let Some(lane) = self.lanes.get_mut(&key) else { return };
        lane.place = Place::Slowed;
        lane.ready = lane.ready.max(1);
        let lanes = self.slowed.entry(team).or_default();
        lanes.waiting.push_back(key);
        if lanes.waiting.len() == 1 {
            self.timers.push(Reverse((lanes.turn_ms, Timer::Team(team))));
        }
    }

    /// Gives the turn of a team to its next lane, unless it is not due.
    pub(super) fn give_turn(&mut self, team: TeamId, now: Now) {
        let Some(lanes) = self.slowed.get_mut(&team) else { return };
        if lanes.turn_ms > now.elapsed_ms {
            return;
        }
        let Some(key) = lanes.waiting.pop_front() else { return };
        self.set_turn(team, now.elapsed_ms + SLOWED_INTERVAL_MS);
        if let Some(lane) = self.lanes.get_mut(&key) {
            lane.has_turn = true;
            // One group is taken, so that one session and one token are enough. The end of the claim counts the others.
            lane.ready = 1;
            lane.place = Place::Taken;
        }
        self.activate(key, now);
    }

    fn set_turn(&mut self, team: TeamId, turn_ms: i64) {
        let Some(lanes) = self.slowed.get_mut(&team) else { return };
        if std::mem::replace(&mut lanes.turn_ms, turn_ms) != turn_ms && !lanes.waiting.is_empty() {
            self.timers.push(Reverse((turn_ms, Timer::Team(team))));
        }
    }

    /// Ends the turns of a team, and activates all its waiting lanes.
    fn release_slowed(&mut self, team: TeamId, now: Now) {
        self.slowed_streams.retain(|_, stream| stream.team != team);
        let waiting = self.slowed.remove(&team).map(|lanes| lanes.waiting).unwrap_or_default();
        for key in waiting {
            self.place(key, Place::Taken);
            self.activate(key, now);
        }
    }

    /// Empties the waiting lists, and returns their lanes.
    pub(super) fn take_slowed(&mut self) -> Vec<LaneKey> {
        self.slowed.values_mut().flat_map(|lanes| std::mem::take(&mut lanes.waiting)).collect()
    }

    /// Forgets the broadcasts without lanes that no claim has found for [`STREAM_KEPT_MS`], and teams without broadcasts. If
    /// one of them is still slowed, its next claim finds it again.
    pub(super) fn forget_slowed(&mut self, now: Now) {
        if self.slowed.is_empty() {
            return;
        }
        let loaded: HashSet<StreamId> = self.lanes.keys().map(|key| key.stream).collect();
        self.slowed_streams
            .retain(|stream, its| loaded.contains(stream) || now.elapsed_ms - its.claimed_ms < STREAM_KEPT_MS);
        let teams: HashSet<TeamId> = self.slowed_streams.values().map(|stream| stream.team).collect();
        self.slowed.retain(|team, lanes| teams.contains(team) || !lanes.waiting.is_empty());
    }
}
