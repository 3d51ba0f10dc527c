//! A session task: takes groups of its site, leases them, composes, converses, settles.
//!
//! A group's lease is committed before its message leaves, its outcome as soon as the server has
//! answered and before the session goes on. A kill between the two repeats the message after the
//! restart, marked as a possible duplicate; nothing else can.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, error};

use super::engine::Engine;
use super::lane::{Idle, NextGroups, ReadyGroup};
use super::message::{self, Composed, MessageError};
use super::outcome::{Deferral, RecipientDisposition, SiteHealth, TransactionContext, read_refusal, read_transaction};
use super::queue::{Claimed, DueKey, claim};
use super::rows::SmtpAttemptRow;
use super::session::{FailedOpening, SiteSession};
use super::sessionless;
use super::settle::Settlement;
use super::smtp::SessionError;
use super::transport::Servers;
use crate::base::blocking;

/// How long an open session waits for more mail of its site.
const IDLE_MAX: Duration = Duration::from_secs(10);

/// Serves a site until it has no more work, fails, or the engine stops.
///
/// A panic ends the session and nothing else: its place is given back, and the reconciliation puts
/// back the leases it held.
pub(super) async fn run(engine: Arc<Engine>, site: String, stop: CancellationToken) {
    let number = engine.held.begin_session();
    let mut session = JoinSet::new();
    let (serving, at) = (Arc::clone(&engine), site.clone());
    let served = async move {
        let mut worker = Worker { engine: &serving, site: &at, number, stop, open: None };
        worker.serve().await;
        if let Some(open) = worker.open.take() {
            open.quit().await;
        }
    };
    session.spawn(served.in_current_span());
    if let Some(Err(panic)) = session.join_next().await {
        error!("a delivery session with {site} failed: {panic}");
    }
    engine.held.end_session(number);
    engine.lanes().session_ended(&site);
    engine.bell.wake();
}

struct Worker<'a> {
    engine: &'a Arc<Engine>,
    site: &'a str,
    number: u64,
    stop: CancellationToken,
    open: Option<SiteSession>,
}

/// What a worker does after a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Continue,
    End,
}

