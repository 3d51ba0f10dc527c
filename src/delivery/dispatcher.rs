//! The dispatcher: loads due groups from the queue, resolves the servers of each destination, fills
//! the lanes and starts workers.
//!
//! Only the dispatcher loads groups into memory. If it drops a group or has no capacity for it, a
//! later load finds the group in the table.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, error, info_span};

use super::engine::Engine;
use super::lane::{PushResult, ReadyGroup};
use super::queue::{Due, DueKey, DuePage, read_due};
use super::transport::{Destination, Servers};
use super::{sessionless, simulated, worker};
use crate::base::clock::TimestampMs;
use crate::base::wakeup::PendingWakeup;
use crate::dns::Freshness;
use crate::store::StoreError;

/// Maximum number of groups read from the table in one transaction.
const LOAD_ROWS: usize = 1_000;
/// Interval of the full scans of the table, which need no notification.
const RECONCILE_EVERY: Duration = Duration::from_secs(60);
/// Maximum number of destinations in the route cache, apart from running lookups.
const ROUTES_MAX: usize = 10_000;
/// Maximum age of a cached route. The resolver has its own cache, which applies the TTLs.
const ROUTE_FRESH_MS: i64 = 60_000;
/// Maximum number of concurrent lookups.
const LOOKUPS_MAX: usize = 64;
/// Maximum number of groups in one task that settles without a session.
const SESSIONLESS_MAX: usize = 50;
/// Maximum number of consecutive pages in one load whose groups all belong to full lanes.
const FULL_PAGES_MAX: usize = 20;

/// State of a destination in the route cache.
enum RouteState {
    /// A lookup is running or queued. The groups wait for its result.
    Resolving(Vec<Due>),
    /// Time of the lookup, and the servers.
    Known(TimestampMs, Arc<Servers>),
}

/// The task that loads groups, resolves destinations and starts workers.
pub(super) struct Dispatcher {
    engine: Arc<Engine>,
    stop: CancellationToken,
    /// Last key read from the table. `None` starts the next load at the beginning.
    cursor: Option<DueKey>,
    next_due_ms: Option<TimestampMs>,
    /// Whether the table may contain due groups that are not in memory.
    more: bool,
    /// Routes by destination. If all destinations have the same servers, the only key is `""`.
    routes: HashMap<String, RouteState>,
    lookups: JoinSet<Destination>,
    /// Destination of each running lookup.
    lookup_names: HashMap<tokio::task::Id, String>,
    /// Destinations that wait for the end of another lookup.
    queued_lookups: Vec<(String, Freshness)>,
}

/// Result of adding a group from the table or from a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AdmitResult {
    /// The group is in memory, or was already.
    Accepted,
    /// The lane is full. The group stays in the table only.
    Full,
}

impl Dispatcher {
    pub(super) fn new(engine: Arc<Engine>, stop: CancellationToken) -> Self {
        Self {
            engine,
            stop,
            cursor: None,
            next_due_ms: None,
            more: false,
            routes: HashMap::new(),
            lookups: JoinSet::new(),
            lookup_names: HashMap::new(),
            queued_lookups: Vec::new(),
        }
    }

    /// Runs until the engine stops.
    ///
    /// # Errors
    /// [`StoreError`] if the queue cannot be read.
    pub(super) async fn run(&mut self) -> Result<(), StoreError> {
        self.load().await?;
        let mut reconcile = tokio::time::interval(RECONCILE_EVERY);
        reconcile.tick().await;
        loop {
            self.start_sessions();
            let wait = self.time_until_load();
            tokio::select! {
                () = self.stop.cancelled() => return Ok(()),
                pending = self.engine.notifier.notified() => self.process_notifications(pending).await?,
                Some(finished) = self.lookups.join_next_with_id() => self.lookup_finished(finished),
                () = tokio::time::sleep(wait) => self.load().await?,
                _ = reconcile.tick() => {
                    sessionless::release_abandoned(&self.engine).await;
                    self.cursor = None;
                    self.load().await?;
                }
            }
        }
    }

