//! The lane of one endpoint: what is due, in order, at its pace, a few at a time.

use std::collections::{HashSet, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::error;

use super::pace::Pace;
use super::page::{self, Endpoint, PAGE_ROWS, Page, Work};
use super::request;
use super::settle::{Fate, Outcome, Standing, settle};
use super::{DispatchSettings, IN_FLIGHT};
use crate::clock::{TimestampMs, monotonic};
use crate::context::Context;
use crate::id::{WebhookDeliveryId, WebhookId};
use crate::outgoing::{Client, CustomerUrl, Session};
use crate::store::StoreError;
use crate::webhooks::WebhookBell;

/// Outcomes that may wait for their commit before no request is begun any more.
const UNSETTLED_MAX: usize = 512;
/// How long a lane without work stays, with its connections.
const LINGER: Duration = Duration::from_secs(30);
/// The longest sleep: due times are of the wall clock, which can be set.
const SLEEP_MAX: Duration = Duration::from_secs(60);
/// The pause before another look for a place, when requests to other endpoints have taken all.
const NO_PLACE_PAUSE: Duration = Duration::from_millis(50);
/// The pause after a failure of the store.
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

/// A request that has ended, with the connection it leaves.
struct Landed {
    outcome: Outcome,
    session: Session,
}

pub(super) struct Lane {
    shared: Shared,
    webhook: WebhookId,
    wake: Arc<Notify>,
    pace: Pace,
    endpoint: Option<Arc<Endpoint>>,
    /// The bell's count of changes when the endpoint was read.
    read_at_change: u64,
    ready: VecDeque<Work>,
    /// What is ready, under way or waiting for its commit.
    held: HashSet<WebhookDeliveryId>,
    flying: JoinSet<Landed>,
    sessions: Vec<Session>,
    landed: Vec<Outcome>,
    /// Whether the queue may hold something due that is not held.
    is_stale: bool,
    next_due_ms: Option<TimestampMs>,
    /// Until when the endpoint asked to be left alone.
    rest_until_ms: Option<TimestampMs>,
}

/// What a lane waits for.
enum News {
    Landed(Option<Result<Landed, JoinError>>),
    Settled(Result<Standing, StoreError>),
    Read(Result<Page, StoreError>),
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
        let pace = Pace::new(shared.settings.per_second);
        Self {
            shared,
            webhook,
            wake,
            pace,
            endpoint: None,
            read_at_change: 0,
            ready: VecDeque::new(),
            held: HashSet::new(),
            flying: JoinSet::new(),
            sessions: Vec::new(),
            landed: Vec::new(),
            is_stale: true,
            next_due_ms: None,
            rest_until_ms: None,
        }
    }

    /// Works until nothing is queued for the endpoint, or the stop.
    pub(super) async fn run(mut self, stop: CancellationToken) -> WebhookId {
        let mut asked = Asked::default();
        let mut idle_since = None;
        loop {
            self.begin_requests();
            self.ask(&mut asked);
            let is_idle = self.held.is_empty() && asked.reading.is_none() && self.next_due_ms.is_none();
            idle_since = if is_idle { idle_since.or_else(|| Some(Instant::now())) } else { None };
            let wake_at = self.wake_at(idle_since);
            let news = tokio::select! {
                () = stop.cancelled() => News::Stop,
                landed = self.flying.join_next(), if !self.flying.is_empty() => News::Landed(landed),
                settled = answered(&mut asked.settling) => News::Settled(settled),
                page = answered(&mut asked.reading) => News::Read(page),
                () = self.wake.notified() => News::Woken,
                () = tokio::time::sleep_until(wake_at) => News::Late,
            };
            match news {
                News::Stop => break,
                News::Landed(landed) => self.land(landed),
                News::Settled(settled) => {
                    asked.settling = None;
                    self.settled(&std::mem::take(&mut asked.released), settled).await;
                }
                News::Read(page) => {
                    asked.reading = None;
                    self.take_up(page).await;
                }
                News::Woken => self.is_stale = true,
                News::Late if idle_since.is_some_and(|since| since.elapsed() >= LINGER) => return self.webhook,
                News::Late => self.is_stale |= self.is_due(),
            }
        }
        let webhook = self.webhook;
        self.end(asked).await;
        webhook
    }

    /// Returns when there is something to do that nothing else tells of.
    fn wake_at(&self, idle_since: Option<Instant>) -> Instant {
        let mut wake_in = SLEEP_MAX;
        let now_ms = self.shared.context.now_ms();
        let until = |at_ms: TimestampMs| Duration::from_millis(u64::try_from(at_ms - now_ms).unwrap_or(0));
        if let Some(due_ms) = self.next_due_ms {
            wake_in = wake_in.min(until(due_ms));
        }
        if !self.ready.is_empty() {
            if let Some(rest_ms) = self.rest_until_ms {
                wake_in = wake_in.min(until(rest_ms));
            } else if self.flying.len() < IN_FLIGHT {
                let now = monotonic();
                let next = self.pace.next_at(now).map(|next| next.saturating_duration_since(now));
                wake_in = wake_in.min(next.unwrap_or(NO_PLACE_PAUSE));
            }
        }
        if let Some(since) = idle_since {
            wake_in = wake_in.min((since + LINGER).saturating_duration_since(Instant::now()));
        }
        Instant::now() + wake_in
    }

    fn is_due(&self) -> bool {
        self.next_due_ms.is_some_and(|due_ms| due_ms <= self.shared.context.now_ms())
    }

    /// Begins what may begin.
    fn begin_requests(&mut self) {
        let now_ms = self.shared.context.now_ms();
        self.rest_until_ms = self.rest_until_ms.filter(|until_ms| *until_ms > now_ms);
        if self.ready.is_empty() {
            self.pace.rest(monotonic());
        }
        while !self.ready.is_empty()
            && self.rest_until_ms.is_none()
            && self.flying.len() < IN_FLIGHT
            && self.landed.len() < UNSETTLED_MAX
            // The endpoint has changed since it was read: it is read again before anything is sent.
            && self.read_at_change == self.shared.bell.changes()
            && self.pace.next_at(monotonic()).is_none()
        {
            let Some(endpoint) = self.endpoint.clone() else { break };
            let Ok(place) = Arc::clone(&self.shared.places).try_acquire_owned() else { break };
            let Some(mut session) = self.session(&endpoint) else { break };
            let Some(work) = self.ready.pop_front() else { break };
            self.pace.begin(monotonic());
            let (context, bell) = (self.shared.context.clone(), self.shared.bell.clone());
            let delivery = work.taken.delivery;
            bell.begin(delivery);
            self.flying.spawn(async move {
                let _place = place;
                let _attempting = Attempting { bell, delivery };
                let outcome = request::attempt(&context, &mut session, &endpoint, work).await;
                Landed { outcome, session }
            });
        }
    }

    /// Returns a connection to the endpoint; `None` when its URL is none that is allowed, and then
    /// what is ready has failed.
    fn session(&mut self, endpoint: &Endpoint) -> Option<Session> {
        if let Some(session) = self.sessions.pop() {
            return Some(session);
        }
        match CustomerUrl::parse(&endpoint.url, self.shared.client.policy()) {
            Ok(url) => Some(self.shared.client.session(url)),
            Err(error) => {
                let now_ms = self.shared.context.now_ms();
                let why = error.to_string();
                let not_sent = |work: Work| request::not_sent(&self.shared.context, work.taken, &why, now_ms);
                self.landed.extend(self.ready.drain(..).map(not_sent));
                None
            }
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
        let has_changed = self.read_at_change != self.shared.bell.changes();
        let wants_more = self.is_stale && self.ready.len() < PAGE_ROWS / 4 && self.held.len() < UNSETTLED_MAX;
        if asked.reading.is_none() && (has_changed || wants_more) {
            if has_changed {
                self.put_back();
            }
            self.is_stale = false;
            self.read_at_change = self.shared.bell.changes();
            let (context, webhook, held) = (self.shared.context.clone(), self.webhook, self.held.clone());
            asked.reading = Some(Box::pin(async move {
                let store = context.store.clone();
                store.read(move |tx| page::read(tx, &context, webhook, &held)).await
            }));
        }
    }

    /// Lets go of what is ready: it is read again, under the endpoint as it stands.
    fn put_back(&mut self) {
        for work in self.ready.drain(..) {
            self.held.remove(&work.taken.delivery);
        }
    }

    fn land(&mut self, landed: Option<Result<Landed, JoinError>>) {
        match landed {
            Some(Ok(Landed { outcome, session })) => {
                if let Fate::Tried { attempt: _, answered } = &outcome.fate
                    && let Some(wait_ms) = answered.asks_to_wait()
                {
                    let until_ms = self.shared.context.now_ms() + wait_ms;
                    self.rest_until_ms = Some(self.rest_until_ms.map_or(until_ms, |known| known.max(until_ms)));
                }
                let url = session.url().to_string();
                if self.endpoint.as_ref().is_some_and(|endpoint| endpoint.url == url) {
                    self.sessions.push(session);
                }
                self.landed.push(outcome);
            }
            Some(Err(panic)) => {
                // Which delivery it was nobody can say: all that is held is read again.
                error!(webhook = %self.webhook, "a webhook request panicked: {panic}");
                self.held = self.ready.iter().map(|work| work.taken.delivery).collect();
                self.held.extend(self.landed.iter().map(|outcome| outcome.taken.delivery));
                self.is_stale = true;
            }
            None => {}
        }
    }

    async fn settled(&mut self, released: &[WebhookDeliveryId], settled: Result<Standing, StoreError>) {
        for delivery in released {
            self.held.remove(delivery);
        }
        self.is_stale = true;
        match settled {
            Ok(Standing::Unchanged) => {}
            Ok(Standing::Disabled) => {
                self.endpoint = None;
                self.put_back();
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
        let is_moved = self.endpoint.as_ref().map(|old| &old.url) != endpoint.as_ref().map(|new| &new.url);
        if is_moved && endpoint.is_some() {
            self.sessions.clear();
        }
        if endpoint.is_some() || !work.is_empty() || !given_up.is_empty() {
            self.endpoint = endpoint.map(Arc::new);
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

    async fn pause(&self, what: &str, error: &StoreError) {
        error!(webhook = %self.webhook, %error, "{what}: {error}");
        tokio::time::sleep(FAILURE_PAUSE).await;
    }

    /// Lets requests under way finish, and writes down what they came to.
    async fn end(mut self, asked: Asked) {
        let deadline = Instant::now() + END_WITHIN;
        while let Ok(Some(landed)) = tokio::time::timeout_at(deadline, self.flying.join_next()).await {
            self.land(Some(landed));
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

/// Says that a request is under way, for as long as it lives.
struct Attempting {
    bell: WebhookBell,
    delivery: WebhookDeliveryId,
}

impl Drop for Attempting {
    fn drop(&mut self) {
        self.bell.end(self.delivery);
    }
}

/// Waits for an answer that may not have been asked for; then there is none.
async fn answered<T>(asked: &mut Option<Answer<T>>) -> Result<T, StoreError> {
    match asked {
        Some(answer) => answer.await,
        None => std::future::pending().await,
    }
}
