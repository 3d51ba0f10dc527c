//! Decisions of a lane: events in, commands out. Pure: no store, no socket, no clock.
//!
//! The driver passes each event to [`LaneMachine::handle`]. Then it executes the commands of
//! [`LaneMachine::next_command`] until that returns `None`, and waits for the next event, at most for the duration
//! of [`LaneMachine::wake_in`].

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::base::clock::TimestampMs;
use crate::base::id::WebhookDeliveryId;
use crate::webhooks::dispatch::IN_FLIGHT;
use crate::webhooks::dispatch::page::{DueDeliveries, EndpointSnapshot, LoadedEndpoint, PAGE_ROWS, ReadyDelivery};
use crate::webhooks::dispatch::settle::{DeliveryDisposition, DeliveryOutcome, EndpointChange};
use crate::webhooks::{ExhaustedReason, retry};

/// Outcomes that may wait for a commit. With more, no request starts and no page is loaded.
const UNSETTLED_MAX: usize = 512;
/// Deliveries that a lane holds: those of one load, and those that wait for a commit, without their bodies.
pub(super) const HELD_MAX: usize = UNSETTLED_MAX + PAGE_ROWS;
/// Lifetime of a lane without work, and of its connections.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest time without an event: due times use the wall clock, which can be set.
const SLEEP_MAX: Duration = Duration::from_secs(60);
/// Pause after a failure of the store. Doubles with each further failure, up to [`SLEEP_MAX`].
const FAILURE_PAUSE: Duration = Duration::from_secs(1);
/// Delay that a lane may catch up with requests at short intervals, such as a delay by a busy machine.
const CATCH_UP: Duration = Duration::from_millis(100);

/// Counters that must be unchanged between the load of a delivery and its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LoadGenerations {
    /// Changes of the endpoint since the lane started.
    pub(super) endpoint_version: u64,
    pub(super) erasure_generation: u64,
}

/// Values that change without an event.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaneInput {
    pub(super) now_ms: TimestampMs,
    pub(super) now: Instant,
    pub(super) generations: LoadGenerations,
}

#[derive(Debug)]
pub(super) enum LaneEvent {
    /// The endpoint or its queue may have changed.
    Notified,
    /// The duration of [`LaneMachine::wake_in`] has passed.
    TimedOut,
    /// The permit of [`LaneCommand::AcquirePermit`].
    PermitAcquired,
    /// A request has ended.
    Completed(DeliveryOutcome),
    /// The result of [`LaneCommand::Commit`]; `None` if the store failed.
    Committed(Option<EndpointChange>),
    /// The result of [`LaneCommand::Load`]; `None` if the store failed.
    PageLoaded(Option<Box<DueDeliveries>>),
}

#[derive(Debug)]
pub(super) enum LaneCommand {
    /// Acquire a permit for one request, of those that all lanes share.
    AcquirePermit,
    /// Start a request with the permit.
    Send { endpoint: Arc<EndpointSnapshot>, delivery: ReadyDelivery },
    /// Store outcomes. At most one commit is in progress.
    Commit(Vec<DeliveryOutcome>),
    /// Load the endpoint and its due deliveries, except those in `held`. At most one load is in progress.
    Load { erasure_generation: u64, held: HashSet<WebhookDeliveryId> },
    /// Drop the load in progress.
    CancelLoad,
    /// Release the permit and the unused connections that are closed or expired: no delivery is ready.
    ReleaseIdle,
    /// End the lane.
    Finish,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PermitState {
    #[default]
    Released,
    Requested,
    Acquired,
}

#[derive(Debug, Default)]
pub(super) struct LaneMachine {
    pacer: RequestPacer,
    /// `None` until the first load, and while the endpoint is disabled or corrupt.
    endpoint: Option<Arc<EndpointSnapshot>>,
    /// Generations at the start of the last load.
    loaded_generations: Option<LoadGenerations>,
    ready: VecDeque<ReadyDelivery>,
    /// Deliveries that are ready, in flight or waiting for their commit.
    held: HashSet<WebhookDeliveryId>,
    /// Deliveries in flight, each with the endpoint at its start.
    in_flight: HashMap<WebhookDeliveryId, Arc<EndpointSnapshot>>,
    permit: PermitState,
    /// Outcomes that wait for a commit.
    outcomes: Vec<DeliveryOutcome>,
    /// Deliveries of the commit in progress.
    committing: Option<Vec<WebhookDeliveryId>>,
    is_loading: bool,
    /// Whether the queue may contain due deliveries that are not held.
    needs_reload: bool,
    next_due_ms: Option<TimestampMs>,
    cooldown_until_ms: Option<TimestampMs>,
    is_saturated: bool,
    /// Failures of the store since the last commit.
    failures: u32,
    /// End of the pause after a failure of the store.
    store_retry_at: Option<Instant>,
    idle_since: Option<Instant>,
    /// Whether an event has occurred since the last [`LaneCommand::ReleaseIdle`].
    can_release: bool,
    /// Commands that follow directly from events.
    commands: VecDeque<LaneCommand>,
}

impl LaneMachine {
    /// Returns the machine of a lane that starts at most `per_second` requests a second; 0 is no limit.
    pub(super) fn new(per_second: u32) -> Self {
        Self { pacer: RequestPacer::new(per_second), needs_reload: true, ..Self::default() }
    }