    /// Adds the groups of the notifications. Loads from the table if a notification requires it, or
    /// if due groups had been left there.
    async fn process_notifications(&mut self, pending: PendingWakeup<Due>) -> Result<(), StoreError> {
        let now_ms = self.engine.context.now_ms();
        let mut rescan = pending.rescan;
        for due in pending.hints {
            if !self.engine.lanes().has_capacity_for(1) {
                // The group is in the table. The next load finds it.
                (rescan, self.more) = (true, true);
                break;
            }
            if due.key.due_ms > now_ms {
                self.next_due_ms = Some(self.next_due_ms.map_or(due.key.due_ms, |next| next.min(due.key.due_ms)));
            } else {
                self.admit(due);
            }
        }
        if rescan {
            self.cursor = None;
        }
        let is_due = self.next_due_ms.is_some_and(|next| next <= now_ms);
        if rescan || is_due || self.more {
            self.load().await?;
        }
        Ok(())
    }

    /// Returns the time until the next group becomes due or the next cooldown ends, at most
    /// [`RECONCILE_EVERY`].
    fn time_until_load(&self) -> Duration {
        let now_ms = self.engine.context.now_ms();
        let cooldown_end = self.engine.lanes().next_cooldown_end(now_ms);
        let next_ms = [self.next_due_ms, cooldown_end].into_iter().flatten().min();
        let wait_ms = next_ms.map_or(i64::MAX, |next_ms| (next_ms - now_ms).max(1));
        Duration::from_millis(u64::try_from(wait_ms).unwrap_or(u64::MAX)).min(RECONCILE_EVERY)
    }

    /// Loads due groups after the cursor until there are no more, memory is full, or pages only
    /// contain groups of full lanes.
    async fn load(&mut self) -> Result<(), StoreError> {
        let mut full_pages = 0;
        loop {
            if !self.engine.lanes().has_capacity_for(LOAD_ROWS) {
                // `Engine::untrack` wakes the dispatcher when there is capacity. No timer is needed.
                (self.more, self.next_due_ms) = (true, None);
                return Ok(());
            }
            let (after, now_ms) = (self.cursor, self.engine.context.now_ms());
            let read = self.engine.context.store.read(move |tx| read_due(tx, after, now_ms, LOAD_ROWS));
            let DuePage { rows, more, next_due_ms } = read.await?;
            if let Some(last) = rows.last() {
                self.cursor = Some(last.key);
            }
            let (mut full, read) = (0, rows.len());
            for due in rows {
                full += usize::from(self.admit(due) == AdmitResult::Full);
            }
            self.more = more;
            if !more {
                self.next_due_ms = next_due_ms;
                return Ok(());
            }
            full_pages = if full == read { full_pages + 1 } else { 0 };
            // With a single route, all later pages belong to the same full lane.
            if full_pages > 0 && (self.engine.settings.transport.is_single() || full_pages >= FULL_PAGES_MAX) {
                self.next_due_ms = None;
                return Ok(());
            }
            self.start_sessions();
        }
    }

    /// Adds a due group to memory unless it is there already: pushes it into its lane, or keeps it
    /// until its destination is resolved, or settles it if its recipients are simulated.
    fn admit(&mut self, due: Due) -> AdmitResult {
        if !self.engine.lanes().track(due.key) {
            return AdmitResult::Accepted;
        }
        if due.destination == simulated::DESTINATION {
            self.spawn_sessionless(vec![due], sessionless::SessionlessReason::Simulated);
            return AdmitResult::Accepted;
        }
        let name = if self.engine.settings.transport.is_single() { "" } else { due.destination.as_str() };
        let now_ms = self.engine.context.now_ms();
        match self.routes.get_mut(name) {
            Some(RouteState::Known(at_ms, servers)) if now_ms - *at_ms < ROUTE_FRESH_MS => {
                let ready = ReadyGroup { due, servers: Arc::clone(servers) };
                if self.engine.lanes().push(ready) == PushResult::Full {
                    return AdmitResult::Full;
                }
            }
            Some(RouteState::Resolving(waiting)) => waiting.push(due),
            Some(RouteState::Known(..)) | None => {
                let name = name.to_owned();
                let freshness = if due.vanished { Freshness::Fresh } else { Freshness::Cached };
                self.evict_routes(now_ms);
                self.routes.insert(name.clone(), RouteState::Resolving(vec![due]));
                self.start_lookup(name, freshness);
            }
        }
        AdmitResult::Accepted
    }

