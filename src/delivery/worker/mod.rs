//! A worker: the task of one session. Takes groups of its site, leases them, composes and sends
//! their messages, and settles them.
//!
//! The lease of a group is committed before its message is sent. The outcome is committed after the reply of the server,
//! and before the final dot of the next message, at which its server accepts it. If the process is killed between the two
//! commits, the next start sends the message again, marked as a possible duplicate. A kill therefore repeats at most one
//! message of each session.
//!
//! `claiming.rs` leases groups, `opening.rs` opens sessions, `composing.rs` composes messages, and `last_outcome.rs` stores
//! outcomes.

mod claiming;
mod composing;
mod last_outcome;
mod opening;

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{Instrument as _, error};

use self::claiming::LeasedGroup;
use self::composing::ComposedMessages;
use self::last_outcome::{COMMIT_WAIT_MAX, LastOutcome};
use self::opening::SessionOpening;
use super::engine::Engine;
use super::message::compose_failure;
use super::outcome::{
    Deferral, RecipientDisposition, SiteHealth, TransactionContext, authentication_refusal, read_transaction, summary,
};
use super::queue::Claimed;
use super::rows::{AttemptTlsRow, SiteRow, SmtpAttemptRow, WarmUpRow};
use super::schedule::{Idle, Slot, Take};
use super::session::SiteSession;
use super::settle::Settlement;
use super::site_refusal::{SiteRefusal, without_addresses};
use super::site_store::SiteUpdate;
use super::transport::Servers;
use crate::base::sync;
use crate::domains::DomainRefusal;
use crate::mime::AddressForm;

/// Maximum time that an open session waits for more groups of its site.
const IDLE_MAX: Duration = Duration::from_secs(10);
/// Time of one message after which the groups behind it return to the queue.
const RELEASE_AFTER: Duration = Duration::from_secs(5);

/// Delivers groups of a site until none are left, the site fails, or the engine stops.
///
/// The worker runs in a task of its own. If it panics, its session reservation is released and its
/// leases are marked as abandoned, so that the next scan requeues them.
pub(super) async fn run(engine: Arc<Engine>, slot: Slot) {
    let number = engine.leases.start_worker();
    let slot = Arc::new(Mutex::new(slot));
    let mut task = JoinSet::new();
    let (task_engine, task_slot) = (Arc::clone(&engine), Arc::clone(&slot));
    let serve = async move {
        let mut worker =
            Worker { engine: &task_engine, slot: &task_slot, number, open: None, last_outcome: LastOutcome::default() };
        worker.serve().await;
        worker.last_outcome.end().await;
        if let Some(open) = worker.open.take() {
            open.quit().await;
        }
    };
    task.spawn(serve.in_current_span());
    if let Some(Err(panic)) = task.join_next().await {
        error!("the delivery worker of {} panicked: {panic}", sync::lock(&slot).site);
    }
    engine.leases.end_worker(number);
    engine.schedule().session_ended(&sync::lock(&slot), engine.now());
    engine.notifier.wake();
}

struct Worker<'a> {
    engine: &'a Arc<Engine>,
    slot: &'a Mutex<Slot>,
    /// Number of this worker in the lease tracker.
    number: u64,
    open: Option<SiteSession>,
    /// Stores the outcome of the last message.
    last_outcome: LastOutcome,
}

/// Next action of a worker after a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Continue,
    End,
}