impl Worker<'_> {
    async fn serve(&mut self) {
        while !self.stop.is_cancelled() {
            let now_ms = self.engine.context.now_ms();
            let take = self.engine.lanes().take(self.site, now_ms, |servers| self.fits(servers));
            match take {
                NextGroups::Groups(groups) => {
                    if self.engine.lanes().wants_more(self.site) {
                        self.engine.bell.rescan();
                    }
                    if self.deliver_groups(groups).await == Next::End {
                        return;
                    }
                }
                NextGroups::OtherServers => {
                    if let Some(open) = self.open.take() {
                        open.quit().await;
                    }
                }
                NextGroups::Wait { work, evict } => {
                    if self.open.is_none() {
                        return;
                    }
                    self.engine.lanes().set_idle(self.site, Idle::Begins);
                    let woken = tokio::select! {
                        () = work.notified() => true,
                        () = evict.notified() => false,
                        () = tokio::time::sleep(IDLE_MAX) => false,
                        () = self.stop.cancelled() => false,
                    };
                    self.engine.lanes().set_idle(self.site, Idle::Ends);
                    if !woken {
                        return;
                    }
                }
                NextGroups::CoolingDown => return,
            }
        }
    }

    /// Returns whether the open session, if there is one, can take mail for these servers.
    fn fits(&self, servers: &Servers) -> bool {
        self.open.as_ref().is_none_or(|open| open.is_with(servers))
    }

    async fn deliver_groups(&mut self, groups: Vec<ReadyGroup>) -> Next {
        let Some(first) = groups.first() else { return Next::Continue };
        let servers = Arc::clone(&first.servers);
        let keys: Vec<DueKey> = groups.iter().map(|ready| ready.due.key).collect();
        let (context, claiming) = (self.engine.context.clone(), keys.clone());
        let claimed = self.engine.context.store.write_bulk(move |tx| claim(tx, &context, &claiming)).await;
        self.engine.forget(&keys);
        let claimed: Vec<Arc<Claimed>> = match claimed {
            Ok(claimed) => claimed.into_iter().map(with_servers).map(Arc::new).collect(),
            Err(error) => {
                // The groups are still in the table; the next reconciliation finds them.
                error!(%error, "deliveries could not be leased: {error}");
                return Next::End;
            }
        };
        self.engine.held.take(self.number, &claimed);
        let mut left = claimed.into_iter();
        while let Some(group) = left.next() {
            let next = if self.stop.is_cancelled() {
                self.release(group).await;
                Next::End
            } else {
                self.deliver(group, &servers).await
            };
            if next == Next::End {
                for group in left {
                    self.release(group).await;
                }
                return Next::End;
            }
        }
        Next::Continue
    }

    /// Puts a leased group back, untried.
    async fn release(&self, claimed: Arc<Claimed>) {
        self.engine
            .settle(Settlement::alike(claimed, RecipientDisposition::Deferred(Deferral::at_once(None)), None))
            .await;
    }

    async fn deliver(&mut self, claimed: Arc<Claimed>, servers: &Servers) -> Next {
        let timeouts = if claimed.due.attempts == 0 {
            self.engine.settings.timeouts.clone()
        } else {
            self.engine.settings.timeouts.clone().patient()
        };
        let stop = self.stop.clone();
        let opened = tokio::select! {
            opened = SiteSession::open_in(&mut self.open, self.engine, servers, &timeouts) => opened,
            () = stop.cancelled() => {
                self.release(claimed).await;
                return Next::End;
            }
        };
        if let Err(failed) = opened {
            return self.site_failed(claimed, servers, failed).await;
        }
        // Held until the message has left: many large ones at once would not fit in memory.
        let _room = self.engine.reserve_message_room(&claimed.row).await;
        let composed = match self.compose(&claimed).await {
            Ok(composed) => composed,
            Err(error) => {
                self.engine.settle(Settlement::alike(claimed, unsendable(error), None)).await;
                return Next::Continue;
            }
        };
        if claimed.due.without_pipelining {
            self.open = self.open.take().map(SiteSession::without_pipelining);
        }
        let Some(open) = &mut self.open else { return Next::End };
        let reused = open.session.transactions() > 0;
        let pieces = [composed.signatures.as_slice(), composed.message.as_slice()];
        let transaction = open.session.deliver(&composed.envelope, &pieces).await;
        let host = open.host.clone();
        let under = TransactionContext { host: &host, plainly: claimed.due.without_pipelining, reused };
        let (fates, mood) = read_transaction(&transaction, under);
        let attempt = self.attempt_row(&claimed, summary(&fates), transaction.transcript);
        self.engine.settle(Settlement::new(claimed, fates, Some(attempt))).await;
        self.after_transaction(mood).await
    }

    async fn after_transaction(&mut self, mood: SiteHealth) -> Next {
        let now_ms = self.engine.context.now_ms();
        if mood == SiteHealth::Throttled {
            self.rest(now_ms).await;
            return Next::End;
        }
        self.engine.lanes().succeeded(self.site);
        if let Some(spent) = self.open.take_if(|open| open.is_spent(Instant::now())) {
            spent.quit().await;
        }
        Next::Continue
    }

    async fn compose(&self, claimed: &Arc<Claimed>) -> Result<Composed, MessageError> {
        let (engine, claimed) = (Arc::clone(self.engine), Arc::clone(claimed));
        blocking::run(move || {
            engine.context.store.read_now(|tx| {
                let links = &engine.settings.links;
                message::compose(tx, &engine.context, &engine.signing, &engine.return_paths, links, &claimed)
            })
        })
        .await
    }

    /// Defers the group whose session could not be opened, and lets the site rest.
    async fn site_failed(
        &mut self,
        claimed: Arc<Claimed>,
        servers: &Servers,
        FailedOpening { failed, endpoint }: FailedOpening,
    ) -> Next {
        let nearest = servers.hosts.first().map_or("", |host| host.name.as_str());
        let host = endpoint.as_ref().map_or(nearest, |endpoint| endpoint.host.as_str());
        let fate = match &failed.error {
            SessionError::Refused { phase, reply } => read_refusal(*phase, reply, host, true).0,
            error => RecipientDisposition::Deferred(Deferral::ordinary(Some(format!("4.4.1 {error}")))),
        };
        let attempt = SmtpAttemptRow {
            at_ms: self.engine.context.now_ms(),
            group: claimed.key.group,
            number: claimed.due.attempts.saturating_add(1),
            host: endpoint.as_ref().map(|endpoint| endpoint.host.clone()),
            address: endpoint.map(|endpoint| endpoint.address.to_string()),
            tls: None,
            possible_duplicate: claimed.due.possible_duplicate,
            summary: failed.error.to_string(),
            transcript: failed.transcript,
        };
        self.engine.settle(Settlement::alike(claimed, fate, Some(attempt))).await;
        self.rest(self.engine.context.now_ms()).await;
        Next::End
    }

    async fn rest(&self, now_ms: i64) {
        let expired = self.engine.lanes().failed(self.site, now_ms, self.engine.settings.schedule.expire_after);
        if !expired.is_empty() {
            let expired = expired.into_iter().map(|ready| ready.due).collect();
            sessionless::settle_groups(self.engine, expired, &sessionless::SessionlessReason::Expired).await;
        }
    }

    fn attempt_row(&self, claimed: &Claimed, summary: String, transcript: String) -> SmtpAttemptRow {
        let facts = self.open.as_ref().map(|open| open.session.facts());
        SmtpAttemptRow {
            at_ms: self.engine.context.now_ms(),
            group: claimed.key.group,
            number: claimed.due.attempts.saturating_add(1),
            host: facts.map(|facts| facts.host.clone()),
            address: facts.map(|facts| facts.address.to_string()),
            tls: facts.and_then(|facts| facts.tls.as_ref()).map(|tls| format!("{} {}", tls.version, tls.cipher)),
            possible_duplicate: claimed.due.possible_duplicate,
            summary,
            transcript,
        }
    }
}

/// Notes that a group's destination has servers, so that it exists.
fn with_servers(mut claimed: Claimed) -> Claimed {
    claimed.due.vanished_ms = None;
    claimed
}

/// Returns the fate of a message that cannot be made.
fn unsendable(error: MessageError) -> RecipientDisposition {
    let failed =
        |reason: &str, reply: Option<String>| RecipientDisposition::Failed { reason: reason.to_owned(), reply };
    match error {
        MessageError::ContentGone => failed("content_removed", None),
        MessageError::DomainGone => failed("domain_removed", None),
        MessageError::Invalid(why) => failed("invalid_message", Some(why)),
        MessageError::Store(error) => {
            error!(%error, "the content of an email could not be read: {error}");
            RecipientDisposition::Deferred(Deferral::free(None))
        }
    }
}

/// Sums an attempt up in one line.
fn summary(fates: &[RecipientDisposition]) -> String {
    let count = |wanted: fn(&RecipientDisposition) -> bool| fates.iter().filter(|fate| wanted(fate)).count();
    let delivered = count(|fate| matches!(fate, RecipientDisposition::Delivered { .. }));
    let deferred = count(|fate| matches!(fate, RecipientDisposition::Deferred(_)));
    let refused = fates.len() - delivered - deferred;
    format!("{delivered} delivered, {deferred} deferred, {refused} refused")
}
