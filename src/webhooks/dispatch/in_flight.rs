//! Requests of one endpoint that are under way, and the connections they leave.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::{AcquireError, OwnedSemaphorePermit};
use tokio::task::{self, JoinError, JoinSet};
use tracing::error;

use super::IN_FLIGHT;
use super::lane::LaneContext;
use super::page::{ClaimedDelivery, EndpointSnapshot, ReadyDelivery};
use super::request;
use super::settle::DeliveryOutcome;
use crate::base::clock::TimestampMs;
use crate::base::id::WebhookDeliveryId;
use crate::http_client::{CustomerUrl, HttpSession};
use crate::webhooks::DispatchNotifier;

/// What an attempt says whose request ended in a panic.
const FAILED_INSIDE: &str = "this attempt failed inside the server";

/// A request that has ended.
struct FinishedRequest {
    outcome: DeliveryOutcome,
    session: HttpSession,
}

/// What a request came to.
pub(super) struct CompletedAttempt {
    pub(super) outcome: DeliveryOutcome,
    /// Whether it went to a URL that is not the endpoint's any more.
    pub(super) url_changed: bool,
}

/// Waiting for a place among the requests to all endpoints.
type Waiting = Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send>>;

/// The requests of one endpoint.
pub(super) struct InFlight {
    shared: LaneContext,
    flying: JoinSet<FinishedRequest>,
    /// What each of them carries, by its task.
    taken: HashMap<task::Id, ClaimedDelivery>,
    sessions: Vec<HttpSession>,
    /// A place for the next request.
    permit: Option<OwnedSemaphorePermit>,
    waiting: Option<Waiting>,
}

/// Why no request begins.
pub(super) enum CannotSend {
    /// Requests to other endpoints have taken all places; [`InFlight::next`] tells when there is one.
    NoPermit,
    /// The endpoint's URL is none that is allowed, and why.
    UrlNotAllowed(String),
}

impl InFlight {
    pub(super) fn new(shared: LaneContext) -> Self {
        Self {
            shared,
            flying: JoinSet::new(),
            taken: HashMap::new(),
            sessions: Vec::new(),
            permit: None,
            waiting: None,
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.flying.len() < IN_FLIGHT
    }

    pub(super) fn is_empty(&self) -> bool {
        self.flying.is_empty()
    }

    /// Makes ready for one more request: a place among all, and a connection.
    pub(super) fn prepare(&mut self, endpoint: &EndpointSnapshot) -> Result<(), CannotSend> {
        if self.permit.is_none() {
            let places = Arc::clone(&self.shared.permits);
            match Arc::clone(&places).try_acquire_owned() {
                Ok(place) => self.permit = Some(place),
                Err(_) => {
                    // In turn with the lanes of other endpoints.
                    self.waiting.get_or_insert_with(|| Box::pin(places.acquire_owned()));
                    return Err(CannotSend::NoPermit);
                }
            }
        }
        if self.sessions.is_empty() {
            let url = CustomerUrl::parse(&endpoint.url, self.shared.client.policy())
                .map_err(|error| CannotSend::UrlNotAllowed(error.to_string()))?;
            self.sessions.push(self.shared.client.session(url));
        }
        Ok(())
    }

    /// Begins a request that was made ready for.
    pub(super) fn begin(&mut self, endpoint: Arc<EndpointSnapshot>, work: ReadyDelivery, now_ms: TimestampMs) {
        let (Some(place), Some(mut session)) = (self.permit.take(), self.sessions.pop()) else { return };
        let (context, taken) = (self.shared.context.clone(), work.taken);
        let attempting = AttemptGuard::new(self.shared.bell.clone(), taken.delivery);
        let task = self.flying.spawn(async move {
            let (_place, _attempting) = (place, attempting);
            let outcome = request::attempt(&context, &mut session, &endpoint, work, now_ms).await;
            FinishedRequest { outcome, session }
        });
        self.taken.insert(task.id(), taken);
    }

    /// Waits for the next request to end, whose connection is kept for the next one to `url`, or for a
    /// place that is waited for, and then there is no outcome. Never ends when there is neither.
    pub(super) async fn next(&mut self, url: Option<&str>) -> Option<CompletedAttempt> {
        let is_empty = self.flying.is_empty();
        tokio::select! {
            Some(ended) = self.flying.join_next_with_id(), if !is_empty => Some(self.landed(ended, url)),
            place = placed(&mut self.waiting) => {
                self.waiting = None;
                self.permit = place;
                None
            }
        }
    }

    fn landed(&mut self, ended: Result<(task::Id, FinishedRequest), JoinError>, url: Option<&str>) -> CompletedAttempt {
        match ended {
            Ok((task, FinishedRequest { outcome, session })) => {
                self.taken.remove(&task);
                let is_elsewhere = Some(session.url().to_string().as_str()) != url;
                if !is_elsewhere {
                    self.sessions.push(session);
                }
                CompletedAttempt { outcome, url_changed: is_elsewhere }
            }
            Err(panic) => {
                error!("a webhook request panicked: {panic}");
                let taken = self.taken.remove(&panic.id()).expect("every request that flies is known by its task");
                CompletedAttempt {
                    outcome: request::not_sent(&self.shared.context, taken, FAILED_INSIDE),
                    url_changed: false,
                }
            }
        }
    }

    /// Gives up what is kept for a next request that does not come: the place, and connections that have
    /// waited for too long or that the other side has closed.
    pub(super) fn release_idle(&mut self) {
        (self.permit, self.waiting) = (None, None);
        self.sessions.retain_mut(HttpSession::is_open);
    }

    /// Closes the connections that carry nothing.
    pub(super) fn close(&mut self) {
        self.sessions.clear();
    }
}

/// Waits for a place that may not be waited for.
async fn placed(waiting: &mut Option<Waiting>) -> Option<OwnedSemaphorePermit> {
    match waiting {
        Some(waiting) => waiting.await.ok(),
        None => std::future::pending().await,
    }
}

/// Says that a request is under way, for as long as it lives.
struct AttemptGuard {
    bell: DispatchNotifier,
    delivery: WebhookDeliveryId,
}

impl AttemptGuard {
    fn new(bell: DispatchNotifier, delivery: WebhookDeliveryId) -> Self {
        bell.attempt_started(delivery);
        Self { bell, delivery }
    }
}

impl Drop for AttemptGuard {
    fn drop(&mut self) {
        self.bell.attempt_finished(self.delivery);
    }
}
