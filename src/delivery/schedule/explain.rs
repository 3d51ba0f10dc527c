//! The state of single lanes, for the operator: why a lane waits, and the end of its pauses on request.

use std::sync::Arc;

use super::shares::Turn;
use super::snapshot::SiteHold;
use super::{Now, Place, Route, Schedule};
use crate::base::clock::TimestampMs;
use crate::delivery::queue::LaneKey;
use crate::delivery::transport::Servers;

/// Reason why a due group of a lane has no session yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::delivery) enum LaneWait {
    /// The lane is not in memory. A notification or the next scan adds it.
    Unloaded,
    /// The lookup of its servers waits or runs.
    Lookup,
    /// The lookup failed, and is repeated at this time.
    LookupFailed { until_ms: TimestampMs },
    /// No host of its destination can be connected to. The first is tested at this time.
    HostsPaused { until_ms: TimestampMs },
    /// The site gets no message until this time, because of a pause or a limit.
    SiteHeld { site: Arc<str>, hold: SiteHold, until_ms: TimestampMs },
    /// It waits for a turn of its team, whose broadcasts are slowed down.
    Slowed,
    /// It waits for a session of its site.
    Session { site: Arc<str> },
    /// A session or a settlement claims its groups.
    Taken,
}

impl Schedule {
    /// Returns the reason that the due groups of a lane have no session yet. Times are of the wall clock.
    pub(in crate::delivery) fn explain(&self, key: LaneKey, now: Now) -> LaneWait {
        let wall = |until_ms: i64| now.wall_end_ms(until_ms);
        let lane = self.lanes.get(&key);
        let route = lane.and_then(|lane| self.destinations.get(&lane.route)).map(|destination| &destination.route);
        match lane.map(|lane| &lane.place) {
            None | Some(Place::Later) => match route {
                Some(Route::Failed { until_ms }) => LaneWait::LookupFailed { until_ms: wall(*until_ms) },
                _ => LaneWait::Unloaded,
            },
            Some(Place::Taken) => LaneWait::Taken,
            Some(Place::Slowed) => LaneWait::Slowed,
            Some(Place::Site(site)) => match self.sites.get(site).and_then(|state| state.hold(now)) {
                Some((hold, until_ms)) => LaneWait::SiteHeld { site: Arc::clone(site), hold, until_ms: wall(until_ms) },
                None => LaneWait::Session { site: Arc::clone(site) },
            },
            Some(Place::Destination) => match route {
                Some(Route::Failed { until_ms }) => LaneWait::LookupFailed { until_ms: wall(*until_ms) },
                Some(Route::Servers { servers, .. }) => {
                    let pauses = chain(servers).map(|servers| self.hosts.pause_end(servers, now.elapsed_ms));
                    // If one of them is not paused, the lane moves on at once.
                    match pauses.min().flatten() {
                        Some(until_ms) => LaneWait::HostsPaused { until_ms: wall(until_ms) },
                        None => LaneWait::Lookup,
                    }
                }
                Some(Route::Unknown | Route::LookedUp) | None => LaneWait::Lookup,
            },
        }
    }

    /// Returns the site of a lane as of its last lookup; `None` if no lookup is known.
    pub(in crate::delivery) fn site_of(&self, key: LaneKey) -> Option<Arc<str>> {
        let lane = self.lanes.get(&key)?;
        if let Place::Site(site) = &lane.place {
            return Some(Arc::clone(site));
        }
        match &self.destinations.get(&lane.route)?.route {
            Route::Servers { servers, .. } => Some(servers.site.as_str().into()),
            Route::Unknown | Route::LookedUp | Route::Failed { .. } => None,
        }
    }

    /// Returns the number of sessions of a site.
    pub(in crate::delivery) fn sessions_of(&self, site: &str) -> usize {
        self.sites.get(site).map_or(0, |site| site.sessions)
    }

    /// Ends the pauses of the hosts and of the site of a lane, or the pause before its lookup is repeated. The next
    /// failure doubles the pause as if it had not been ended.
    pub(in crate::delivery) fn end_pauses(&mut self, key: LaneKey, now: Now) {
        let Some(route) = self.lanes.get(&key).map(|lane| lane.route) else { return };
        let Some(destination) = self.destinations.get_mut(&route) else { return };
        match &mut destination.route {
            Route::Failed { until_ms } => {
                *until_ms = now.elapsed_ms;
                self.repeat_lookup(route, now);
            }
            Route::Servers { servers, .. } => {
                let servers = Arc::clone(servers);
                for servers in chain(&servers) {
                    for host in &servers.hosts {
                        self.end_host_pause(&host.health_name(), now);
                    }
                    self.end_site_pause(&servers.site, now);
                }
            }
            Route::Unknown | Route::LookedUp => {}
        }
    }

    /// Ends the pause of a site.
    pub(in crate::delivery) fn end_site_pause(&mut self, name: &str, now: Now) {
        let Some(site) = self.sites.get_mut(name) else { return };
        if site.throttle.end_pause(now.elapsed_ms) {
            self.site_changed(&Arc::from(name), 0, now, Turn::First);
        }
    }
}

/// Returns the servers of a route, and those of its fallback.
pub(super) fn chain(servers: &Arc<Servers>) -> impl Iterator<Item = &Arc<Servers>> {
    std::iter::once(servers).chain(&servers.fallback)
}