    /// Returns the number of deliveries that the lane can still load, at most [`HELD_MAX`]. It is 0 only if the
    /// endpoint has more due deliveries than the lane can load or is in cooldown.
    pub(super) fn capacity(&self) -> usize {
        if self.is_saturated { 0 } else { HELD_MAX.saturating_sub(self.held.len()).max(1) }
    }

    /// Takes the outcomes that no commit contains yet.
    pub(super) fn take_outcomes(&mut self) -> Vec<DeliveryOutcome> {
        std::mem::take(&mut self.outcomes)
    }

    pub(super) fn handle(&mut self, event: LaneEvent, input: LaneInput) {
        self.can_release = true;
        match event {
            LaneEvent::Notified => self.needs_reload = true,
            LaneEvent::TimedOut => self.timed_out(input),
            LaneEvent::PermitAcquired => self.permit = PermitState::Acquired,
            LaneEvent::Completed(outcome) => self.completed(outcome, input.now_ms),
            LaneEvent::Committed(change) => self.committed(change, input.now),
            LaneEvent::PageLoaded(page) => self.page_loaded(page, input.now),
        }
    }

    /// Returns the next command; `None` if the lane has to wait for an event.
    pub(super) fn next_command(&mut self, input: LaneInput) -> Option<LaneCommand> {
        self.cooldown_until_ms = self.cooldown_until_ms.filter(|until_ms| retry::is_cooldown(*until_ms, input.now_ms));
        self.store_retry_at = self.store_retry_at.filter(|retry_at| *retry_at > input.now);
        let queued = self.commands.pop_front();
        let command = queued
            .or_else(|| self.next_request(input))
            .or_else(|| self.next_commit())
            .or_else(|| self.next_load(input.generations))
            .or_else(|| self.release_idle());
        if command.is_none() {
            self.idle_since = self.is_idle().then(|| self.idle_since.unwrap_or(input.now));
        }
        command
    }

    /// Returns the time until [`LaneEvent::TimedOut`].
    pub(super) fn wake_in(&self, input: LaneInput) -> Duration {
        let mut wake_in = SLEEP_MAX;
        // No request starts before the end of the cooldown, even if a delivery becomes due.
        if let Some(at_ms) = self.cooldown_until_ms.or(self.next_due_ms) {
            wake_in = wake_in.min(Duration::from_millis(u64::try_from(at_ms - input.now_ms).unwrap_or(0)));
        }
        let has_request =
            !self.ready.is_empty() && self.cooldown_until_ms.is_none() && self.in_flight.len() < IN_FLIGHT;
        let request_at = self.pacer.next_at(input.now).filter(|_| has_request);
        let idle_end = self.idle_since.map(|since| since + IDLE_TIMEOUT);
        for at in [request_at, self.store_retry_at, idle_end].into_iter().flatten() {
            wake_in = wake_in.min(at.saturating_duration_since(input.now));
        }
        wake_in
    }

    /// Returns whether the lane has no work and expects none. A lane in cooldown is not idle: a new lane of the
    /// same endpoint would not know about the cooldown.
    fn is_idle(&self) -> bool {
        let is_waiting =
            self.next_due_ms.is_some() || self.cooldown_until_ms.is_some() || self.store_retry_at.is_some();
        self.held.is_empty() && !self.is_loading && !is_waiting
    }

