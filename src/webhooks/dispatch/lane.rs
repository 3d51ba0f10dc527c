//! The lane of one endpoint: what is due, in order, at its pace, a few at a time.

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
use super::flight::{Flight, Held};
use super::pace::Pace;
use super::page::{self, Endpoint, PAGE_ROWS, Page, Work};
use super::request;
use super::settle::{Fate, Outcome, Standing, settle};
use crate::clock::{TimestampMs, monotonic};
use crate::context::Context;
use crate::id::{WebhookDeliveryId, WebhookId};
use crate::outgoing::Client;
use crate::store::StoreError;
use crate::webhooks::bell::Watch;
use crate::webhooks::{Exhaustion, WebhookBell, ladder};

/// Outcomes that may wait for their commit before no request is begun any more.
const UNSETTLED_MAX: usize = 512;
/// How long a lane without work stays, with its connections.
const LINGER: Duration = Duration::from_secs(30);
/// The longest sleep: due times are of the wall clock, which can be set.
const SLEEP_MAX: Duration = Duration::from_secs(60);
/// The pause after a failure of the store; it doubles up to [`SLEEP_MAX`].
const FAILURE_PAUSE: Duration = Duration::from_secs(1);
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
}

/// What a lane waits for.
enum News {
    Landed(Outcome),
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
            let is_idle = self.held.is_empty() && asked.reading.is_none() && self.next_due_ms.is_none();
            idle_since = if is_idle { idle_since.or_else(|| Some(Instant::now())) } else { None };
            let wake_at = self.wake_at(idle_since);
            match self.news(&mut asked, wake_at, &stop).await {
                News::Stop => break,
                News::Landed(outcome) => self.land(outcome),
                News::Placed => {}
                News::Settled(settled) => {
                    asked.settling = None;
                    if matches!(settled, Ok(Standing::Disabled)) {
                        // It may have been asked before the endpoint was disabled.
                        asked.reading = None;
                    }
                    self.settled(&std::mem::take(&mut asked.released), settled).await;
                }
                News::Read(page) => {
                    asked.reading = None;
                    self.take_up(*page).await;
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

    /// Begins what may begin.
    fn begin_requests(&mut self) {
        let now_ms = self.shared.context.now_ms();
        self.rest_until_ms = self.rest_until_ms.filter(|until_ms| *until_ms > now_ms);
        if self.ready.is_empty() {
            self.pace.rest(monotonic());
        }
        while self.rest_until_ms.is_none()
            && self.flight.has_room()
            && self.landed.len() < UNSETTLED_MAX
            // What has changed since is read again before anything is sent.
            && self.seen == Some(self.now_seen())
            && self.pace.next_at(monotonic()).is_none()
        {
            let (Some(endpoint), Some(work)) = (self.endpoint.clone(), self.ready.front()) else { break };
            if ladder::is_expired(work.queued_ms, now_ms) {
                let taken = work.taken;
                self.ready.pop_front();
                self.landed.push(Outcome { taken, fate: Fate::GivenUp(Exhaustion::Expired) });
                continue;
            }
            match self.flight.prepare(&endpoint) {
                Ok(()) => {}
                Err(Held::NoPlace) => break,
                Err(Held::NotAllowed(why)) => {
                    let context = &self.shared.context;
                    let not_sent = |work: Work| request::not_sent(context, work.taken, &why);
                    self.landed.extend(self.ready.drain(..).map(not_sent));
                    break;
                }
            }
            let Some(work) = self.ready.pop_front() else { break };
            self.pace.begin(monotonic());
            self.flight.begin(endpoint, work, now_ms);
        }
    }

    /// Asks the store for what is wanted of it, one page and one commit at a time.
    fn ask(&mut self, asked: &mut Asked) {
        if asked.settling.is_none() && !self.landed.is_empty() {
            let outcomes = std::mem::take(&mut self.landed);
            asked.released = outcomes.iter().map(|outcome| outcome.taken.delivery).collect();
            let (context, webhook) = (self.shared.context.clone(), self.webhook);
            let bytes = outcomes.len() * 1_024;
            asked.settling = Some(Box::pin(async move {
                let store = context.store.clone();
                store.write_bulk_sized(bytes, move |tx| settle(tx, &context, webhook, &outcomes)).await
            }));
        }
        let has_changed = self.seen != Some(self.now_seen());
        let has_room = self.ready.len() < PAGE_ROWS / 4 && self.held.len() < UNSETTLED_MAX;
        let wants_more = self.is_stale && has_room && self.rest_until_ms.is_none();
        if asked.reading.is_some() || !(has_changed || wants_more) {
            return;
        }
        if has_changed {
            self.put_back();
        }
        self.is_stale = false;
        self.seen = Some(self.now_seen());
        let (context, webhook, held) = (self.shared.context.clone(), self.webhook, self.held.clone());
        asked.reading = Some(Box::pin(async move {
            let store = context.store.clone();
            store.read(move |tx| page::read(tx, &context, webhook, &held)).await
        }));
    }

    /// Lets go of what is ready: it is read again, under the endpoint as it stands.
    fn put_back(&mut self) {
        for work in self.ready.drain(..) {
            self.held.remove(&work.taken.delivery);
        }
        self.is_stale = true;
    }

    fn land(&mut self, outcome: Outcome) {
        if let Fate::Tried { attempt: _, answered } = &outcome.fate
            && let Some(wait_ms) = answered.asks_to_wait()
        {
            let until_ms = self.shared.context.now_ms() + wait_ms;
            self.rest_until_ms = Some(self.rest_until_ms.map_or(until_ms, |known| known.max(until_ms)));
            // Bodies are not kept in memory for as long as an endpoint likes.
            self.put_back();
        }
        self.landed.push(outcome);
    }

    async fn settled(&mut self, released: &[WebhookDeliveryId], settled: Result<Standing, StoreError>) {
        for delivery in released {
            self.held.remove(delivery);
        }
        self.is_stale = true;
        match settled {
            Ok(standing) => {
                self.failures = 0;
                if standing == Standing::Disabled {
                    self.endpoint = None;
                    self.put_back();
                }
            }
            // They are in the queue still, and are sent again.
            Err(error) => self.pause("the outcomes of webhook deliveries could not be stored", &error).await,
        }
    }

    async fn take_up(&mut self, page: Result<Page, StoreError>) {
        let Page { endpoint, work, given_up, stray, next_due_ms, is_more } = match page {
            Ok(page) => page,
            Err(error) => {
                self.is_stale = true;
                return self.pause("the queue of a webhook could not be read", &error).await;
            }
        };
        if let Some(endpoint) = endpoint {
            if self.endpoint.as_ref().is_none_or(|old| old.url != endpoint.url) {
                self.flight.close();
                // Another URL has asked for nothing.
                self.rest_until_ms = None;
            }
            self.endpoint = Some(Arc::new(endpoint));
        } else if !given_up.is_empty() {
            self.endpoint = None;
        }
        self.next_due_ms = next_due_ms;
        self.is_stale |= is_more;
        let ended = given_up.into_iter().map(|(taken, why)| Outcome { taken, fate: Fate::GivenUp(why) });
        let stray = stray.into_iter().map(|taken| Outcome { taken, fate: Fate::Stray });
        for outcome in ended.chain(stray) {
            self.held.insert(outcome.taken.delivery);
            self.landed.push(outcome);
        }
        for work in work {
            if self.held.insert(work.taken.delivery) {
                self.ready.push_back(work);
            }
        }
    }

    async fn pause(&mut self, what: &str, error: &StoreError) {
        error!(webhook = %self.webhook, %error, "{what}: {error}");
        let pause = FAILURE_PAUSE * 2_u32.saturating_pow(self.failures.min(6));
        self.failures += 1;
        tokio::time::sleep(pause.min(SLEEP_MAX)).await;
    }

    /// Lets requests under way finish, and writes down what they came to.
    async fn end(mut self, asked: Asked) {
        let deadline = Instant::now() + END_WITHIN;
        while !self.flight.is_empty() {
            match tokio::time::timeout_at(deadline, self.flight.next(None)).await {
                Ok(outcome) => self.landed.extend(outcome),
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
