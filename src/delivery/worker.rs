//! A worker: the task of one session. Takes groups of its site, leases them, composes and sends
//! their messages, and settles them.
//!
//! The lease of a group is committed before its message is sent. The outcome is committed after the
//! reply of the server and before the next message. If the process is killed between the two
//! commits, the next start sends the message again, marked as a possible duplicate.

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
use crate::mime::AddressForm;

/// Maximum time that an open session waits for more groups of its site.
const IDLE_MAX: Duration = Duration::from_secs(10);

/// Delivers groups of a site until none are left, the site fails, or the engine stops.
///
/// The worker runs in a task of its own. If it panics, its session reservation is released and its
/// leases are marked as abandoned, so that the reconciliation requeues them.
pub(super) async fn run(engine: Arc<Engine>, site: String, stop: CancellationToken) {
    let number = engine.leases.start_worker();
    let mut task = JoinSet::new();
    let (task_engine, task_site) = (Arc::clone(&engine), site.clone());
    let serve = async move {
        let mut worker = Worker { engine: &task_engine, site: &task_site, number, stop, open: None };
        worker.serve().await;
        if let Some(open) = worker.open.take() {
            open.quit().await;
        }
    };
    task.spawn(serve.in_current_span());
    if let Some(Err(panic)) = task.join_next().await {
        error!("the delivery worker of {site} panicked: {panic}");
    }
    engine.leases.end_worker(number);
    engine.lanes().session_ended(&site);
    engine.notifier.wake();
}

struct Worker<'a> {
    engine: &'a Arc<Engine>,
    site: &'a str,
    /// Number of this worker in the lease tracker.
    number: u64,
    stop: CancellationToken,
    open: Option<SiteSession>,
}