    fn evict_routes(&mut self, now_ms: TimestampMs) {
        if self.routes.len() < ROUTES_MAX {
            return;
        }
        self.routes.retain(|_, route| match route {
            RouteState::Resolving(_) => true,
            RouteState::Known(at_ms, _) => now_ms - *at_ms < ROUTE_FRESH_MS,
        });
        if self.routes.len() >= ROUTES_MAX {
            self.routes.retain(|_, route| matches!(route, RouteState::Resolving(_)));
        }
    }

    fn start_lookup(&mut self, name: String, freshness: Freshness) {
        if self.lookups.len() >= LOOKUPS_MAX {
            self.queued_lookups.push((name, freshness));
            return;
        }
        let (transport, now_ms) = (self.engine.settings.transport.clone(), self.engine.context.now_ms());
        let about = name.clone();
        let lookup = self.lookups.spawn(async move { transport.destination(&about, now_ms, freshness).await });
        self.lookup_names.insert(lookup.id(), name);
    }

    /// Pushes the groups of a resolved destination into its lane. Settles them if the destination has
    /// no servers.
    fn lookup_finished(&mut self, finished: Result<(tokio::task::Id, Destination), tokio::task::JoinError>) {
        if let Some((name, freshness)) = self.queued_lookups.pop() {
            self.start_lookup(name, freshness);
        }
        let (lookup, destination) = match finished {
            Ok((lookup, destination)) => (lookup, Some(destination)),
            Err(error) => {
                error!(%error, "a lookup of a destination panicked: {error}");
                (error.id(), None)
            }
        };
        let Some(name) = self.lookup_names.remove(&lookup) else { return };
        let Some(RouteState::Resolving(waiting)) = self.routes.remove(&name) else { return };
        let Some(destination) = destination else {
            // The groups are in the table. The next reconciliation loads them.
            let keys: Vec<DueKey> = waiting.into_iter().map(|due| due.key).collect();
            self.engine.untrack(&keys);
            return;
        };
        let reason = match destination {
            Destination::Servers(servers) => {
                let mut lanes = self.engine.lanes();
                for due in waiting {
                    lanes.push(ReadyGroup { due, servers: Arc::clone(&servers) });
                }
                drop(lanes);
                let now_ms = self.engine.context.now_ms();
                self.routes.insert(name, RouteState::Known(now_ms, servers));
                return;
            }
            Destination::Undeliverable(no_route) => sessionless::SessionlessReason::Undeliverable(no_route),
            Destination::Missing { no_route, freshness } => {
                sessionless::SessionlessReason::Missing { no_route, freshness }
            }
            Destination::Unroutable(no_route) => sessionless::SessionlessReason::Unroutable(no_route),
            Destination::Unknown { reason } => {
                let now_ms = self.engine.context.now_ms();
                self.engine.problems.lookup_failed(&self.engine.settings.transport, now_ms);
                sessionless::SessionlessReason::Unknown { reason }
            }
        };
        let mut waiting = waiting.into_iter().peekable();
        while waiting.peek().is_some() {
            let some = waiting.by_ref().take(SESSIONLESS_MAX).collect();
            self.spawn_sessionless(some, reason.clone());
        }
    }

    fn spawn_sessionless(&self, groups: Vec<Due>, reason: sessionless::SessionlessReason) {
        let engine = Arc::clone(&self.engine);
        self.engine.tasks.spawn(async move { sessionless::settle_groups(&engine, groups, &reason).await });
    }

    fn start_sessions(&self) {
        let now_ms = self.engine.context.now_ms();
        let mut permits = Vec::new();
        let reserved = self.engine.lanes().reserve_sessions(now_ms, || {
            let permit = Arc::clone(&self.engine.sessions).try_acquire_owned().ok();
            let got = permit.is_some();
            permits.extend(permit);
            got
        });
        for (site, permit) in reserved.into_iter().zip(permits) {
            let span = info_span!("session", site = %site);
            let (engine, stop) = (Arc::clone(&self.engine), self.stop.clone());
            let session = async move {
                worker::run(engine, site, stop).await;
                drop(permit);
            };
            self.engine.tasks.spawn(session.instrument(span));
        }
    }
}
