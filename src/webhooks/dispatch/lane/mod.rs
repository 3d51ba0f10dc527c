//! The lane of one endpoint: what is due, in order, at its pace, a few at a time.
//!
//! Here is what it waits for; `steps.rs` has what it does then.

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
use super::flight::{Ended, Flight};
use super::pace::Pace;
use super::page::{Endpoint, Page, Work};
use super::settle::{Outcome, Standing, settle};
use crate::clock::{TimestampMs, monotonic};
use crate::context::Context;
use crate::id::{WebhookDeliveryId, WebhookId};
use crate::outgoing::Client;
use crate::store::StoreError;
use crate::webhooks::WebhookBell;
use crate::webhooks::bell::Watch;

mod steps;

/// Outcomes that may wait for their commit before no request is begun any more.
const UNSETTLED_MAX: usize = 512;
/// How long a lane without work stays, with its connections.
const LINGER: Duration = Duration::from_secs(30);
/// The longest sleep: due times are of the wall clock, which can be set.
const SLEEP_MAX: Duration = Duration::from_secs(60);
/// How long requests under way may take after the stop.
const END_WITHIN: Duration = Duration::from_secs(12);

/// What every lane shares.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) context: Context,
    pub(super) bell: WebhookBell,
    pub(super) client: Client,
    pub(super) settings: DispatchSettings,
    /// Requests at once over all endpoints.
    pub(super) places: Arc<Semaphore>,
}

/// What a lane has to have seen before it sends: how often its endpoint has changed, and how often
/// bodies have been erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    changes: u64,
    erasures: u64,
}

pub(super) struct Lane {
    shared: Shared,
    webhook: WebhookId,
    wake: Arc<Notify>,
    watch: Watch,
    pace: Pace,
    endpoint: Option<Arc<Endpoint>>,
    /// What had been seen when the endpoint and what is ready were asked for.
    seen: Option<Seen>,
    ready: VecDeque<Work>,
    /// What is ready, under way or waiting for its commit.
    held: HashSet<WebhookDeliveryId>,
    flight: Flight,
    landed: Vec<Outcome>,
    /// Whether the queue may hold something due that is not held.
    is_stale: bool,
    next_due_ms: Option<TimestampMs>,
    /// Until when the endpoint asked to be left alone.
    rest_until_ms: Option<TimestampMs>,
    failures: u32,
    /// Until when nothing is asked of the store, which has failed.
    paused_until: Option<Instant>,
}

/// What a lane waits for.
enum News {
    Landed(Ended),
    Placed,
    Settled(Result<Standing, StoreError>),
    Read(Box<Result<Page, StoreError>>),
    Woken,
    Late,
    Stop,
}

/// Something asked of the store.
type Answer<T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send>>;

/// The two things a lane asks of the store, one of each at a time.
#[derive(Default)]
struct Asked {
    settling: Option<Answer<Standing>>,
    /// What the commit under way lets go of.
    released: Vec<WebhookDeliveryId>,
    reading: Option<Answer<Page>>,
}

impl Lane {
    pub(super) fn new(shared: Shared, webhook: WebhookId, wake: Arc<Notify>) -> Self {
        Self {
            webhook,
            wake,
            watch: shared.bell.watch(webhook),
            pace: Pace::new(shared.settings.per_second),
            endpoint: None,
            seen: None,
            ready: VecDeque::new(),
            held: HashSet::new(),
            flight: Flight::new(shared.clone()),
            landed: Vec::new(),
            is_stale: true,
            next_due_ms: None,
            rest_until_ms: None,
            failures: 0,
            paused_until: None,
            shared,
        }
    }

    /// Works until nothing is queued for the endpoint, or the stop.
    pub(super) async fn run(mut self, stop: CancellationToken) -> WebhookId {
        let mut asked = Asked::default();
        let mut idle_since = None;
        loop {
            self.begin_requests();
            self.ask(&mut asked);
            if self.flight.is_empty() && self.ready.is_empty() {
                self.flight.rest();
            }
            idle_since = if self.is_idle(&asked) { idle_since.or_else(|| Some(Instant::now())) } else { None };
            let wake_at = self.wake_at(idle_since);
            match self.news(&mut asked, wake_at, &stop).await {
                News::Stop => break,
                News::Landed(ended) => self.land(ended),
                News::Placed => {}
                News::Settled(settled) => {
                    asked.settling = None;
                    if matches!(settled, Ok(Standing::Disabled)) {
                        // It may have been asked before the endpoint was disabled.
                        asked.reading = None;
                    }
                    self.settled(&std::mem::take(&mut asked.released), settled);
                }
                News::Read(page) => {
                    asked.reading = None;
                    self.take_up(*page);
                }
                News::Woken => self.is_stale = true,
                News::Late if idle_since.is_some_and(|since| since.elapsed() >= LINGER) => return self.webhook,
                News::Late => self.notice_due(),
            }
        }
        let webhook = self.webhook;
        self.end(asked).await;
        webhook
    }

