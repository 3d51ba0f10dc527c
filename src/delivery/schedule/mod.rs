//! The schedule: which lane is delivered next, and by how many sessions. No I/O.
//!
//! The groups stay in the table. This module holds one small entry for each lane. Its memory therefore depends on the
//! number of destinations and not on the number of queued messages. A lane is in one of these places:
//!
//! - `Later`: its first group is not due yet;
//! - `Destination`: it waits for the lookup of its servers, or for the end of the pause of all its hosts;
//! - `Slowed`: it waits for a turn of its team, whose broadcasts are slowed down (`slowed.rs`);
//! - `Site`: it waits for a session of its site (`site.rs`, `rotation.rs`);
//! - `Taken`: a session or a settlement claims its groups.
//!
//! Files:
//! - this one: types, and the lanes that become due;
//! - `lanes.rs`, `lookups.rs`, `sessions.rs` and `hosts.rs`: the operations;
//! - `holds.rs`: holds of the operator;
//! - `slowed.rs`: turns of slowed teams;
//! - `overflow.rs`: lanes that do not fit;
//! - `explain.rs`: the reason that a lane waits;
//! - `snapshot.rs`: the state of all sites, for operators;
//! - `figures.rs`: counts for monitoring.
//!
//! Sessions are shared between working, new and failing sites (`shares.rs`). A host that cannot be connected to is
//! paused (`health.rs`), and so is a site that refuses or limits mail of this server (`throttle.rs`). Messages and
//! connections of a site need tokens (`bucket.rs`). Groups without a token wait in their lane and are not leased.

mod bucket;
mod explain;
mod figures;
mod health;
mod holds;
mod hosts;
mod lanes;
mod lookups;
mod overflow;
mod rotation;
mod sessions;
mod shares;
mod site;
mod slowed;
mod snapshot;
#[cfg(test)]
mod tests;
mod throttle;

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

pub(super) use explain::LaneWait;
pub(super) use figures::SiteStatus;
use health::HostPauses;
pub(super) use health::{FAILED_KEPT_MS, HostChange};
pub(super) use lanes::LANES_MAX;
pub use shares::SiteKind;
use shares::{Shares, Turn};
use site::SiteState;
use slowed::{SlowedLanes, SlowedStream};
pub use snapshot::{SiteHold, SiteSnapshot};

use super::queue::{HeldLanes, LaneKey};
use super::rates::Rates;
use super::routes::{RouteKey, RouteTable};
use super::rows::{HostPauseRow, SiteRow};
use super::transport::Servers;
use super::warm_up::Allowance;
use crate::base::clock::TimestampMs;
use crate::base::id::{StreamId, TeamId};

/// Maximum age of a route. The resolver has its own cache, which applies the TTLs.
const ROUTE_FRESH_MS: i64 = 60_000;

/// The current time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    /// The wall clock, for due times.
    pub(super) wall_ms: TimestampMs,
    /// The monotonic clock, for pauses and ages.
    pub(super) elapsed_ms: i64,
}

impl Now {
    /// Returns the time left of a pause that was stored at `stored_ms`, at most `max_ms`. If the clock was set back, it is
    /// not longer than when it was stored.
    fn left_ms(self, until_ms: TimestampMs, stored_ms: TimestampMs, max_ms: i64) -> i64 {
        (until_ms - self.wall_ms).min(until_ms - stored_ms).clamp(0, max_ms)
    }

    /// Returns the end of a pause on the wall clock; the current time if it has ended.
    fn wall_end_ms(self, until_ms: i64) -> TimestampMs {
        self.wall_ms + (until_ms - self.elapsed_ms).max(0)
    }
}

/// Settings of the schedule.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    /// Maximum number of concurrent sessions of all sites.
    pub(super) sessions_max: usize,
    /// Limits of each site.
    pub(super) rates: Rates,
    /// Pause after the first failure. It doubles with each further one.
    pub(super) pause_min: Duration,
    /// Maximum number of lanes that scans of the table add: [`LANES_MAX`], less in tests.
    pub(super) lanes_max: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Later,
    Destination,
    Slowed,
    Site(Arc<str>),
    Taken,
}

