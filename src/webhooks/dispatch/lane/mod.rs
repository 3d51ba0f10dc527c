//! The lane of one endpoint: what is due, in order, at its pace, a few at a time.
//!
//! Here is what it waits for; `actions.rs` has what it does then.

use std::collections::{HashSet, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::error;

use super::DispatchSettings;
use super::in_flight::{CompletedAttempt, InFlight};
use super::pacer::RequestPacer;
use super::page::{DueDeliveries, EndpointSnapshot, ReadyDelivery};
use super::settle::{DeliveryOutcome, EndpointChange, settle};
use crate::base::clock::{TimestampMs, monotonic};
use crate::base::id::{WebhookDeliveryId, WebhookId};
use crate::context::Context;
use crate::http_client::Client;
use crate::store::StoreError;
use crate::webhooks::DispatchNotifier;
use crate::webhooks::notifier::LaneRegistration;

mod actions;

/// Outcomes that may wait for their commit before no request is begun any more.
const UNSETTLED_MAX: usize = 512;
/// How long a lane without work stays, with its connections.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest sleep: due times are of the wall clock, which can be set.
const SLEEP_MAX: Duration = Duration::from_secs(60);
/// How long requests under way may take after the stop.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(12);

/// What every lane shares.
#[derive(Clone)]
pub(super) struct LaneContext {
    pub(super) context: Context,
    pub(super) bell: DispatchNotifier,
    pub(super) client: Client,
    pub(super) settings: DispatchSettings,
    /// Requests at once over all endpoints.
    pub(super) permits: Arc<Semaphore>,
}

/// What a lane has to have seen before it sends: how often its endpoint has changed, and how often
/// bodies have been erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Generations {
    changes: u64,
    erasures: u64,
}

pub(super) struct Lane {
    shared: LaneContext,
    webhook: WebhookId,
    wake: Arc<Notify>,
    watch: LaneRegistration,
    pace: RequestPacer,
    endpoint: Option<Arc<EndpointSnapshot>>,
    /// What had been seen when the endpoint and what is ready were asked for.
    seen: Option<Generations>,
    ready: VecDeque<ReadyDelivery>,
    /// What is ready, under way or waiting for its commit.
    held: HashSet<WebhookDeliveryId>,
    flight: InFlight,
    landed: Vec<DeliveryOutcome>,
    /// Whether the queue may hold something due that is not held.
    needs_reload: bool,
    next_due_ms: Option<TimestampMs>,
    /// Until when the endpoint asked to be left alone.
    cooldown_until_ms: Option<TimestampMs>,
    failures: u32,
    /// Until when nothing is asked of the store, which has failed.
    store_retry_at: Option<Instant>,
}

/// What a lane waits for.
enum LaneEvent {
    Completed(CompletedAttempt),
    PermitAcquired,
    Committed(Result<EndpointChange, StoreError>),
    PageLoaded(Box<Result<DueDeliveries, StoreError>>),
    Notified,
    TimedOut,
    Stop,
}

/// Something asked of the store.
type StoreFuture<T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send>>;

/// The two things a lane asks of the store, one of each at a time.
#[derive(Default)]
struct StoreRequests {
    settling: Option<StoreFuture<EndpointChange>>,
    /// What the commit under way lets go of.
    released: Vec<WebhookDeliveryId>,
    reading: Option<StoreFuture<DueDeliveries>>,
}

impl Lane {
    pub(super) fn new(shared: LaneContext, webhook: WebhookId, wake: Arc<Notify>) -> Self {
        Self {
            webhook,
            wake,
            watch: shared.bell.register_lane(webhook),
            pace: RequestPacer::new(shared.settings.per_second),
            endpoint: None,
            seen: None,
            ready: VecDeque::new(),
            held: HashSet::new(),
            flight: InFlight::new(shared.clone()),
            landed: Vec::new(),
            needs_reload: true,
            next_due_ms: None,
            cooldown_until_ms: None,
            failures: 0,
            store_retry_at: None,
            shared,
        }
    }