    fn next_request(&mut self, input: LaneInput) -> Option<LaneCommand> {
        if self.ready.is_empty() {
            self.pacer.discard_unused(input.now);
        }
        while self.can_send(input) {
            let endpoint = self.endpoint.clone()?;
            let next = self.ready.front()?;
            if retry::is_expired(next.queued_ms, input.now_ms) {
                let claimed = self.ready.pop_front()?.claimed;
                let disposition = DeliveryDisposition::GivenUp(ExhaustedReason::Expired);
                self.outcomes.push(DeliveryOutcome { claimed, disposition });
                continue;
            }
            match self.permit {
                PermitState::Released => {
                    self.permit = PermitState::Requested;
                    return Some(LaneCommand::AcquirePermit);
                }
                PermitState::Requested => return None,
                PermitState::Acquired => {}
            }
            let delivery = self.ready.pop_front()?;
            self.permit = PermitState::Released;
            self.in_flight.insert(delivery.claimed.delivery, Arc::clone(&endpoint));
            self.pacer.start(input.now);
            return Some(LaneCommand::Send { endpoint, delivery });
        }
        None
    }

    fn can_send(&self, input: LaneInput) -> bool {
        self.cooldown_until_ms.is_none()
            && self.store_retry_at.is_none()
            && self.in_flight.len() < IN_FLIGHT
            && self.outcomes.len() < UNSETTLED_MAX
            // After a change, the endpoint and the bodies are loaded again before the next request.
            && self.loaded_generations == Some(input.generations)
            && self.pacer.next_at(input.now).is_none()
    }

    fn next_commit(&mut self) -> Option<LaneCommand> {
        if self.store_retry_at.is_some() || self.committing.is_some() || self.outcomes.is_empty() {
            return None;
        }
        let outcomes = std::mem::take(&mut self.outcomes);
        self.committing = Some(outcomes.iter().map(|outcome| outcome.claimed.delivery).collect());
        Some(LaneCommand::Commit(outcomes))
    }

    fn next_load(&mut self, generations: LoadGenerations) -> Option<LaneCommand> {
        if self.store_retry_at.is_some() || self.is_loading {
            return None;
        }
        let has_changed = self.loaded_generations != Some(generations);
        let has_room = self.ready.len() < PAGE_ROWS / 4 && self.held.len() < UNSETTLED_MAX;
        let wants_more = self.needs_reload && has_room && self.cooldown_until_ms.is_none();
        if !(has_changed || wants_more) {
            return None;
        }
        if has_changed {
            self.discard_ready();
        }
        // A load can add outcomes, which a commit must store first.
        if self.held.len() >= UNSETTLED_MAX {
            return None;
        }
        self.needs_reload = false;
        self.is_loading = true;
        self.loaded_generations = Some(generations);
        Some(LaneCommand::Load { erasure_generation: generations.erasure_generation, held: self.held.clone() })
    }

    fn release_idle(&mut self) -> Option<LaneCommand> {
        if !self.can_release || !self.in_flight.is_empty() || !self.ready.is_empty() {
            return None;
        }
        self.can_release = false;
        self.permit = PermitState::Released;
        Some(LaneCommand::ReleaseIdle)
    }

    /// Drops the ready deliveries. The next load reads them again, with the current endpoint.
    fn discard_ready(&mut self) {
        for delivery in self.ready.drain(..) {
            self.held.remove(&delivery.claimed.delivery);
        }
        self.needs_reload = true;
    }

    fn timed_out(&mut self, input: LaneInput) {
        if self.idle_since.is_some_and(|since| input.now.saturating_duration_since(since) >= IDLE_TIMEOUT) {
            self.commands.push_back(LaneCommand::Finish);
        } else if self.next_due_ms.is_some_and(|due_ms| due_ms <= input.now_ms) {
            self.next_due_ms = None;
            self.needs_reload = true;
        }
    }