impl Worker<'_> {
    async fn serve(&mut self) {
        while !self.engine.is_stopping() && self.engine.can_lease() {
            let now = self.engine.now();
            let left = self.open.as_ref().map(SiteSession::messages_left);
            let fits = |servers: &Servers| self.fits(servers);
            let take = self.engine.schedule().take(&mut sync::lock(self.slot), now, left, fits);
            match take {
                Take::Groups { first, part } => {
                    let lanes = self.with_further_lanes(first, part);
                    let Some(groups) = self.lease(lanes).await else { return };
                    if self.deliver_groups(groups).await == Next::End {
                        return;
                    }
                }
                Take::OtherServers => {
                    if let Some(open) = self.open.take() {
                        open.quit().await;
                    }
                }
                Take::Wait { work, evict, tokens_in } => {
                    if self.open.is_none() {
                        return;
                    }
                    self.engine.schedule().set_idle(&sync::lock(self.slot), Idle::Begins);
                    // Another site may need the idle session.
                    self.engine.notifier.wake();
                    let woken = tokio::select! {
                        () = work.notified() => true,
                        () = evict.notified() => false,
                        () = tokio::time::sleep(tokens_in.unwrap_or(IDLE_MAX)) => tokens_in.is_some(),
                        () = self.engine.stop.cancelled() => false,
                    };
                    self.engine.schedule().set_idle(&sync::lock(self.slot), Idle::Ends);
                    if !woken {
                        return;
                    }
                }
                Take::End => return,
            }
        }
    }

    /// Returns whether the open session is with one of these servers; `true` if none is open.
    fn fits(&self, servers: &Servers) -> bool {
        self.open.as_ref().is_none_or(|open| open.is_with(servers))
    }

    /// Delivers leased groups one after the other.
    ///
    /// Returns the groups that have not begun to the queue if the worker must end or the site refuses a message of
    /// another session. Also does so if the current message takes long.
    async fn deliver_groups(&mut self, groups: Vec<LeasedGroup>) -> Next {
        let (engine, slot) = (self.engine, self.slot);
        let mut remaining = groups.into_iter();
        let messages = ComposedMessages::default();
        while let Some(LeasedGroup { claimed, servers }) = remaining.next() {
            let may_send = !engine.is_stopping() && engine.schedule().may_send(&sync::lock(slot), engine.now());
            // After a reconnection, the host may not belong to all groups. Another connection needs a token of the site.
            if !may_send || !self.fits(&servers) {
                let unsent = std::iter::once(LeasedGroup { claimed, servers }).chain(remaining);
                release_all(engine, slot, &messages, unsent).await;
                return if may_send { Next::Continue } else { Next::End };
            }
            messages.set_behind(remaining.as_slice());
            let next = {
                let mut delivery = pin!(self.deliver(claimed, &servers, &messages));
                tokio::select! {
                    next = &mut delivery => next,
                    () = tokio::time::sleep(RELEASE_AFTER) => {
                        engine.schedule().set_stuck(&mut sync::lock(slot), true, engine.now());
                        let behind: Vec<_> = remaining.by_ref().collect();
                        let releasing = async {
                            release_all(engine, slot, &messages, behind).await;
                            engine.notifier.wake();
                        };
                        // The message continues while a release waits for the store.
                        let (next, ()) = tokio::join!(delivery, releasing);
                        engine.schedule().set_stuck(&mut sync::lock(slot), false, engine.now());
                        next
                    }
                }
            };
            if next == Next::End {
                release_all(engine, slot, &messages, remaining).await;
                return Next::End;
            }
        }
        Next::Continue
    }

    /// Makes one attempt for a leased group and settles it.
    async fn deliver(&mut self, claimed: Arc<Claimed>, servers: &Servers, messages: &ComposedMessages) -> Next {
        // RFC 1047: the host may have the message already. It may recognize the copy, and another host cannot.
        let ambiguous = claimed.due.ambiguous_host.as_deref().filter(|host| servers.has(host));
        let reordered = ambiguous.map(|host| servers.starting_with(host));
        let servers = reordered.as_ref().unwrap_or(servers);
        if let Some(other) = self.open.take_if(|open| ambiguous.is_some_and(|host| host != open.host)) {
            other.quit().await;
        }
        match self.open(servers).await {
            SessionOpening::Opened => {}
            SessionOpening::Interrupted => {
                release(self.engine, self.slot, claimed).await;
                return Next::End;
            }
            SessionOpening::Failed(failed) => {
                self.unsent(1);
                return self.opening_failed(claimed, servers, failed).await;
            }
        }
        let (composed, _memory) = messages.compose(self.engine, &claimed, self.address_form()).await;
        let composed = match composed {
            Ok(composed) => composed,
            Err(error) => {
                self.unsent(1);
                let failure = compose_failure(claimed.key.email, error);
                self.last_outcome.store(self.engine, Settlement::uniform(claimed, failure, None)).await;
                return Next::Continue;
            }
        };
        if claimed.due.without_pipelining {
            self.open = self.open.take().map(SiteSession::without_pipelining);
        }
        let Some(open) = &mut self.open else { return Next::End };
        let reused = open.session.transactions() > 0;
        let pieces = [composed.signatures.as_slice(), composed.message.as_slice()];
        let transaction =
            open.session.deliver(&composed.envelope, &pieces, self.last_outcome.wait_for_commit(COMMIT_WAIT_MAX)).await;
        let host = open.host.clone();
        let context = TransactionContext {
            host: &host,
            is_final: servers.is_final,
            without_pipelining: claimed.due.without_pipelining,
            reused,
            is_confirmed_missing: self.is_confirmed_missing(&claimed),
        };
        let (dispositions, health) = read_transaction(&transaction, context);
        let refusal = authentication_refusal(&transaction, &host).map(|reply| DomainRefusal {
            at_ms: self.engine.context.now_ms(),
            email: claimed.key.email,
            host: Some(host.clone()),
            reply: without_addresses(&reply.to_string()),
        });
        let attempt = self.attempt_row(&claimed, servers, summary(&dispositions), transaction.transcript);
        let counts = WarmUpRow::of(&dispositions);
        if counts.sent == 0 {
            self.unsent(1);
        }
        let is_counted = counts.sent > 0 && self.is_warming_up();
        let warm_up = is_counted.then(|| (servers.warm_up_site().into(), counts));
        let (row, next) = self.record_health(&health);
        let site = SiteUpdate { row, warm_up };
        let settlement = Settlement { site, refusal, ..Settlement::new(claimed, dispositions, Some(attempt)) };
        self.last_outcome.store(self.engine, settlement).await;
        if let Some(spent) = self.open.take_if(|open| next == Next::Continue && open.is_spent(Instant::now())) {
            spent.quit().await;
        }
        next
    }

    /// Records the health of the site after a message. Returns its row if it changed, and the next action.
    fn record_health(&self, health: &SiteHealth) -> (Option<SiteRow>, Next) {
        match health {
            SiteHealth::Unknown => (None, Next::Continue),
            SiteHealth::Healthy => {
                let now = self.engine.now();
                (self.engine.schedule().succeeded(&mut sync::lock(self.slot), now), Next::Continue)
            }
            SiteHealth::Throttled(refusal) => (self.refused(refusal), Next::End),
        }
    }

    /// Throttles the site after a refusal, and warns the operator. Returns the row of the site if it changed.
    fn refused(&self, refusal: &SiteRefusal) -> Option<SiteRow> {
        let now = self.engine.now();
        let (mut schedule, slot) = (self.engine.schedule(), sync::lock(self.slot));
        let row = schedule.refused(&slot, refusal, now);
        let delisting = refusal.delisting.or_else(|| schedule.delisting(&slot));
        let site = Arc::clone(&slot.site);
        drop((schedule, slot));
        self.engine.problems.site_refused(&site, refusal, delisting, now.wall_ms);
        row
    }

    /// Returns whether the site has a warm-up plan.
    fn is_warming_up(&self) -> bool {
        let (schedule, slot) = (self.engine.schedule(), sync::lock(self.slot));
        schedule.is_warming_up(&slot)
    }

    /// Records groups that were taken and not sent.
    fn unsent(&self, groups: usize) {
        self.engine.schedule().unsent(&sync::lock(self.slot), groups);
    }

    /// Returns the form of non-ASCII recipients that the server of the open session accepts.
    fn address_form(&self) -> AddressForm {
        let accepts = |open: &SiteSession| open.session.facts().capabilities.utf8_headers();
        if self.open.as_ref().is_some_and(accepts) { AddressForm::Unicode } else { AddressForm::Ascii }
    }

    fn is_confirmed_missing(&self, claimed: &Claimed) -> bool {
        let now_ms = self.engine.context.confirmed_time().now_ms;
        self.engine.settings.schedule.is_confirmed_missing(&claimed.due, now_ms)
    }

    fn attempt_row(&self, claimed: &Claimed, servers: &Servers, summary: String, transcript: String) -> SmtpAttemptRow {
        let facts = self.open.as_ref().map(|open| open.session.facts());
        SmtpAttemptRow {
            at_ms: self.engine.context.now_ms(),
            group: claimed.key.group,
            number: claimed.due.attempts.saturating_add(1),
            site: Some(servers.site.clone()),
            source: servers.source_address(),
            host: facts.map(|facts| facts.host.clone()),
            address: facts.map(|facts| facts.address.to_string()),
            tls: facts.and_then(|facts| facts.tls.as_ref()).map(AttemptTlsRow::from),
            tls_downgraded: self.open.as_ref().is_some_and(|open| open.is_downgraded),
            possible_duplicate: claimed.due.possible_duplicate,
            tried_recipients: Vec::new(),
            summary,
            deferral_reason: None,
            transcript,
        }
    }
}

/// Returns leased groups to the queue without an attempt, and drops their messages.
async fn release_all(
    engine: &Engine,
    slot: &Mutex<Slot>,
    messages: &ComposedMessages,
    groups: impl IntoIterator<Item = LeasedGroup>,
) {
    messages.clear();
    for group in groups {
        release(engine, slot, group.claimed).await;
    }
}

/// Returns a leased group to the queue without an attempt.
async fn release(engine: &Engine, slot: &Mutex<Slot>, claimed: Arc<Claimed>) {
    engine.schedule().unsent(&sync::lock(slot), 1);
    let deferral = RecipientDisposition::Deferred(Deferral::immediate(None));
    engine.settle(Settlement::uniform(claimed, deferral, None)).await;
}

#[cfg(test)]
mod tests;
