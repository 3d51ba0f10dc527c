//! The dispatcher: finds lanes with due groups, looks up the servers of their destinations, and starts workers.
//!
//! It holds no groups. A worker claims the first due groups of some lanes from the table. If a notification is lost, the
//! next scan finds the lane.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tracing::{Instrument as _, error, info_span, warn};

use super::clock_steps::ClockSteps;
use super::engine::Engine;
use super::held::HeldMail;
use super::host_store;
use super::lane_scan::LaneScan;
use super::queue::{self, Due, DueKey, HeldLanes, Hold, LanePage, read_holds, scan_lanes};
use super::routes::RouteLookup;
use super::schedule::{Lookup, Now, StoredSite, Taken};
use super::sessionless::{self, SessionlessReason};
use super::simulated;
use super::site_store::stored_site;
use super::transport::Destination;
use super::worker;
use crate::base::clock::TimestampMs;
use crate::base::wakeup::PendingWakeup;
use crate::dns::Freshness;
use crate::store::{ReadTx, StoreError, WriteTx, renew};

/// Number of lanes that one transaction of a scan reads.
const SCAN_LANES: usize = 500;
/// Interval of the full scans of the table, which need no notification.
const SCAN_EVERY_MS: u64 = 60_000;
/// Interval of the renewals of this node while it holds leases. `store::renew` depends on it.
const RENEW_EVERY_MS: i64 = 10_000;
/// Maximum time between two checks of the clock, so that a step of the wall clock is noticed.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// Result of a lookup, with the stored state of the site.
type Found = (RouteLookup, StoredSite);

/// The task that finds lanes, looks up destinations and starts workers.
pub(super) struct Dispatcher {
    engine: Arc<Engine>,
    /// The scan of the table.
    scan: LaneScan,
    /// Wall clock at the start of the last scan.
    scanned_ms: TimestampMs,
    lookups: JoinSet<Found>,
    /// The lookup of each running task.
    running: HashMap<tokio::task::Id, Lookup>,
    held: HeldMail,
    clock: ClockSteps,
    /// Time of the last renewal of this node, on the monotonic clock.
    renewed_ms: i64,
}

impl Dispatcher {
    pub(super) fn new(engine: Arc<Engine>) -> Self {
        Self {
            engine,
            scan: LaneScan::at_random(),
            scanned_ms: 0,
            lookups: JoinSet::new(),
            running: HashMap::new(),
            held: HeldMail::default(),
            clock: ClockSteps::default(),
            renewed_ms: 0,
        }
    }

    /// Runs until the engine stops.
    ///
    /// # Errors
    /// [`StoreError`] if the queue cannot be read.
    pub(super) async fn run(&mut self) -> Result<(), StoreError> {
        let mut scan_again = tokio::time::interval(Duration::from_millis(SCAN_EVERY_MS));
        scan_again.tick().await;
        self.scan.restart();
        loop {
            self.clock.observe(&self.engine, self.engine.now());
            if self.scan.is_running() {
                match self.scan_page().await {
                    Err(error) if error.is_outage() => {
                        tokio::select! {
                            () = self.engine.stop.cancelled() => return Ok(()),
                            () = self.engine.context.store.available() => continue,
                        }
                    }
                    scanned => scanned?,
                }
            }
            self.move_on();
            self.renew_node(self.engine.now());
            let wait = if self.scan.is_running() { Duration::ZERO } else { self.wait() };
            tokio::select! {
                () = self.engine.stop.cancelled() => return Ok(()),
                pending = self.engine.notifier.notified() => self.process_notifications(pending),
                Some(finished) = self.lookups.join_next_with_id() => self.lookup_finished(finished),
                () = tokio::time::sleep(wait) => {}
                _ = scan_again.tick() => {
                    self.recover().await;
                    sessionless::release_abandoned(&self.engine).await;
                    self.held.start_pass(&self.engine);
                    self.start_scan(self.engine.now());
                }
            }
        }
    }

    fn wait(&self) -> Duration {
        self.engine
            .schedule()
            .time_until_work(self.engine.now())
            .unwrap_or(WAIT_MAX)
            .clamp(Duration::from_millis(1), WAIT_MAX)
    }

    fn process_notifications(&mut self, pending: PendingWakeup<Due>) {
        let now = self.engine.now();
        let mut schedule = self.engine.schedule();
        for due in &pending.hints {
            schedule.queued(due, now);
        }
        drop(schedule);
        if pending.rescan {
            self.scan.restart();
        }
    }