#[derive(Debug)]
struct Lane {
    place: Place,
    team: TeamId,
    /// Key of the lookup of its servers.
    route: RouteKey,
    /// Whether its first group has reported the delay since the lookup failed.
    has_reported: bool,
    /// Whether it may claim in the turn of its slowed team.
    has_turn: bool,
    /// Due time of the first group that is not due yet; the maximum if there is no such group. The lane has an entry of
    /// this time in [`Schedule::later`].
    due_ms: TimestampMs,
    /// Number of due groups that no session has taken, as far as known.
    ready: usize,
    /// Number of notifications. A claim that ends compares it, because its result may be older.
    changes: u64,
    /// Number of claims that have not ended.
    claims: u32,
}

#[derive(Debug)]
enum Route {
    Unknown,
    /// A lookup waits for its turn, or runs.
    LookedUp,
    Servers {
        servers: Arc<Servers>,
        at_ms: i64,
    },
    /// The lookup failed temporarily, and is repeated at this time.
    Failed {
        until_ms: i64,
    },
}

#[derive(Debug)]
struct Destination {
    name: String,
    route: Route,
    /// Lanes in [`Place::Destination`].
    waiting: VecDeque<LaneKey>,
    /// Whether the next lookup bypasses the cache.
    fresh: bool,
    /// Whether a lookup has found its servers. The stored pauses of its hosts have then been read.
    has_servers: bool,
    lookup_failures: u32,
}

/// A due time on the monotonic clock.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Lookup(RouteKey),
    Host(String),
    Site(Arc<str>),
    Team(TeamId),
}

/// The stored state of a site and of the hosts of a destination.
#[derive(Clone, Debug, Default)]
pub(super) struct StoredSite {
    /// Throttle of the site; `None` if it never changed.
    pub(super) row: Option<SiteRow>,
    /// Messages of today; `None` without a warm-up plan.
    pub(super) allowance: Option<Allowance>,
    /// Pauses of the hosts by [`MailHost::health_name`](super::transport::MailHost::health_name).
    pub(super) hosts: Vec<(String, HostPauseRow)>,
    /// Whether the store could not be read. The next lookup reads it again.
    pub(super) is_unread: bool,
}

/// The stored state that is to be read with a lookup, because it is not in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct UnreadState {
    /// Whether the throttle of the site is to be read.
    pub(super) has_site: bool,
    /// Hosts whose pauses are to be read.
    pub(super) hosts: Vec<String>,
}

/// A lookup to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lookup {
    pub(super) key: RouteKey,
    pub(super) name: String,
    /// Whether the lookup bypasses the cache.
    pub(super) fresh: bool,
    is_repeated: bool,
    /// Whether no lookup has found servers of the destination yet.
    is_first: bool,
}

/// The reservation of a session.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) site: Arc<str>,
    kind: SiteKind,
    started_ms: i64,
    is_slow: bool,
    is_stuck: bool,
    /// Whether a connection may be opened: its token has been taken.
    may_connect: bool,
    /// Time of the last groups that the session took.
    taken_ms: i64,
    /// That time for the last message over the open connection that the site did not refuse; `None` without one.
    delivered_ms: Option<i64>,
    /// Host that the session is being opened with.
    host: Option<String>,
}

/// A lane whose groups may be claimed now. [`Schedule::claimed`] or [`Schedule::claim_failed`] must follow.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    pub(super) lane: LaneKey,
    changes: u64,
}

/// A lane of a claim, with the maximum number of its groups.
#[derive(Clone, Debug)]
pub(super) struct TakenLane {
    pub(super) taken: Taken,
    pub(super) servers: Arc<Servers>,
    pub(super) groups_max: usize,
}

/// Next action of a session.
#[derive(Debug)]
pub(super) enum Take {
    /// Claim and deliver groups of this lane, and of further ones ([`Schedule::take_further`]) up to `part` groups.
    Groups { first: TakenLane, part: usize },
    /// Wait for one of the two notifications, or until the site has tokens. Without the time, it has no due group.
    Wait { work: Arc<Notify>, evict: Arc<Notify>, tokens_in: Option<Duration> },
    /// Reconnect: the next groups have other servers than the session.
    OtherServers,
    /// End: the site is paused, or other sites wait for the session.
    End,
}

