//! Counts of sessions and the status of sites, for monitoring.

use super::shares::SiteKind;
use super::site::SiteState;
use super::{Now, Route, Schedule};
use crate::delivery::queue::LaneKey;

/// The site of a lane, and whether it accepts mail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::delivery) struct SiteStatus {
    /// Name of the site; `None` if the servers of the destination are not known.
    pub(in crate::delivery) site: Option<String>,
    /// Whether its groups wait for a known cause:
    /// - the site is paused, failed recently, or its servers cannot be looked up;
    /// - the operator holds the lane;
    /// - the broadcasts of its team are slowed down;
    /// - the warm-up plan limits the messages of the day.
    pub(in crate::delivery) is_paused: bool,
    /// Monotonic time of the last failure of the site.
    pub(in crate::delivery) failed_ms: Option<i64>,
}

impl Schedule {
    /// Returns the number of sessions by the kind of their site.
    pub(in crate::delivery) fn session_counts(&self) -> [(&'static str, usize); 3] {
        [("working", SiteKind::Working), ("new", SiteKind::New), ("failing", SiteKind::Failing)]
            .map(|(name, kind)| (name, self.shares.used(kind)))
    }

    /// Returns the site of a lane, and whether it accepts mail.
    pub(in crate::delivery) fn site_status(&self, lane: LaneKey, now: Now) -> SiteStatus {
        let is_held = self.is_held(lane) || self.is_slowed(lane);
        let route = self.lanes.get(&lane).map(|lane| lane.route);
        let Some(destination) = route.and_then(|route| self.destinations.get(&route)) else {
            return SiteStatus { is_paused: is_held, ..SiteStatus::default() };
        };
        let Route::Servers { servers, .. } = &destination.route else {
            return SiteStatus { is_paused: is_held || destination.lookup_failures > 0, ..SiteStatus::default() };
        };
        let site = self.sites.get(servers.site.as_str());
        let is_throttled = |its: &SiteState| {
            its.throttle.paused_until_ms() > now.elapsed_ms || its.throttle.is_after_failure() || its.is_warming_up()
        };
        SiteStatus {
            site: Some(servers.site.clone()),
            is_paused: is_held || site.is_some_and(is_throttled) || self.hosts.all_failed(servers),
            failed_ms: site.and_then(|site| site.throttle.failed_ms()),
        }
    }
}