    /// Starts a scan of the table, unless one runs.
    fn start_scan(&mut self, now: Now) {
        self.scanned_ms = now.wall_ms;
        self.scan.start();
    }

    /// Reads the next lanes of the table, and the holds with the first page of a pass. A change of the holds starts a pass.
    /// Removes the groups of the page that cannot be read.
    async fn scan_page(&mut self) -> Result<(), StoreError> {
        let (after, is_first) = (self.scan.after(), self.scan.is_first_page());
        let read = move |tx: &ReadTx| {
            let holds = is_first.then(|| read_holds(tx)).transpose()?;
            Ok::<_, StoreError>((scan_lanes(tx, after, SCAN_LANES)?, holds))
        };
        let (page, holds) = self.engine.context.store.read(read).await?;
        self.apply_page(&page, holds);
        let has_reached_bound = !page.is_end && page.lanes.len() < SCAN_LANES;
        let last = page.unreadable.last().map(|key| key.lane);
        let is_removed = self.remove_unreadable(page.unreadable).await;
        if has_reached_bound && !is_removed && self.scan.is_running() {
            // Otherwise the same groups would be read again at once. The next pass tries them again.
            self.scan.read(last, false);
        }
        if !self.scan.is_running() {
            self.engine.schedule().forget_unused(self.engine.now());
        }
        Ok(())
    }

    /// Adds the lanes of a page to the schedule, and records the position of the scan.
    fn apply_page(&mut self, page: &LanePage, holds: Option<Vec<Hold>>) {
        let LanePage { lanes, unreadable: _, is_end } = page;
        let now = self.engine.now();
        let mut schedule = self.engine.schedule();
        if let Some(holds) = holds {
            schedule.set_holds(HeldLanes::new(&holds), now);
        }
        let fitting = lanes.iter().take_while(|lane| schedule.found(lane, now)).count();
        let last = lanes[..fitting].last().map(|lane| lane.key.lane);
        if fitting == lanes.len() {
            self.scan.read(last, *is_end);
        } else {
            self.scan.overflowed(last, || schedule.forget_held(now));
        }
    }

    /// Removes groups that cannot be read: a lane without other groups is not in the schedule and is never claimed.
    /// Logs a store error. Returns whether the groups were removed.
    async fn remove_unreadable(&self, groups: Vec<DueKey>) -> bool {
        if groups.is_empty() {
            return true;
        }
        let (context, store) = (self.engine.context.clone(), &self.engine.context.store);
        match store.write_bulk(move |tx: &WriteTx<'_>| queue::remove_unreadable(tx, &context, &groups)).await {
            Ok(()) => true,
            Err(error) if error.is_outage() => false,
            Err(error) => {
                error!(%error, "could not remove rows of the queue that cannot be read: {error}");
                false
            }
        }
    }

    /// Activates lanes that are due, and starts lookups and sessions.
    fn move_on(&mut self) {
        let now = self.engine.now();
        let mut schedule = self.engine.schedule();
        schedule.advance(now);
        // A step of the wall clock can make lanes due that the last scan left in the table.
        let has_overflowed = schedule.take_overflow();
        drop(schedule);
        let since_scan_ms = u64::try_from(now.wall_ms - self.scanned_ms).unwrap_or(u64::MAX);
        if has_overflowed || since_scan_ms >= SCAN_EVERY_MS {
            self.start_scan(now);
        }
        self.check_network(now);
        host_store::start(&self.engine);
        loop {
            let Some(lookup) = self.engine.schedule().next_lookup() else { break };
            self.start_lookup(lookup, now);
        }
        if !self.engine.can_lease() {
            return;
        }
        let slots = self.engine.schedule().reserve_sessions(now);
        for slot in slots {
            let span = info_span!("session", site = %slot.site);
            self.engine.tasks.spawn(worker::run(Arc::clone(&self.engine), slot).instrument(span));
        }
    }

