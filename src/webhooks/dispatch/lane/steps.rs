//! What a lane does when something has come: begins requests, asks the store, takes up what it answers.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tracing::error;

use super::{Asked, Lane, SLEEP_MAX, UNSETTLED_MAX};
use crate::clock::monotonic;
use crate::id::WebhookDeliveryId;
use crate::store::StoreError;
use crate::webhooks::dispatch::flight::{Ended, Held};
use crate::webhooks::dispatch::page::{self, PAGE_ROWS, Page, Work};
use crate::webhooks::dispatch::request;
use crate::webhooks::dispatch::settle::{Fate, Outcome, Standing, settle};
use crate::webhooks::{Exhaustion, ladder};

/// The pause after a failure of the store; it doubles up to [`SLEEP_MAX`].
const FAILURE_PAUSE: Duration = Duration::from_secs(1);
/// What an attempt says whose endpoint does not read.
const UNREADABLE: &str = "this webhook could not be read: make it anew";

impl Lane {
    /// Begins what may begin.
    pub(super) fn begin_requests(&mut self) {
        let now_ms = self.shared.context.now_ms();
        self.rest_until_ms = self.rest_until_ms.filter(|until_ms| *until_ms > now_ms);
        self.paused_until = self.paused_until.filter(|until| *until > Instant::now());
        if self.ready.is_empty() {
            self.pace.rest(monotonic());
        }
        while self.rest_until_ms.is_none()
            && self.paused_until.is_none()
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
    pub(super) fn ask(&mut self, asked: &mut Asked) {
        if self.paused_until.is_some() {
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
        let seen = self.now_seen();
        self.seen = Some(seen);
        let (context, webhook, held) = (self.shared.context.clone(), self.webhook, self.held.clone());
        asked.reading = Some(Box::pin(async move {
            let store = context.store.clone();
            store.read(move |tx| page::read(tx, &context, webhook, seen.erasures, &held)).await
        }));
    }

    /// Lets go of what is ready: it is read again, under the endpoint as it stands.
    fn put_back(&mut self) {
        for work in self.ready.drain(..) {
            self.held.remove(&work.taken.delivery);
        }
        self.is_stale = true;
    }

    pub(super) fn land(&mut self, ended: Ended) {
        let Ended { outcome, is_elsewhere } = ended;
        // What another URL asks for says nothing of this one.
        if !is_elsewhere
            && let Fate::Tried { attempt: _, answered, erasures: _ } = &outcome.fate
            && let Some(wait_ms) = answered.asks_to_wait()
        {
            let until_ms = self.shared.context.now_ms() + wait_ms;
            self.rest_until_ms = Some(self.rest_until_ms.map_or(until_ms, |known| known.max(until_ms)));
            // Bodies are not kept in memory for as long as an endpoint likes.
            self.put_back();
            self.watch.set_enough(true);
        }
        self.landed.push(outcome);
    }

    pub(super) fn settled(&mut self, released: &[WebhookDeliveryId], settled: Result<Standing, StoreError>) {
        for delivery in released {
            self.held.remove(delivery);
        }
        self.is_stale = true;
        match settled {
            Ok(standing) => {
                self.failures = 0;
                if standing == Standing::Disabled {
                    (self.endpoint, self.rest_until_ms) = (None, None);
                    self.put_back();
                }
            }
            // They are in the queue still, and are sent again.
            Err(error) => self.pause("the outcomes of webhook deliveries could not be stored", &error),
        }
    }

    pub(super) fn take_up(&mut self, page: Result<Page, StoreError>) {
        let Page { endpoint, work, unsendable, given_up, stray, next_due_ms, is_more } = match page {
            Ok(page) => page,
            Err(error) => {
                self.is_stale = true;
                return self.pause("the queue of a webhook could not be read", &error);
            }
        };
        if let Some(endpoint) = endpoint {
            if self.endpoint.as_ref().is_none_or(|old| old.url != endpoint.url) {
                self.flight.close();
                // Another URL has asked for nothing.
                self.rest_until_ms = None;
            }
            self.endpoint = Some(Arc::new(endpoint));
        } else if !given_up.is_empty() || !unsendable.is_empty() {
            // Nothing is sent that could come too early.
            (self.endpoint, self.rest_until_ms) = (None, None);
        }
        self.next_due_ms = next_due_ms;
        self.is_stale |= is_more;
        self.watch.set_enough(is_more || self.rest_until_ms.is_some());
        let ended = given_up.into_iter().map(|(taken, why)| Outcome { taken, fate: Fate::GivenUp(why) });
        let stray = stray.into_iter().map(|taken| Outcome { taken, fate: Fate::Stray });
        let context = &self.shared.context;
        let unsendable = unsendable.into_iter().map(|taken| request::not_sent(context, taken, UNREADABLE));
        for outcome in ended.chain(stray).chain(unsendable) {
            self.held.insert(outcome.taken.delivery);
            self.landed.push(outcome);
        }
        if self.rest_until_ms.is_some() {
            // It was read because something has changed; bodies are not kept through a rest.
            self.is_stale |= !work.is_empty();
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
        self.paused_until = Some(Instant::now() + pause.min(SLEEP_MAX));
    }
}