    /// Works until nothing is queued for the endpoint, or the stop.
    pub(super) async fn run(mut self, stop: CancellationToken) -> WebhookId {
        let mut asked = StoreRequests::default();
        let mut idle_since = None;
        loop {
            self.begin_requests();
            self.start_store_requests(&mut asked);
            if self.flight.is_empty() && self.ready.is_empty() {
                self.flight.release_idle();
            }
            idle_since = if self.is_idle(&asked) { idle_since.or_else(|| Some(Instant::now())) } else { None };
            let wake_at = self.wake_at(idle_since);
            match self.news(&mut asked, wake_at, &stop).await {
                LaneEvent::Stop => break,
                LaneEvent::Completed(ended) => self.complete(ended),
                LaneEvent::PermitAcquired => {}
                LaneEvent::Committed(settled) => {
                    asked.settling = None;
                    if matches!(settled, Ok(EndpointChange::Disabled)) {
                        // It may have been asked before the endpoint was disabled.
                        asked.reading = None;
                    }
                    self.settled(&std::mem::take(&mut asked.released), settled);
                }
                LaneEvent::PageLoaded(page) => {
                    asked.reading = None;
                    self.apply_page(*page);
                }
                LaneEvent::Notified => self.needs_reload = true,
                LaneEvent::TimedOut if idle_since.is_some_and(|since| since.elapsed() >= IDLE_TIMEOUT) => {
                    return self.webhook;
                }
                LaneEvent::TimedOut => self.notice_due(),
            }
        }
        let webhook = self.webhook;
        self.end(asked).await;
        webhook
    }

    /// Returns whether there is nothing to do, and nothing that is known to come. One that rests knows of
    /// what comes: another lane of the same endpoint would not know to rest.
    fn is_idle(&self, asked: &StoreRequests) -> bool {
        let is_waiting =
            self.next_due_ms.is_some() || self.cooldown_until_ms.is_some() || self.store_retry_at.is_some();
        self.held.is_empty() && asked.reading.is_none() && !is_waiting
    }

    async fn news(&mut self, asked: &mut StoreRequests, wake_at: Instant, stop: &CancellationToken) -> LaneEvent {
        let url = self.endpoint.as_ref().map(|endpoint| endpoint.url.clone());
        tokio::select! {
            () = stop.cancelled() => LaneEvent::Stop,
            landed = self.flight.next(url.as_deref()) => landed.map_or(LaneEvent::PermitAcquired, LaneEvent::Completed),
            settled = answered(&mut asked.settling) => LaneEvent::Committed(settled),
            page = answered(&mut asked.reading) => LaneEvent::PageLoaded(Box::new(page)),
            () = self.wake.notified() => LaneEvent::Notified,
            () = tokio::time::sleep_until(wake_at) => LaneEvent::TimedOut,
        }
    }

    /// Returns when there is something to do that nothing else tells of.
    fn wake_at(&self, idle_since: Option<Instant>) -> Instant {
        let mut wake_in = SLEEP_MAX;
        let now_ms = self.shared.context.now_ms();
        let until = |at_ms: TimestampMs| Duration::from_millis(u64::try_from(at_ms - now_ms).unwrap_or(0));
        match (self.cooldown_until_ms, self.next_due_ms) {
            // Nothing is sent before, whatever becomes due.
            (Some(rest_ms), _) => wake_in = wake_in.min(until(rest_ms)),
            (None, Some(due_ms)) => wake_in = wake_in.min(until(due_ms)),
            (None, None) => {}
        }
        if !self.ready.is_empty()
            && self.cooldown_until_ms.is_none()
            && self.flight.has_room()
            && let Some(next) = self.pace.next_at(monotonic())
        {
            wake_in = wake_in.min(next.saturating_duration_since(monotonic()));
        }
        if let Some(until) = self.store_retry_at {
            wake_in = wake_in.min(until.saturating_duration_since(Instant::now()));
        }
        if let Some(since) = idle_since {
            wake_in = wake_in.min((since + IDLE_TIMEOUT).saturating_duration_since(Instant::now()));
        }
        Instant::now() + wake_in
    }