/// Change of the idle state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Idle {
    Begins,
    Ends,
}

/// All lanes, destinations, hosts and sites of the process.
#[derive(Debug)]
pub(super) struct Schedule {
    limits: Limits,
    routes: Arc<RouteTable>,
    lanes: HashMap<LaneKey, Lane>,
    destinations: HashMap<RouteKey, Destination>,
    sites: HashMap<Arc<str>, SiteState>,
    hosts: HostPauses,
    /// Holds of the operator.
    holds: HeldLanes,
    shares: Shares,
    /// The next due time of each lane.
    later: BTreeSet<(TimestampMs, LaneKey)>,
    /// Ends of pauses. Outdated entries are skipped.
    timers: BinaryHeap<Reverse<(i64, Timer)>>,
    new_lookups: VecDeque<RouteKey>,
    repeated_lookups: VecDeque<RouteKey>,
    /// The destination whose first failed lookup is the latest. Its lookup is repeated without a longer pause.
    lookup_probe: Option<RouteKey>,
    /// Numbers of running lookups: all, and repeated ones.
    lookups: usize,
    lookups_repeated: usize,
    /// Slowed teams, and their broadcasts.
    slowed: HashMap<TeamId, SlowedLanes>,
    slowed_streams: HashMap<StreamId, SlowedStream>,
    /// Sites with idle sessions.
    idle_sites: BTreeSet<Arc<str>>,
    /// Whether lanes did not fit and wait for the next scan of the table.
    overflowed: bool,
}

impl Schedule {
    pub(super) fn new(limits: Limits, routes: Arc<RouteTable>) -> Self {
        Self {
            shares: Shares::new(limits.sessions_max),
            hosts: HostPauses::new(limits.pause_min),
            holds: HeldLanes::default(),
            limits,
            routes,
            lanes: HashMap::new(),
            destinations: HashMap::new(),
            sites: HashMap::new(),
            later: BTreeSet::new(),
            timers: BinaryHeap::new(),
            new_lookups: VecDeque::new(),
            repeated_lookups: VecDeque::new(),
            lookup_probe: None,
            lookups: 0,
            lookups_repeated: 0,
            slowed: HashMap::new(),
            slowed_streams: HashMap::new(),
            idle_sites: BTreeSet::new(),
            overflowed: false,
        }
    }

    /// Moves on what has become due.
    pub(super) fn advance(&mut self, now: Now) {
        while let Some((due_ms, key)) = self.later.first().copied() {
            if due_ms > now.wall_ms {
                break;
            }
            self.set_due(key, TimestampMs::MAX);
            let Some(lane) = self.lanes.get_mut(&key) else { continue };
            // The next claim of a lane in another place reads all its due groups.
            if lane.place == Place::Later {
                lane.ready = lane.ready.max(1);
                self.activate(key, now);
            }
        }
        while let Some(Reverse((at_ms, _))) = self.timers.peek() {
            if *at_ms > now.elapsed_ms {
                break;
            }
            let Some(Reverse((_, timer))) = self.timers.pop() else { break };
            match timer {
                Timer::Lookup(key) => self.repeat_lookup(key, now),
                Timer::Host(name) => {
                    for destination in self.hosts.pause_ended(&name, now.elapsed_ms) {
                        self.reactivate(destination, now);
                    }
                }
                Timer::Site(name) => {
                    if let Some(site) = self.sites.get_mut(&name) {
                        site.timer_ms = None;
                    }
                    self.site_changed(&name, 0, now, Turn::First);
                }
                Timer::Team(team) => self.give_turn(team, now),
            }
        }
    }

    /// Returns the time until [`Schedule::advance`] has work; `None` if no time is known.
    pub(super) fn time_until_work(&self, now: Now) -> Option<Duration> {
        let later = self.later.first().map(|(due_ms, _)| due_ms - now.wall_ms);
        let timer = self.timers.peek().map(|Reverse((at_ms, _))| at_ms - now.elapsed_ms);
        let wait_ms = [later, timer].into_iter().flatten().min()?;
        Some(Duration::from_millis(u64::try_from(wait_ms).unwrap_or(0)))
    }
}
