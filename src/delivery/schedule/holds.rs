//! Holds of the operator: lanes that are not kept in memory, and sites that get no session.

use std::sync::Arc;

use super::shares::Turn;
use super::{Now, Place, Schedule};
use crate::base::clock::TimestampMs;
use crate::delivery::queue::{HeldLanes, LaneKey};

impl Schedule {
    /// Replaces the holds. The sites of ended holds get sessions again. A scan finds the lanes of the others.
    pub(in crate::delivery) fn set_holds(&mut self, holds: HeldLanes, now: Now) {
        let before = std::mem::replace(&mut self.holds, holds);
        let ended: Vec<Arc<str>> =
            before.sites().filter(|site| !self.holds.has_site(site)).map(|site| site.as_str().into()).collect();
        for site in ended {
            self.site_changed(&site, 0, now, Turn::First);
        }
    }

    pub(in crate::delivery) fn has_holds(&self) -> bool {
        !self.holds.is_empty()
    }

    /// Returns whether the operator holds a lane: its domain, its team or its site.
    pub(in crate::delivery) fn is_held(&self, key: LaneKey) -> bool {
        self.has_holds()
            && (self.holds.has_lane(key) || self.site_of(key).is_some_and(|site| self.holds.has_site(&site)))
    }

    /// Forgets a held lane, unless a claim runs. A scan adds it after the hold.
    pub(super) fn drop_lane(&mut self, key: LaneKey) {
        let Some(lane) = self.lanes.get_mut(&key) else { return };
        if lane.claims > 0 {
            // The end of the claim activates the lane again.
            lane.place = Place::Taken;
            return;
        }
        self.set_due(key, TimestampMs::MAX);
        self.lanes.remove(&key);
    }
}
