//! The dispatcher: reads the queue, finds each destination's servers, fills the lanes and starts
//! their sessions.
//!
//! It alone decides what is brought into memory. What it forgets, or has no room for, it finds
//! again in the table.

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
use crate::dns::Freshness;
use crate::store::StoreError;

/// Groups read from the table at a time.
const LOAD_ROWS: usize = 1_000;
/// The table is read from its start this often, whatever the bell says.
const RECONCILE_EVERY: Duration = Duration::from_secs(60);
/// Destinations whose servers are remembered.
const ROUTES_MAX: usize = 10_000;
/// How long a destination's servers are remembered here; the resolver below keeps to the TTLs.
const ROUTE_FRESH_MS: i64 = 60_000;
/// Destinations looked up at once.
const LOOKUPS_MAX: usize = 64;
/// Groups settled without a conversation in one task.
const UNSENT_MAX: usize = 50;
/// Pages of the table in a row that fit in no lane before reading on is left for later.
const FULL_PAGES_MAX: usize = 20;

/// What is known of a destination's servers.
enum RouteState {
    /// These groups wait for the answer.
    Resolving(Vec<Due>),
    /// The answer, and when it was given.
    Known(TimestampMs, Arc<Servers>),
}

/// What decides: what is read from the table, where it goes, and which sites get a session.
pub(super) struct Dispatcher {
    engine: Arc<Engine>,
    stop: CancellationToken,
    /// Up to where the table has been read.
    cursor: Option<DueKey>,
    next_due_ms: Option<TimestampMs>,
    /// There is more in the table that is due.
    more: bool,
    routes: HashMap<String, RouteState>,
    lookups: JoinSet<Destination>,
    /// Which destination each look-up is about.
    asked: HashMap<tokio::task::Id, String>,
    /// Destinations to look up when a look-up ends.
    waiting: Vec<(String, Freshness)>,
}