    /// Returns whether there is nothing to do, and nothing that is known to come. One that rests knows of
    /// what comes: another lane of the same endpoint would not know to rest.
    fn is_idle(&self, asked: &Asked) -> bool {
        let is_waiting = self.next_due_ms.is_some() || self.rest_until_ms.is_some() || self.paused_until.is_some();
        self.held.is_empty() && asked.reading.is_none() && !is_waiting
    }

    async fn news(&mut self, asked: &mut Asked, wake_at: Instant, stop: &CancellationToken) -> News {
        let url = self.endpoint.as_ref().map(|endpoint| endpoint.url.clone());
        tokio::select! {
            () = stop.cancelled() => News::Stop,
            landed = self.flight.next(url.as_deref()) => landed.map_or(News::Placed, News::Landed),
            settled = answered(&mut asked.settling) => News::Settled(settled),
            page = answered(&mut asked.reading) => News::Read(Box::new(page)),
            () = self.wake.notified() => News::Woken,
            () = tokio::time::sleep_until(wake_at) => News::Late,
        }
    }

    /// Returns when there is something to do that nothing else tells of.
    fn wake_at(&self, idle_since: Option<Instant>) -> Instant {
        let mut wake_in = SLEEP_MAX;
        let now_ms = self.shared.context.now_ms();
        let until = |at_ms: TimestampMs| Duration::from_millis(u64::try_from(at_ms - now_ms).unwrap_or(0));
        match (self.rest_until_ms, self.next_due_ms) {
            // Nothing is sent before, whatever becomes due.
            (Some(rest_ms), _) => wake_in = wake_in.min(until(rest_ms)),
            (None, Some(due_ms)) => wake_in = wake_in.min(until(due_ms)),
            (None, None) => {}
        }
        if !self.ready.is_empty()
            && self.rest_until_ms.is_none()
            && self.flight.has_room()
            && let Some(next) = self.pace.next_at(monotonic())
        {
            wake_in = wake_in.min(next.saturating_duration_since(monotonic()));
        }
        if let Some(until) = self.paused_until {
            wake_in = wake_in.min(until.saturating_duration_since(Instant::now()));
        }
        if let Some(since) = idle_since {
            wake_in = wake_in.min((since + LINGER).saturating_duration_since(Instant::now()));
        }
        Instant::now() + wake_in
    }

    /// Has the queue read again when something of it has become due.
    fn notice_due(&mut self) {
        let now_ms = self.shared.context.now_ms();
        if self.next_due_ms.is_some_and(|due_ms| due_ms <= now_ms) {
            self.next_due_ms = None;
            self.is_stale = true;
        }
    }

    fn now_seen(&self) -> Seen {
        Seen { changes: self.watch.changes(), erasures: self.shared.context.announcer.erasures() }
    }

    /// Lets requests under way finish, and writes down what they came to.
    async fn end(mut self, asked: Asked) {
        let deadline = Instant::now() + END_WITHIN;
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

fn log_lost(webhook: WebhookId, settled: Result<Standing, StoreError>) {
    if let Err(error) = settled {
        error!(%webhook, %error, "the last outcomes of webhook deliveries could not be stored: {error}");
    }
}

/// Waits for an answer that may not have been asked for; then there is none.
async fn answered<T>(asked: &mut Option<Answer<T>>) -> Result<T, StoreError> {
    match asked {
        Some(answer) => answer.await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dns::Resolver;
    use crate::outgoing::{Policy, Timings};

    fn shared() -> (tempfile::TempDir, Shared) {
        let (directory, context) = Context::temporary();
        let resolver = Resolver::with_servers(&[(std::net::Ipv4Addr::LOCALHOST, 9).into()]).unwrap();
        let client = Client::new(resolver, Policy::default(), Timings::default()).unwrap();
        let (bell, places) = (WebhookBell::default(), Arc::new(Semaphore::new(1)));
        (directory, Shared { context, bell, client, settings: DispatchSettings { per_second: 0 }, places })
    }

    #[tokio::test]
    async fn a_lane_whose_store_fails_asks_it_nothing_for_a_while_and_goes_on_then() {
        let (_directory, shared) = shared();
        let mut lane = Lane::new(shared, WebhookId::MIN, Arc::default());
        let mut asked = Asked::default();

        lane.take_up(Err(StoreError::Closed));
        lane.begin_requests();
        lane.ask(&mut asked);
        assert!(asked.reading.is_none() && !lane.is_idle(&asked));

        lane.paused_until = Some(Instant::now());
        lane.begin_requests();
        lane.ask(&mut asked);
        assert!(asked.reading.is_some());
    }

    #[tokio::test]
    async fn a_lane_that_rests_stays_and_one_without_work_does_not() {
        let (_directory, shared) = shared();
        let mut lane = Lane::new(shared.clone(), WebhookId::MIN, Arc::default());
        assert!(lane.is_idle(&Asked::default()));

        lane.rest_until_ms = Some(shared.context.now_ms() + 3_600_000);

        assert!(!lane.is_idle(&Asked::default()));
        shared.context.clock.advance(Duration::from_secs(3_600));
        lane.begin_requests();
        assert!(lane.is_idle(&Asked::default()));
    }
}
