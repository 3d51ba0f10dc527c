//! Counts of sessions and the status of sites, for monitoring.

use super::shares::SiteKind;
use super::{Now, Route, Schedule};
use crate::delivery::queue::LaneKey;

/// The site of a lane, and whether it accepts mail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::delivery) struct SiteStatus {
    /// Name of the site; `None` if the servers of the destination are not known.
    pub(in crate::delivery) site: Option<String>,
    /// Whether the site is paused or failed recently, or its servers cannot be looked up.
    pub(in crate::delivery) is_failing: bool,
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
        let route = self.lanes.get(&lane).map(|lane| lane.route);
        let Some(destination) = route.and_then(|route| self.destinations.get(&route)) else {
            return SiteStatus::default();
        };
        let Route::Servers { servers, .. } = &destination.route else {
            return SiteStatus { is_failing: destination.lookup_failures > 0, ..SiteStatus::default() };
        };
        let site = self.sites.get(servers.site.as_str());
        let throttle = site.map(|site| &site.throttle);
        let is_paused = throttle.is_some_and(|its| its.paused_until_ms() > now.elapsed_ms || its.is_after_failure());
        SiteStatus {
            site: Some(servers.site.clone()),
            is_failing: is_paused || self.hosts.all_failed(servers),
            failed_ms: throttle.and_then(|throttle| throttle.failed_ms()),
        }
    }
}
