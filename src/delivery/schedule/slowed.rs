//! Turns of the lanes of slowed teams, whose broadcasts together send one message a second.
//!
//! The claim decides whether a group is taken. The schedule learns the pace of a team from claims, and lets one lane of
//! the team claim each second, so that the others cost nothing while they wait. A turn does not wait for the lane that
//! got the one before: its site can be paused. The first claim that finds the full pace releases all lanes of the team.

use std::cmp::Reverse;
use std::collections::VecDeque;

use super::{Now, Place, Schedule, Timer};
use crate::base::id::TeamId;
use crate::delivery::queue::{LaneKey, LanePace, SLOWED_INTERVAL_MS};

/// The waiting lanes of a slowed team. There is at least one.
#[derive(Debug)]
pub(super) struct SlowedLanes {
    /// Monotonic time of the next turn. It has a timer.
    turn_ms: i64,
    /// Lanes in [`Place::Slowed`], in the order of their turns.
    waiting: VecDeque<LaneKey>,
}

/// The slowed team of a lane, as of the last claim.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlowedLane {
    team: TeamId,
    /// Monotonic time of the next message of the team.
    turn_ms: i64,
}

impl Schedule {
    /// Records the pace that a claim of a lane found. Must precede [`Schedule::claimed`].
    pub(in crate::delivery) fn paced(&mut self, key: LaneKey, pace: LanePace, now: Now) {
        let Some(lane) = self.lanes.get_mut(&key) else { return };
        match pace {
            LanePace::Unknown => {}
            LanePace::Full => {
                if let Some(slowed) = lane.slowed.take() {
                    self.release_slowed(slowed.team, now);
                }
            }
            LanePace::Slowed { team, next_ms } => {
                let turn_ms = now.elapsed_ms + (next_ms - now.wall_ms).clamp(0, SLOWED_INTERVAL_MS);
                lane.slowed = Some(SlowedLane { team, turn_ms });
                self.set_turn(team, turn_ms);
            }
        }
    }

    /// Returns whether a lane must wait for the turn of its slowed team.
    pub(super) fn needs_turn(&self, key: LaneKey) -> bool {
        self.lanes.get(&key).is_some_and(|lane| lane.slowed.is_some() && !lane.has_turn)
    }

    /// Returns whether the last claim of a lane found that its team is slowed.
    pub(super) fn is_slowed(&self, key: LaneKey) -> bool {
        self.lanes.get(&key).is_some_and(|lane| lane.slowed.is_some())
    }

    /// Lets a lane wait for the turn of its team.
    pub(super) fn wait_for_turn(&mut self, key: LaneKey) {
        let Some(lane) = self.lanes.get_mut(&key) else { return };
        let Some(SlowedLane { team, turn_ms }) = lane.slowed else { return };
        lane.place = Place::Slowed;
        lane.ready = lane.ready.max(1);
        if let Some(lanes) = self.slowed.get_mut(&team) {
            lanes.waiting.push_back(key);
            return;
        }
        self.slowed.insert(team, SlowedLanes { turn_ms, waiting: VecDeque::from([key]) });
        self.timers.push(Reverse((turn_ms, Timer::Team(team))));
    }

    /// Gives the turn of a team to its next lane, unless it is not due.
    pub(super) fn give_turn(&mut self, team: TeamId, now: Now) {
        let Some(lanes) = self.slowed.get_mut(&team) else { return };
        if lanes.turn_ms > now.elapsed_ms {
            return;
        }
        let next = lanes.waiting.pop_front();
        if lanes.waiting.is_empty() {
            self.slowed.remove(&team);
        } else {
            self.set_turn(team, now.elapsed_ms + SLOWED_INTERVAL_MS);
        }
        let Some(key) = next else { return };
        if let Some(lane) = self.lanes.get_mut(&key) {
            lane.has_turn = true;
            lane.place = Place::Taken;
        }
        self.activate(key, now);
    }

    fn set_turn(&mut self, team: TeamId, turn_ms: i64) {
        let Some(lanes) = self.slowed.get_mut(&team) else { return };
        if lanes.turn_ms != turn_ms {
            lanes.turn_ms = turn_ms;
            self.timers.push(Reverse((turn_ms, Timer::Team(team))));
        }
    }

    /// Activates all waiting lanes of a team.
    fn release_slowed(&mut self, team: TeamId, now: Now) {
        let waiting = self.slowed.remove(&team).map(|lanes| lanes.waiting).unwrap_or_default();
        for key in waiting {
            if let Some(lane) = self.lanes.get_mut(&key) {
                lane.slowed = None;
                lane.place = Place::Taken;
            }
            self.activate(key, now);
        }
    }

    /// Empties the waiting lists, and returns their lanes.
    pub(super) fn take_slowed(&mut self) -> Vec<LaneKey> {
        self.slowed.drain().flat_map(|(_, lanes)| lanes.waiting).collect()
    }
}