    /// Has the queue read again when something of it has become due.
    fn notice_due(&mut self) {
        let now_ms = self.shared.context.now_ms();
        if self.next_due_ms.is_some_and(|due_ms| due_ms <= now_ms) {
            self.next_due_ms = None;
            self.needs_reload = true;
        }
    }

    fn current_generations(&self) -> Generations {
        Generations {
            changes: self.watch.endpoint_version(),
            erasures: self.shared.context.event_bus.erasure_generation(),
        }
    }

    /// Lets requests under way finish, and writes down what they came to.
    async fn end(mut self, asked: StoreRequests) {
        let deadline = Instant::now() + SHUTDOWN_TIMEOUT;
        while !self.flight.is_empty() {
            match tokio::time::timeout_at(deadline, self.flight.next(None)).await {
                Ok(ended) => self.landed.extend(ended.map(|ended| ended.outcome)),
                Err(_) => break,
            }
        }
        if let Some(settling) = asked.settling {
            log_lost(self.webhook, settling.await);
        }
        let (context, webhook, outcomes) = (self.shared.context.clone(), self.webhook, self.landed);
        let store = context.store.clone();
        let settled = store.write_bulk(move |tx| settle(tx, &context, webhook, &outcomes)).await;
        log_lost(webhook, settled);
    }
}

fn log_lost(webhook: WebhookId, settled: Result<EndpointChange, StoreError>) {
    if let Err(error) = settled {
        error!(%webhook, %error, "the last outcomes of webhook deliveries could not be stored: {error}");
    }
}

/// Waits for an answer that may not have been asked for; then there is none.
async fn answered<T>(asked: &mut Option<StoreFuture<T>>) -> Result<T, StoreError> {
    match asked {
        Some(answer) => answer.await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dns::Resolver;
    use crate::http_client::{HttpTimeouts, UrlPolicy};

    fn shared() -> (tempfile::TempDir, LaneContext) {
        let (directory, context) = Context::temporary();
        let resolver = Resolver::with_servers(&[(std::net::Ipv4Addr::LOCALHOST, 9).into()]).unwrap();
        let client = Client::new(resolver, UrlPolicy::default(), HttpTimeouts::default()).unwrap();
        let (bell, places) = (DispatchNotifier::default(), Arc::new(Semaphore::new(1)));
        (
            directory,
            LaneContext { context, bell, client, settings: DispatchSettings { per_second: 0 }, permits: places },
        )
    }

    #[tokio::test]
    async fn a_lane_whose_store_fails_asks_it_nothing_for_a_while_and_goes_on_then() {
        let (_directory, shared) = shared();
        let mut lane = Lane::new(shared, WebhookId::MIN, Arc::default());
        let mut asked = StoreRequests::default();

        lane.apply_page(Err(StoreError::Closed));
        lane.begin_requests();
        lane.start_store_requests(&mut asked);
        assert!(asked.reading.is_none() && !lane.is_idle(&asked));

        lane.store_retry_at = Some(Instant::now());
        lane.begin_requests();
        lane.start_store_requests(&mut asked);
        assert!(asked.reading.is_some());
    }

    #[tokio::test]
    async fn a_lane_that_rests_stays_and_one_without_work_does_not() {
        let (_directory, shared) = shared();
        let mut lane = Lane::new(shared.clone(), WebhookId::MIN, Arc::default());
        assert!(lane.is_idle(&StoreRequests::default()));

        lane.cooldown_until_ms = Some(shared.context.now_ms() + 3_600_000);

        assert!(!lane.is_idle(&StoreRequests::default()));
        shared.context.clock.advance(Duration::from_secs(3_600));
        lane.begin_requests();
        assert!(lane.is_idle(&StoreRequests::default()));
    }
}
