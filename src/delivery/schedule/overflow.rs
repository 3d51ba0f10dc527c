//! Lanes that do not fit into memory.

use super::{Now, Place, Route, Schedule};
use crate::base::clock::TimestampMs;
use crate::delivery::queue::LaneKey;

impl Schedule {
    /// Returns whether lanes did not fit since the last call, and there is room now. The next scan of the table adds them.
    pub(in crate::delivery) fn take_overflow(&mut self) -> bool {
        self.lanes.len() < self.limits.lanes_max && std::mem::take(&mut self.overflowed)
    }

    /// Forgets the lanes whose groups cannot be delivered now, also if the operator holds them. They wait for a failed
    /// lookup, a paused host, a paused site, the next day of a warm-up plan, or a turn of their team. Returns their
    /// number. A later scan of the table finds them again.
    pub(in crate::delivery) fn forget_held(&mut self, now: Now) -> usize {
        let lanes_before = self.lanes.len();
        let mut paused: Vec<LaneKey> = self.paused_lanes(now).collect();
        paused.extend(self.take_slowed());
        for key in paused {
            let Some(lane) = self.lanes.get_mut(&key) else { continue };
            // All lanes of the class that wait there are in the list, so that none of them stays.
            match &lane.place {
                Place::Site(site) => {
                    if let Some(site) = self.sites.get_mut(site) {
                        site.forget(key.class, lane.ready);
                    }
                }
                Place::Destination => match self.destinations.get_mut(&lane.route) {
                    // The end of the lookup moves them on.
                    Some(destination) if matches!(destination.route, Route::LookedUp) => continue,
                    Some(destination) => destination.waiting.clear(),
                    None => {}
                },
                Place::Slowed => {}
                Place::Later | Place::Taken => continue,
            }
            // The end of a claim finds out whether the lane has more groups.
            lane.place = Place::Taken;
            lane.ready = 0;
            if lane.claims == 0 {
                self.set_due(key, TimestampMs::MAX);
                self.lanes.remove(&key);
            }
        }
        lanes_before - self.lanes.len()
    }
}
