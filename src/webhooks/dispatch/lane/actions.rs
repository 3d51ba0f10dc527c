//! What a lane does when something has come: begins requests, asks the store, takes up what it answers.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tracing::error;

use super::{Lane, SLEEP_MAX, StoreRequests, UNSETTLED_MAX};
use crate::base::clock::monotonic;
use crate::base::id::WebhookDeliveryId;
use crate::store::StoreError;
use crate::webhooks::dispatch::in_flight::{CannotSend, CompletedAttempt};
use crate::webhooks::dispatch::page::{self, DueDeliveries, PAGE_ROWS, ReadyDelivery};
use crate::webhooks::dispatch::request;
use crate::webhooks::dispatch::settle::{DeliveryDisposition, DeliveryOutcome, EndpointChange, settle};
use crate::webhooks::{ExhaustedReason, retry};

/// The pause after a failure of the store; it doubles up to [`SLEEP_MAX`].
const FAILURE_PAUSE: Duration = Duration::from_secs(1);
/// What an attempt says whose endpoint does not read.
const UNREADABLE: &str = "this webhook could not be read: make it anew";

impl Lane {
    /// Begins what may begin.
    pub(super) fn begin_requests(&mut self) {
        let now_ms = self.shared.context.now_ms();
        self.cooldown_until_ms = self.cooldown_until_ms.filter(|until_ms| *until_ms > now_ms);
        self.store_retry_at = self.store_retry_at.filter(|until| *until > Instant::now());
        if self.ready.is_empty() {
            self.pace.rest(monotonic());
        }
        while self.cooldown_until_ms.is_none()
            && self.store_retry_at.is_none()
            && self.flight.has_room()
            && self.landed.len() < UNSETTLED_MAX
            // What has changed since is read again before anything is sent.
            && self.seen == Some(self.current_generations())
            && self.pace.next_at(monotonic()).is_none()
        {
            let (Some(endpoint), Some(work)) = (self.endpoint.clone(), self.ready.front()) else { break };
            if retry::is_expired(work.queued_ms, now_ms) {
                let taken = work.taken;
                self.ready.pop_front();
                self.landed
                    .push(DeliveryOutcome { taken, fate: DeliveryDisposition::GivenUp(ExhaustedReason::Expired) });
                continue;
            }
            match self.flight.prepare(&endpoint) {
                Ok(()) => {}
                Err(CannotSend::NoPermit) => break,
                Err(CannotSend::UrlNotAllowed(why)) => {
                    let context = &self.shared.context;
                    let not_sent = |work: ReadyDelivery| request::not_sent(context, work.taken, &why);
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
    pub(super) fn start_store_requests(&mut self, asked: &mut StoreRequests) {
        if self.store_retry_at.is_some() {
            return;
        }
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
        let has_changed = self.seen != Some(self.current_generations());
        let has_room = self.ready.len() < PAGE_ROWS / 4 && self.held.len() < UNSETTLED_MAX;
        let wants_more = self.needs_reload && has_room && self.cooldown_until_ms.is_none();
        if asked.reading.is_some() || !(has_changed || wants_more) {
            return;
        }
        if has_changed {
            self.discard_ready();
        }
        self.needs_reload = false;
        let seen = self.current_generations();
        self.seen = Some(seen);
        let (context, webhook, held) = (self.shared.context.clone(), self.webhook, self.held.clone());
        asked.reading = Some(Box::pin(async move {
            let store = context.store.clone();
            store.read(move |tx| page::read(tx, &context, webhook, seen.erasures, &held)).await
        }));
    }

    /// Lets go of what is ready: it is read again, under the endpoint as it stands.
    fn discard_ready(&mut self) {
        for work in self.ready.drain(..) {
            self.held.remove(&work.taken.delivery);
        }
        self.needs_reload = true;
    }

    pub(super) fn complete(&mut self, ended: CompletedAttempt) {
        let CompletedAttempt { outcome, url_changed: is_elsewhere } = ended;
        // What another URL asks for says nothing of this one.
        if !is_elsewhere
            && let DeliveryDisposition::Attempted { attempt: _, answered, erasures: _ } = &outcome.fate
            && let Some(wait_ms) = answered.retry_after_ms()
        {
            let until_ms = self.shared.context.now_ms() + wait_ms;
            self.cooldown_until_ms = Some(self.cooldown_until_ms.map_or(until_ms, |known| known.max(until_ms)));
            // Bodies are not kept in memory for as long as an endpoint likes.
            self.discard_ready();
            self.watch.set_saturated(true);
        }
        self.landed.push(outcome);
    }

    pub(super) fn settled(&mut self, released: &[WebhookDeliveryId], settled: Result<EndpointChange, StoreError>) {
        for delivery in released {
            self.held.remove(delivery);
        }
        self.needs_reload = true;
        match settled {
            Ok(standing) => {
                self.failures = 0;
                if standing == EndpointChange::Disabled {
                    (self.endpoint, self.cooldown_until_ms) = (None, None);
                    self.discard_ready();
                }
            }
            // They are in the queue still, and are sent again.
            Err(error) => self.pause("the outcomes of webhook deliveries could not be stored", &error),
        }
    }

    pub(super) fn apply_page(&mut self, page: Result<DueDeliveries, StoreError>) {
        let DueDeliveries { endpoint, work, unsendable, exhausted: given_up, orphaned: stray, next_due_ms, is_more } =
            match page {
                Ok(page) => page,
                Err(error) => {
                    self.needs_reload = true;
                    return self.pause("the queue of a webhook could not be read", &error);
                }
            };
        if let Some(endpoint) = endpoint {
            if self.endpoint.as_ref().is_none_or(|old| old.url != endpoint.url) {
                self.flight.close();
                // Another URL has asked for nothing.
                self.cooldown_until_ms = None;
            }
            self.endpoint = Some(Arc::new(endpoint));
        } else if !given_up.is_empty() || !unsendable.is_empty() {
            // Nothing is sent that could come too early.
            (self.endpoint, self.cooldown_until_ms) = (None, None);
        }
        self.next_due_ms = next_due_ms;
        self.needs_reload |= is_more;
        self.watch.set_saturated(is_more || self.cooldown_until_ms.is_some());
        let ended =
            given_up.into_iter().map(|(taken, why)| DeliveryOutcome { taken, fate: DeliveryDisposition::GivenUp(why) });
        let stray = stray.into_iter().map(|taken| DeliveryOutcome { taken, fate: DeliveryDisposition::Orphaned });
        let context = &self.shared.context;
        let unsendable = unsendable.into_iter().map(|taken| request::not_sent(context, taken, UNREADABLE));
        for outcome in ended.chain(stray).chain(unsendable) {
            self.held.insert(outcome.taken.delivery);
            self.landed.push(outcome);
        }
        if self.cooldown_until_ms.is_some() {
            // It was read because something has changed; bodies are not kept through a rest.
            self.needs_reload |= !work.is_empty();
            return;
        }
        for work in work {
            if self.held.insert(work.taken.delivery) {
                self.ready.push_back(work);
            }
        }
    }

    fn pause(&mut self, what: &str, error: &StoreError) {
        error!(webhook = %self.webhook, %error, "{what}: {error}");
        let pause = FAILURE_PAUSE * 2_u32.saturating_pow(self.failures.min(6));
        self.failures += 1;
        self.store_retry_at = Some(Instant::now() + pause.min(SLEEP_MAX));
    }
}