/// What became of a group that the table or the bell brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AdmitResult {
    /// It is on its way, or was already.
    Accepted,
    /// Its lane is full; it stays in the table alone.
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
            asked: HashMap::new(),
            waiting: Vec::new(),
        }
    }

    /// Decides until the stop.
    pub(super) async fn run(&mut self) -> Result<(), StoreError> {
        self.load().await?;
        let mut reconcile = tokio::time::interval(RECONCILE_EVERY);
        reconcile.tick().await;
        loop {
            self.start_sessions();
            let wait = self.wait_for_time();
            tokio::select! {
                () = self.stop.cancelled() => return Ok(()),
                () = self.engine.bell.notified() => self.process_notifications().await?,
                Some(answered) = self.lookups.join_next_with_id() => self.lookup_finished(answered),
                () = tokio::time::sleep(wait) => self.load().await?,
                _ = reconcile.tick() => {
                    sessionless::release_abandoned(&self.engine).await;
                    self.cursor = None;
                    self.load().await?;
                }
            }
        }
    }

    /// Takes what the bell brought; reads the table when it says so or when there is room again.
    async fn process_notifications(&mut self) -> Result<(), StoreError> {
        let pending = self.engine.bell.take();
        let now_ms = self.engine.context.now_ms();
        let mut rescan = pending.rescan;
        for due in pending.due {
            if !self.engine.lanes().has_room_for(1) {
                // It is in the table, where the next look finds it.
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

    /// Returns how long nothing becomes due by itself.
    fn wait_for_time(&self) -> Duration {
        let now_ms = self.engine.context.now_ms();
        let rest_end = self.engine.lanes().next_cooldown_end(now_ms);
        let next_ms = [self.next_due_ms, rest_end].into_iter().flatten().min();
        let wait_ms = next_ms.map_or(i64::MAX, |next_ms| (next_ms - now_ms).max(1));
        Duration::from_millis(u64::try_from(wait_ms).unwrap_or(u64::MAX)).min(RECONCILE_EVERY)
    }

    /// Reads what has become due, as far as there is room for it.
    async fn load(&mut self) -> Result<(), StoreError> {
        let mut full_pages = 0;
        loop {
            if !self.engine.lanes().has_room_for(LOAD_ROWS) {
                // Whoever makes room wakes the dispatcher; the time alone does not.
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
            // Where all mail goes to one place, nothing behind a full page fits either.
            if full_pages > 0 && (self.engine.settings.transport.is_single() || full_pages >= FULL_PAGES_MAX) {
                self.next_due_ms = None;
                return Ok(());
            }
            self.start_sessions();
        }
    }

    /// Sends a group on its way, unless it is on it already.
    fn admit(&mut self, due: Due) -> AdmitResult {
        if !self.engine.lanes().know(due.key) {
            return AdmitResult::Accepted;
        }
        if due.destination == simulated::DESTINATION {
            self.spawn_unsent(vec![due], sessionless::SessionlessReason::Simulated);
            return AdmitResult::Accepted;
        }
        let name = if self.engine.settings.transport.is_single() { "" } else { due.destination.as_str() };
        let now_ms = self.engine.context.now_ms();
        match self.routes.get_mut(name) {
            Some(RouteState::Known(at_ms, servers)) if now_ms - *at_ms < ROUTE_FRESH_MS => {
                let ready = ReadyGroup { due, servers: Arc::clone(servers) };
                if self.engine.lanes().offer(ready) == PushResult::Full {
                    return AdmitResult::Full;
                }
            }
            Some(RouteState::Resolving(waiting)) => waiting.push(due),
            Some(RouteState::Known(..)) | None => {
                let name = name.to_owned();
                let freshness = if due.vanished { Freshness::Fresh } else { Freshness::Cached };
                self.forget_routes(now_ms);
                self.routes.insert(name.clone(), RouteState::Resolving(vec![due]));
                self.start_lookup(name, freshness);
            }
        }
        AdmitResult::Accepted
    }

    fn forget_routes(&mut self, now_ms: TimestampMs) {
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
            self.waiting.push((name, freshness));
            return;
        }
        let (transport, now_ms) = (self.engine.settings.transport.clone(), self.engine.context.now_ms());
        let about = name.clone();
        let lookup = self.lookups.spawn(async move { transport.destination(&about, now_ms, freshness).await });
        self.asked.insert(lookup.id(), name);
    }

    /// Gives the groups of a destination to its lane, or settles them when it has none.
    fn lookup_finished(&mut self, answered: Result<(tokio::task::Id, Destination), tokio::task::JoinError>) {
        if let Some((name, freshness)) = self.waiting.pop() {
            self.start_lookup(name, freshness);
        }
        let (lookup, destination) = match answered {
            Ok((lookup, destination)) => (lookup, Some(destination)),
            Err(error) => {
                error!(%error, "a look-up of a destination failed: {error}");
                (error.id(), None)
            }
        };
        let Some(name) = self.asked.remove(&lookup) else { return };
        let Some(RouteState::Resolving(waiting)) = self.routes.remove(&name) else { return };
        let Some(destination) = destination else {
            // The groups are in the table; the next reconciliation finds them.
            let keys: Vec<DueKey> = waiting.into_iter().map(|due| due.key).collect();
            self.engine.forget(&keys);
            return;
        };
        let reason = match destination {
            Destination::Servers(servers) => {
                let mut lanes = self.engine.lanes();
                for due in waiting {
                    lanes.offer(ReadyGroup { due, servers: Arc::clone(&servers) });
                }
                drop(lanes);
                let now_ms = self.engine.context.now_ms();
                self.routes.insert(name, RouteState::Known(now_ms, servers));
                return;
            }
            Destination::Undeliverable { status, message } => {
                sessionless::SessionlessReason::Undeliverable { status, message }
            }
            Destination::Vanished => sessionless::SessionlessReason::Vanished,
            Destination::Unknown { reason } => sessionless::SessionlessReason::Unknown { reason },
        };
        let mut waiting = waiting.into_iter().peekable();
        while waiting.peek().is_some() {
            let some = waiting.by_ref().take(UNSENT_MAX).collect();
            self.spawn_unsent(some, reason.clone());
        }
    }

    fn spawn_unsent(&self, groups: Vec<Due>, reason: sessionless::SessionlessReason) {
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
