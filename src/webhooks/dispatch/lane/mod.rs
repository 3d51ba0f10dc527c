//! The lane of one endpoint: a task that sends the due deliveries of its queue.
//!
//! `machine.rs` decides. This file executes its commands: it acquires permits, starts requests on kept
//! connections, and loads from and commits to the store. `capacity.rs` counts the deliveries that the lanes can
//! still load. The count limits the fan-out.

use std::collections::HashMap;
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{self, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::error;

use self::capacity::CapacityGuard;
use self::machine::{LaneCommand, LaneEvent, LaneInput, LaneMachine, LoadGenerations};
use super::dispatcher::{DispatchNotifier, LaneRegistration};
use super::figures::WebhookAttemptCounts;
use super::page::{self, ClaimedDelivery, DueDeliveries, EndpointSnapshot, LoadRequest, ReadyDelivery};
use super::settle::{DeliveryOutcome, EndpointChange, settle};
use super::{DispatchSettings, request};
use crate::base::clock::monotonic;
use crate::base::id::WebhookId;
use crate::base::wakeup::Wakeup;
use crate::context::Context;
use crate::http_client::{HttpClient, HttpSession};
use crate::store::StoreError;

pub(super) use capacity::LaneCapacity;

mod capacity;
mod machine;
#[cfg(test)]
mod tests;

/// Time that requests in flight have after the stop.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(12);
/// Bytes that the outcome of a delivery writes, on average.
const OUTCOME_BYTES: usize = 1_024;
/// Response text of an attempt whose task panicked.
const PANICKED: &str = "this attempt failed inside the server";

/// The parts that all lanes share.
#[derive(Clone)]
pub(super) struct LaneContext {
    pub(super) context: Context,
    pub(super) notifier: DispatchNotifier,
    pub(super) client: HttpClient,
    pub(super) settings: DispatchSettings,
    pub(super) capacity: LaneCapacity,
    /// Permits for requests in flight, over all endpoints.
    pub(super) permits: Arc<Semaphore>,
    pub(super) counts: Arc<WebhookAttemptCounts>,
}

type LaneFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A request that has ended, with its connection.
struct FinishedRequest {
    outcome: DeliveryOutcome,
    session: HttpSession,
}

pub(super) struct WebhookLane {
    shared: LaneContext,
    webhook: WebhookId,
    wakeup: Arc<Wakeup>,
    registration: LaneRegistration,
    capacity: CapacityGuard,
    machine: LaneMachine,
    requests: JoinSet<FinishedRequest>,
    /// The delivery of each request in flight.
    claimed: HashMap<task::Id, ClaimedDelivery>,
    /// Connections without a request.
    sessions: Vec<HttpSession>,
    /// Permit for the next request.
    permit: Option<OwnedSemaphorePermit>,
    permit_request: Option<LaneFuture<OwnedSemaphorePermit>>,
    load: Option<LaneFuture<Result<DueDeliveries, StoreError>>>,
    commit: Option<LaneFuture<Result<EndpointChange, StoreError>>>,
}

impl WebhookLane {
    pub(super) fn new(shared: LaneContext, webhook: WebhookId, wakeup: Arc<Wakeup>) -> Self {
        Self {
            webhook,
            wakeup,
            registration: shared.notifier.register_lane(webhook),
            capacity: shared.capacity.register(webhook),
            machine: LaneMachine::new(shared.settings.per_second),
            requests: JoinSet::new(),
            claimed: HashMap::new(),
            sessions: Vec::new(),
            permit: None,
            permit_request: None,
            load: None,
            commit: None,
            shared,
        }
    }

    /// Sends deliveries until the lane is idle or stopped. Returns the endpoint.
    pub(super) async fn run(mut self, stop: CancellationToken) -> WebhookId {
        let webhook = self.webhook;
        loop {
            // Both decisions use one time: a request that may start between two of them would have no wake-up.
            let wake_in = loop {
                let input = self.input();
                match self.machine.next_command(input) {
                    Some(command) => {
                        if self.execute(command).is_break() {
                            return webhook;
                        }
                    }
                    None => break self.machine.wake_in(input),
                }
            };
            self.capacity.set(self.machine.capacity());
            let event = tokio::select! {
                // In this order: a load after a wake-up must not skip deliveries whose commit has ended.
                biased;
                () = stop.cancelled() => break,
                change = requested(&mut self.commit) => {
                    LaneEvent::Committed(logged(webhook, change, "could not store the outcomes of webhook deliveries"))
                }
                page = requested(&mut self.load) => {
                    let page = logged(webhook, page, "could not load the queue of a webhook");
                    LaneEvent::PageLoaded(page.map(Box::new))
                }
                Some(finished) = self.requests.join_next_with_id() => LaneEvent::Completed(self.finished(finished)),
                permit = requested(&mut self.permit_request) => {
                    self.permit = Some(permit);
                    LaneEvent::PermitAcquired
                }
                _ = self.wakeup.notified() => LaneEvent::Notified,
                () = tokio::time::sleep(wake_in) => LaneEvent::TimedOut,
            };
            self.machine.handle(event, self.input());
        }
        self.shut_down().await;
        webhook
    }

    fn input(&self) -> LaneInput {
        let generations = LoadGenerations {
            endpoint_version: self.registration.endpoint_version(),
            erasure_generation: self.shared.context.event_bus.erasure_generation(),
        };
        LaneInput { now_ms: self.shared.context.now_ms(), now: monotonic(), generations }
    }

    /// Executes a command. Returns [`ControlFlow::Break`] if the lane has nothing left to do.
    fn execute(&mut self, command: LaneCommand) -> ControlFlow<()> {
        match command {
            LaneCommand::AcquirePermit => self.acquire_permit(),
            LaneCommand::Send { endpoint, delivery } => self.send(endpoint, delivery),
            LaneCommand::Commit(outcomes) => {
                let (shared, webhook) = (self.shared.clone(), self.webhook);
                self.commit = Some(Box::pin(commit(shared, webhook, outcomes)));
            }
            LaneCommand::Load { erasure_generation, held } => {
                let (shared, webhook) = (self.shared.clone(), self.webhook);
                self.load = Some(Box::pin(async move {
                    let LaneContext { context, client, .. } = shared;
                    let (store, request) = (context.store.clone(), LoadRequest { webhook, erasure_generation, held });
                    store.read(move |tx| page::load(tx, &context, client.policy(), &request)).await
                }));
            }
            LaneCommand::CancelLoad => self.load = None,
            LaneCommand::ReleaseIdle => {
                (self.permit, self.permit_request) = (None, None);
                self.sessions.retain_mut(HttpSession::is_open);
            }
            LaneCommand::Finish => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    }

    fn acquire_permit(&mut self) {
        let permits = Arc::clone(&self.shared.permits);
        if let Ok(permit) = Arc::clone(&permits).try_acquire_owned() {
            self.permit = Some(permit);
            self.machine.handle(LaneEvent::PermitAcquired, self.input());
        } else {
            // The semaphore serves the lanes in the order of their requests.
            self.permit_request =
                Some(Box::pin(async move { permits.acquire_owned().await.expect("the semaphore is never closed") }));
        }
    }

    fn send(&mut self, endpoint: Arc<EndpointSnapshot>, delivery: ReadyDelivery) {
        let permit = self.permit.take().expect("the machine sends after it has acquired a permit");
        self.sessions.retain(|session| *session.url() == endpoint.url);
        let unused = self.sessions.pop();
        let mut session = unused.unwrap_or_else(|| self.shared.client.session(endpoint.url.clone()));
        let (context, claimed, sent_ms) = (self.shared.context.clone(), delivery.claimed, self.shared.context.now_ms());
        let guard = self.shared.notifier.attempt_started(claimed.delivery);
        let task = self.requests.spawn(async move {
            let (_permit, _guard) = (permit, guard);
            let outcome = request::send(&context, &mut session, &endpoint, delivery, sent_ms).await;
            FinishedRequest { outcome, session }
        });
        self.claimed.insert(task.id(), claimed);
    }

    fn finished(&mut self, finished: Result<(task::Id, FinishedRequest), JoinError>) -> DeliveryOutcome {
        let outcome = self.outcome(finished);
        self.shared.counts.record(&outcome);
        outcome
    }

    fn outcome(&mut self, finished: Result<(task::Id, FinishedRequest), JoinError>) -> DeliveryOutcome {
        match finished {
            Ok((task, FinishedRequest { outcome, session })) => {
                self.claimed.remove(&task);
                self.sessions.push(session);
                outcome
            }
            Err(panic) => {
                error!(webhook.id = %self.webhook, "a webhook request panicked: {panic}");
                let claimed = self.claimed.remove(&panic.id()).expect("`send` records the delivery of each task");
                DeliveryOutcome::not_sent(claimed, self.shared.context.now_ms(), PANICKED)
            }
        }
    }

    /// Waits for the requests in flight, up to [`SHUTDOWN_TIMEOUT`], and stores all outcomes.
    async fn shut_down(mut self) {
        let mut late = Vec::new();
        let wait = async {
            while let Some(finished) = self.requests.join_next_with_id().await {
                late.push(self.finished(finished));
            }
        };
        // Deliveries without an outcome stay in the queue.
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, wait).await;
        let what = "could not store the last outcomes of webhook deliveries";
        if let Some(commit) = self.commit.take() {
            logged(self.webhook, commit.await, what);
        }
        let outcomes: Vec<DeliveryOutcome> = self.machine.take_outcomes().into_iter().chain(late).collect();
        if !outcomes.is_empty() {
            logged(self.webhook, commit(self.shared.clone(), self.webhook, outcomes).await, what);
        }
    }
}

fn logged<T>(webhook: WebhookId, result: Result<T, StoreError>, what: &str) -> Option<T> {
    result.inspect_err(|error| error!(webhook.id = %webhook, %error, "{what}: {error}")).ok()
}

async fn commit(
    shared: LaneContext,
    webhook: WebhookId,
    outcomes: Vec<DeliveryOutcome>,
) -> Result<EndpointChange, StoreError> {
    let (context, bytes) = (shared.context, outcomes.len() * OUTCOME_BYTES);
    let store = context.store.clone();
    store.write_bulk_sized(bytes, move |tx| settle(tx, &context, webhook, &outcomes)).await
}

/// Waits for the future, or forever if it is `None`. Then sets it to `None`. Cancel safe.
async fn requested<T>(future: &mut Option<LaneFuture<T>>) -> T {
    let Some(running) = future else { return std::future::pending().await };
    let output = running.await;
    *future = None;
    output
}