/// Next action of a worker after a group.
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
                    if self.engine.lanes().take_refill_request(self.site) {
                        self.engine.notifier.rescan();
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

    /// Returns whether the open session is with one of these servers; `true` if none is open.
    fn fits(&self, servers: &Servers) -> bool {
        self.open.as_ref().is_none_or(|open| open.is_with(servers))
    }

    /// Leases the groups in one transaction and delivers them one after the other. Releases the
    /// remaining leases if the worker must end.
    async fn deliver_groups(&mut self, groups: Vec<ReadyGroup>) -> Next {
        let Some(first) = groups.first() else { return Next::Continue };
        let servers = Arc::clone(&first.servers);
        let keys: Vec<DueKey> = groups.iter().map(|ready| ready.due.key).collect();
        let (context, claiming) = (self.engine.context.clone(), keys.clone());
        let claimed = self.engine.context.store.write_bulk(move |tx| claim(tx, &context, &claiming)).await;
        self.engine.untrack(&keys);
        let claimed: Vec<Arc<Claimed>> = match claimed {
            Ok(claimed) => claimed.into_iter().map(Arc::new).collect(),
            Err(error) => {
                // The groups are still in the table. The next reconciliation loads them.
                error!(%error, "could not lease deliveries: {error}");
                return Next::End;
            }
        };
        self.engine.leases.record(self.number, &claimed);
        let mut remaining = claimed.into_iter();
        while let Some(group) = remaining.next() {
            let next = if self.stop.is_cancelled() {
                self.release(group).await;
                Next::End
            } else {
                self.deliver(group, &servers).await
            };
            if next == Next::End {
                for group in remaining {
                    self.release(group).await;
                }
                return Next::End;
            }
        }
        Next::Continue
    }

    /// Returns a leased group to the queue without an attempt.
    async fn release(&self, claimed: Arc<Claimed>) {
        self.engine
            .settle(Settlement::uniform(claimed, RecipientDisposition::Deferred(Deferral::immediate(None)), None))
            .await;
    }

    /// Makes one attempt for a leased group and settles it.
    async fn deliver(&mut self, claimed: Arc<Claimed>, servers: &Servers) -> Next {
        let timeouts = if claimed.due.attempts == 0 {
            self.engine.settings.timeouts.clone()
        } else {
            self.engine.settings.timeouts.clone().for_retry()
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
        // Bounds the memory of concurrent messages. Held until the group is settled.
        let _memory = self.engine.reserve_message_memory(&claimed.row).await;
        let composed = match self.compose(&claimed, self.address_form()).await {
            Ok(composed) => composed,
            Err(error) => {
                self.engine.settle(Settlement::uniform(claimed, compose_failure(error), None)).await;
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
        let context = TransactionContext {
            host: &host,
            is_final: servers.is_final,
            without_pipelining: claimed.due.without_pipelining,
            reused,
            is_confirmed_missing: self.is_confirmed_missing(&claimed),
        };
        let (dispositions, health) = read_transaction(&transaction, context);
        let attempt = self.attempt_row(&claimed, summary(&dispositions), transaction.transcript);
        self.engine.settle(Settlement::new(claimed, dispositions, Some(attempt))).await;
        self.after_transaction(health).await
    }

    async fn after_transaction(&mut self, health: SiteHealth) -> Next {
        let now_ms = self.engine.context.now_ms();
        if health == SiteHealth::Throttled {
            self.start_cooldown(now_ms).await;
            return Next::End;
        }
        self.engine.lanes().succeeded(self.site);
        if let Some(spent) = self.open.take_if(|open| open.is_spent(Instant::now())) {
            spent.quit().await;
        }
        Next::Continue
    }

    /// Returns the form of non-ASCII recipients that the server of the open session accepts.
    fn address_form(&self) -> AddressForm {
        let accepts = |open: &SiteSession| open.session.facts().capabilities.utf8_headers();
        if self.open.as_ref().is_some_and(accepts) { AddressForm::Unicode } else { AddressForm::Ascii }
    }

    async fn compose(&self, claimed: &Arc<Claimed>, form: AddressForm) -> Result<Composed, MessageError> {
        let (engine, claimed) = (Arc::clone(self.engine), Arc::clone(claimed));
        blocking::run(move || {
            engine.context.store.read_now(|tx| {
                let links = &engine.settings.links;
                message::compose(tx, &engine.context, &engine.signing, &engine.return_paths, links, &claimed, form)
            })
        })
        .await
    }

    /// Settles the group whose session could not be opened, and starts the cooldown of the site.
    async fn site_failed(
        &mut self,
        claimed: Arc<Claimed>,
        servers: &Servers,
        FailedOpening { failed, endpoint }: FailedOpening,
    ) -> Next {
        let now_ms = self.engine.context.now_ms();
        self.engine.problems.session_failed(&self.engine.settings.transport, self.site, &failed.error, now_ms);
        let nearest = servers.hosts.first().map_or("", |host| host.name.as_str());
        let host = endpoint.as_ref().map_or(nearest, |endpoint| endpoint.host.as_str());
        let disposition = match &failed.error {
            SessionError::Refused { phase, reply } => {
                let context = TransactionContext {
                    host,
                    is_final: servers.is_final,
                    without_pipelining: true,
                    reused: false,
                    is_confirmed_missing: self.is_confirmed_missing(&claimed),
                };
                read_refusal(*phase, reply, context).0
            }
            error => RecipientDisposition::Deferred(Deferral::ordinary(Some(format!("{} {error}", error.status())))),
        };
        let attempt = SmtpAttemptRow {
            at_ms: self.engine.context.now_ms(),
            group: claimed.key.group,
            number: claimed.due.attempts.saturating_add(1),
            host: endpoint.as_ref().map(|endpoint| endpoint.host.clone()),
            address: endpoint.map(|endpoint| endpoint.address.to_string()),
            tls: None,
            tls_downgraded: false,
            possible_duplicate: claimed.due.possible_duplicate,
            summary: failed.error.to_string(),
            transcript: failed.transcript,
        };
        self.engine.settle(Settlement::uniform(claimed, disposition, Some(attempt))).await;
        self.start_cooldown(self.engine.context.now_ms()).await;
        Next::End
    }

    fn is_confirmed_missing(&self, claimed: &Claimed) -> bool {
        self.engine.settings.schedule.is_confirmed_missing(&claimed.due, self.engine.context.now_ms())
    }

    /// Starts the cooldown of the site, and settles its groups that have expired.
    async fn start_cooldown(&self, now_ms: i64) {
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
            tls_downgraded: self.open.as_ref().is_some_and(|open| open.is_downgraded),
            possible_duplicate: claimed.due.possible_duplicate,
            summary,
            transcript,
        }
    }
}

/// Returns the disposition of a message that cannot be composed.
fn compose_failure(error: MessageError) -> RecipientDisposition {
    let failed =
        |reason: &str, reply: Option<String>| RecipientDisposition::Failed { reason: reason.to_owned(), reply };
    match error {
        MessageError::ContentDeleted => failed("content_removed", None),
        MessageError::DomainDeleted => failed("domain_removed", None),
        MessageError::Invalid(why) => failed("invalid_message", Some(why)),
        MessageError::Store(error) => {
            error!(%error, "could not read the content of an email: {error}");
            RecipientDisposition::Deferred(Deferral::free(None))
        }
    }
}

/// Returns the counts of an attempt in one line, for its stored row.
fn summary(dispositions: &[RecipientDisposition]) -> String {
    let count = |matches: fn(&RecipientDisposition) -> bool| dispositions.iter().filter(|it| matches(it)).count();
    let delivered = count(|disposition| matches!(disposition, RecipientDisposition::Delivered { .. }));
    let relayed = count(|disposition| matches!(disposition, RecipientDisposition::Relayed));
    let deferred = count(|disposition| matches!(disposition, RecipientDisposition::Deferred(_)));
    let refused = dispositions.len() - delivered - relayed - deferred;
    let accepted =
        if relayed > 0 { format!("{relayed} accepted by the relay") } else { format!("{delivered} delivered") };
    format!("{accepted}, {deferred} deferred, {refused} refused")
}