    /// Renews this node from time to time while it holds leases, so that no other node takes them.
    fn renew_node(&mut self, now: Now) {
        if self.engine.leases.is_empty() || now.elapsed_ms - self.renewed_ms < RENEW_EVERY_MS {
            return;
        }
        self.renewed_ms = now.elapsed_ms;
        let store = self.engine.context.store.clone();
        self.engine.tasks.spawn(async move {
            let node = store.node();
            match store.write_bulk::<_, StoreError>(move |tx| renew(tx, node, now.wall_ms)).await {
                Err(error) if !error.is_outage() => {
                    error!(%error, "could not renew the leases of this process: {error}")
                }
                Ok(()) | Err(_) => {}
            }
        });
    }

    /// Requeues the groups of nodes that have ended. The scan that follows finds them.
    async fn recover(&self) {
        match queue::recover(&self.engine.context).await {
            Ok(0) => {}
            Ok(groups) => warn!(groups, "requeued {groups} deliveries of a process that has ended"),
            Err(error) if error.is_outage() => {}
            Err(error) => error!(%error, "could not requeue deliveries of a process that has ended: {error}"),
        }
    }

    /// Starts a check of the addresses of this server, if direct delivery is used and a check is due.
    fn check_network(&self, now: Now) {
        let Some(network) = self.engine.settings.routes.network() else { return };
        if network.start_check(now.wall_ms) {
            let (network, stop) = (Arc::clone(network), self.engine.stop.clone());
            let check = async move { stop.run_until_cancelled(network.check(now.wall_ms)).await };
            self.engine.tasks.spawn(check.in_current_span());
        }
    }

    fn start_lookup(&mut self, lookup: Lookup, now: Now) {
        if lookup.name == simulated::DESTINATION {
            self.settle_unroutable(&lookup, &SessionlessReason::Simulated);
            return;
        }
        let (engine, started) = (Arc::clone(&self.engine), lookup.clone());
        let freshness = if lookup.fresh { Freshness::Fresh } else { Freshness::Cached };
        let task = self.lookups.spawn(async move {
            let routes = &engine.settings.routes;
            let found = routes.destination(started.key.route, &started.name, now.wall_ms, freshness).await;
            let stored = match &found.destination {
                Destination::Servers(servers) => {
                    let unread = engine.schedule().unread(&started, servers);
                    stored_site(&engine.context, servers, engine.settings.rates.warm_up, unread).await
                }
                _ => StoredSite::default(),
            };
            (found, stored)
        });
        self.running.insert(task.id(), lookup);
    }

    /// Moves the lanes of a destination to their site. Settles their groups if the destination has no servers.
    fn lookup_finished(&mut self, finished: Result<(tokio::task::Id, Found), tokio::task::JoinError>) {
        let (task, (found, stored)) = match finished {
            Ok((task, found)) => (task, found),
            Err(error) => {
                error!(%error, "a lookup of a destination panicked: {error}");
                (error.id(), (RouteLookup::unknown("the lookup failed".into()), StoredSite::default()))
            }
        };
        let Some(lookup) = self.running.remove(&task) else { return };
        let now = self.engine.now();
        for (transport, effect) in found.failed {
            let transport = self.engine.settings.routes.transport(transport);
            self.engine.problems.lookup_failed(transport, effect, now.wall_ms);
        }
        match found.destination {
            Destination::Servers(servers) => self.engine.schedule().routed(&lookup, servers, &stored, now),
            Destination::Undeliverable(no_route) => {
                self.settle_unroutable(&lookup, &SessionlessReason::Undeliverable(no_route));
            }
            Destination::Missing { no_route, freshness } => {
                self.settle_unroutable(&lookup, &SessionlessReason::Missing { no_route, freshness });
            }
            Destination::Unroutable(no_route) => {
                self.settle_unroutable(&lookup, &SessionlessReason::Unroutable(no_route));
            }
            Destination::Unknown { reason } => {
                let lane = self.engine.schedule().lookup_failed(&lookup, now);
                self.settle_lanes(lane.into_iter().collect(), &SessionlessReason::Unknown { reason });
            }
        }
    }

    /// Settles the groups of a destination that has no servers.
    fn settle_unroutable(&self, lookup: &Lookup, reason: &SessionlessReason) {
        let lanes = self.engine.schedule().unroutable(lookup);
        self.settle_lanes(lanes, reason);
    }

    fn settle_lanes(&self, lanes: Vec<Taken>, reason: &SessionlessReason) {
        for taken in lanes {
            let (engine, reason) = (Arc::clone(&self.engine), reason.clone());
            self.engine.tasks.spawn(async move { sessionless::settle_lane(&engine, &taken, &reason).await });
        }
    }
}