    fn completed(&mut self, outcome: DeliveryOutcome, now_ms: TimestampMs) {
        let sent_to = self.in_flight.remove(&outcome.claimed.delivery);
        let is_current =
            sent_to.zip(self.endpoint.as_ref()).is_some_and(|(sent_to, endpoint)| sent_to.url == endpoint.url);
        // A cooldown applies to the URL that asked for it.
        if is_current && let Some(wait_ms) = outcome.retry_after_ms() {
            self.cooldown_until_ms = self.cooldown_until_ms.max(Some(now_ms + wait_ms));
            // Otherwise the endpoint would decide how long the bodies stay in memory.
            self.discard_ready();
            self.is_saturated = true;
        }
        self.outcomes.push(outcome);
    }

    fn committed(&mut self, change: Option<EndpointChange>, now: Instant) {
        for delivery in self.committing.take().unwrap_or_default() {
            self.held.remove(&delivery);
        }
        self.needs_reload = true;
        match change {
            Some(EndpointChange::Unchanged) => self.failures = 0,
            Some(EndpointChange::Disabled) => {
                self.failures = 0;
                (self.endpoint, self.cooldown_until_ms) = (None, None);
                self.discard_ready();
                // The load may have started before the endpoint was disabled.
                self.is_loading = false;
                self.commands.push_back(LaneCommand::CancelLoad);
            }
            // The deliveries are still in the queue and are sent again.
            None => self.delay_store_requests(now),
        }
    }

    fn page_loaded(&mut self, page: Option<Box<DueDeliveries>>, now: Instant) {
        self.is_loading = false;
        let Some(page) = page else {
            self.needs_reload = true;
            return self.delay_store_requests(now);
        };
        let DueDeliveries { endpoint, ready, outcomes, next_due_ms, has_more } = *page;
        match endpoint {
            LoadedEndpoint::Enabled(endpoint) => {
                if self.endpoint.as_ref().is_none_or(|before| before.url != endpoint.url) {
                    // A cooldown applies to the URL that asked for it.
                    self.cooldown_until_ms = None;
                }
                self.endpoint = Some(endpoint);
            }
            LoadedEndpoint::Unavailable => (self.endpoint, self.cooldown_until_ms) = (None, None),
            LoadedEndpoint::NotRead => {}
        }
        self.next_due_ms = next_due_ms;
        self.needs_reload |= has_more;
        self.is_saturated = has_more || self.cooldown_until_ms.is_some();
        self.held.extend(outcomes.iter().map(|outcome| outcome.claimed.delivery));
        self.outcomes.extend(outcomes);
        if self.cooldown_until_ms.is_some() {
            // The load was caused by a change. Bodies do not stay in memory during a cooldown.
            self.needs_reload |= !ready.is_empty();
            return;
        }
        for delivery in ready {
            if self.held.insert(delivery.claimed.delivery) {
                self.ready.push_back(delivery);
            }
        }
    }

    fn delay_store_requests(&mut self, now: Instant) {
        let pause = FAILURE_PAUSE * 2_u32.saturating_pow(self.failures.min(6));
        self.failures += 1;
        self.store_retry_at = Some(now + pause.min(SLEEP_MAX));
    }
}

/// Rate limit of one endpoint: spreads the starts of its requests evenly.
#[derive(Debug, Default)]
pub(super) struct RequestPacer {
    /// Time between two starts; `None` if there is no limit.
    interval: Option<Duration>,
    /// Earliest time of the next start.
    next: Option<Instant>,
}

impl RequestPacer {
    /// Returns a pacer of `per_second` starts; 0 is no limit.
    pub(super) fn new(per_second: u32) -> Self {
        let interval = (per_second > 0).then(|| Duration::from_secs(1) / per_second);
        Self { interval, next: None }
    }

    /// Returns the time at which the next request may start; `None` if it may start immediately.
    pub(super) fn next_at(&self, now: Instant) -> Option<Instant> {
        self.next.filter(|next| *next > now)
    }

    /// Records the start of a request.
    pub(super) fn start(&mut self, now: Instant) {
        let Some(interval) = self.interval else { return };
        let earliest = now.checked_sub(CATCH_UP).unwrap_or(now);
        let from = self.next.map_or(now, |next| next.max(earliest));
        self.next = Some(from + interval);
    }

    /// Forgets the unused starts of a time without ready deliveries, so that no burst follows.
    pub(super) fn discard_unused(&mut self, now: Instant) {
        self.next = self.next.filter(|next| *next > now);
    }
}
