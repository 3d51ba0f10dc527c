//! A session task: takes groups of its site, leases them, composes, converses, settles.
//!
//! A group's lease is committed before its message leaves, its outcome as soon as the server has
//! answered and before the session goes on. A kill between the two repeats the message after the
//! restart, marked as a possible duplicate; nothing else can.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, debug, error};

use super::engine::Engine;
use super::lane::{Idle, Ready, Take};
use super::message::{self, ComposeError, Composed};
use super::outcome::{Circumstances, Deferral, Fate, SiteMood, read_refusal, read_transaction};
use super::queue::{Claimed, DueKey, claim};
use super::receiving_host;
use super::rows::AttemptRow;
use super::settle::{Settlement, settle};
use super::smtp::{Endpoint, FailedSession, Identity, Session, SessionError, Timeouts, TlsPolicy};
use super::transport::Servers;
use super::unsent;
use crate::store::StoreError;
use crate::blocking;

/// How long an open session waits for more mail of its site.
const IDLE_MAX: Duration = Duration::from_secs(10);
/// How long a session is used.
const AGE_MAX: Duration = Duration::from_secs(5 * 60);
/// Messages in one session.
const MESSAGES_MAX: u32 = 100;
/// Addresses tried before the site counts as failed.
const ADDRESSES_TRIED_MAX: usize = 3;

/// An open session and whose it is.
struct Open {
    session: Session,
    host: String,
}

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
            open.session.quit().await;
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
    open: Option<Open>,
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
                Take::Groups(groups) => {
                    if self.engine.lanes().wants_more(self.site) {
                        self.engine.bell.ring();
                    }
                    if self.deliver_groups(groups).await == Next::End {
                        return;
                    }
                }
                Take::Elsewhere => {
                    if let Some(open) = self.open.take() {
                        open.session.quit().await;
                    }
                }
                Take::Wait { work, evict } => {
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
                Take::Rest => return,
            }
        }
    }

    /// Returns whether the open session, if there is one, can take mail for these servers.
    fn fits(&self, servers: &Servers) -> bool {
        self.open.as_ref().is_none_or(|open| servers.hosts.iter().any(|host| host.name == open.host))
    }

    async fn deliver_groups(&mut self, groups: Vec<Ready>) -> Next {
        let Some(first) = groups.first() else { return Next::Continue };
        let servers = Arc::clone(&first.servers);
        let keys: Vec<DueKey> = groups.iter().map(|ready| ready.due.key).collect();
        let (context, claiming) = (self.engine.context.clone(), keys.clone());
        let claimed = self.engine.context.store.write_bulk(move |tx| claim(tx, &context, &claiming)).await;
        self.engine.forget(&keys);
        let claimed: Vec<Claimed> = match claimed {
            Ok(claimed) => {
                self.engine.held.take(self.number, &claimed);
                claimed
            }
            Err(error) => {
                // The groups are still in the table; the next reconciliation finds them.
                error!(%error, "deliveries could not be leased: {error}");
                return Next::End;
            }
        };
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
    async fn release(&self, claimed: Claimed) {
        self.settle(Settlement::alike(claimed, Fate::Deferred(Deferral::at_once(None)), None)).await;
    }

    async fn deliver(&mut self, mut claimed: Claimed, servers: &Servers) -> Next {
        // The destination has servers, so that it exists.
        claimed.due.vanished_ms = None;
        let timeouts = if claimed.due.attempts == 0 {
            self.engine.settings.timeouts.clone()
        } else {
            self.engine.settings.timeouts.clone().patient()
        };
        let stop = self.stop.clone();
        let opened = tokio::select! {
            opened = self.open_session(servers, timeouts) => opened,
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
        let (claimed, composed) = self.compose(claimed).await;
        let composed = match composed {
            Ok(composed) => composed,
            Err(error) => {
                self.settle(Settlement::alike(claimed, unsendable(error), None)).await;
                return Next::Continue;
            }
        };
        if claimed.due.plainly {
            let plain = |open: Open| Open { session: open.session.without_pipelining(), ..open };
            self.open = self.open.take().map(plain);
        }
        let Some(open) = &mut self.open else { return Next::End };
        let reused = open.session.transactions() > 0;
        let pieces = [composed.signatures.as_slice(), composed.message.as_slice()];
        let transaction = open.session.deliver(&composed.envelope, &pieces).await;
        let host = open.host.clone();
        let under = Circumstances { host: &host, plainly: claimed.due.plainly, reused };
        let (fates, mood) = read_transaction(&transaction, under);
        let attempt = self.attempt_row(&claimed, summary(&fates), transaction.transcript);
        self.settle(Settlement::new(claimed, fates, Some(attempt))).await;
        self.after_transaction(mood).await
    }

    async fn after_transaction(&mut self, mood: SiteMood) -> Next {
        let now_ms = self.engine.context.now_ms();
        if mood == SiteMood::Strained {
            self.rest(now_ms).await;
            return Next::End;
        }
        self.engine.lanes().succeeded(self.site);
        let spent = self.open.as_ref().is_some_and(|open| {
            !open.session.is_reusable()
                || open.session.transactions() >= MESSAGES_MAX
                || open.session.age(Instant::now()) >= AGE_MAX
        });
        if spent && let Some(open) = self.open.take() {
            open.session.quit().await;
        }
        Next::Continue
    }

    async fn compose(&self, claimed: Claimed) -> (Claimed, Result<Composed, ComposeError>) {
        let engine = Arc::clone(self.engine);
        blocking::run(move || {
            let composed = engine.context.store.read_now(|tx| {
                let links = &engine.settings.links;
                message::compose(tx, &engine.context, &engine.signing, &engine.return_paths, links, &claimed)
            });
            (claimed, composed)
        })
        .await
    }

    async fn settle(&self, settlement: Settlement) {
        let (context, schedule) = (self.engine.context.clone(), self.engine.settings.schedule.clone());
        let claimed = settlement.claimed.clone();
        let settled = self.engine.context.store.write_bulk::<_, StoreError>(move |tx| {
            settle(tx, &context, &schedule, &settlement)
        });
        match settled.await {
            Ok(requeued) => {
                self.engine.held.settled(&claimed);
                self.engine.bell.ring_for(requeued);
            }
            // The lease stays; the reconciliation puts it back as a possible duplicate.
            Err(error) => {
                self.engine.held.abandon(&claimed);
                error!(%error, "the outcome of a delivery could not be stored: {error}");
            }
        }
    }

    /// Makes sure that there is a session for these servers.
    async fn open_session(
        &mut self,
        servers: &Servers,
        timeouts: Timeouts,
    ) -> Result<(), (FailedSession, Option<Endpoint>)> {
        if let Some(open) = self.open.take() {
            if open.session.is_reusable() && servers.hosts.iter().any(|host| host.name == open.host) {
                self.open = Some(open);
                return Ok(());
            }
            open.session.quit().await;
        }
        let identity = Identity {
            ehlo_name: self.engine.settings.hostname.clone(),
            source: None,
            credentials: servers.credentials.clone(),
        };
        let mut last = None;
        let mut tries = ADDRESSES_TRIED_MAX;
        for host in &servers.hosts {
            for address in host.addresses.iter().take(tries) {
                tries -= 1;
                match self.connect(&host.name, *address, servers.tls, &identity, &timeouts).await {
                    Ok(session) => {
                        self.open = Some(Open { session, host: host.name.clone() });
                        return Ok(());
                    }
                    Err((failed, endpoint)) => last = Some((failed, Some(endpoint))),
                }
            }
        }
        Err(last.unwrap_or_else(|| {
            let error = SessionError::Unreachable { reason: "the site has no address".into() };
            (FailedSession { error, transcript: String::new() }, None)
        }))
    }

    /// Opens a session with one address. Where TLS is opportunistic and breaks, it is opened once
    /// more in clear text, and the host is remembered.
    async fn connect(
        &self,
        host: &str,
        address: SocketAddr,
        tls: TlsPolicy,
        identity: &Identity,
        timeouts: &Timeouts,
    ) -> Result<Session, (FailedSession, Endpoint)> {
        let settings = &self.engine.settings;
        let mut endpoint = Endpoint { address, host: host.to_owned(), tls };
        if tls == TlsPolicy::Opportunistic && receiving_host::has_broken_tls(&self.engine.context, host).await {
            endpoint.tls = TlsPolicy::Never;
        }
        let failed = match Session::open(&endpoint, identity, timeouts, &settings.tls).await {
            Ok(session) => return Ok(session),
            Err(failed) => failed,
        };
        // RFC 7435 §3: opportunistic security is better than clear text and never in the way of mail.
        // Who can inject text can hide STARTTLS as well, so that falling back gives nothing away.
        let broken = matches!(failed.error, SessionError::TlsFailed { .. } | SessionError::Injected);
        if !broken || endpoint.tls != TlsPolicy::Opportunistic {
            return Err((failed, endpoint));
        }
        debug!("STARTTLS of {host} does not work: {}", failed.error);
        receiving_host::remember_broken_tls(&self.engine.context, host).await;
        endpoint.tls = TlsPolicy::Never;
        Session::open(&endpoint, identity, timeouts, &settings.tls)
            .await
            .map_err(|failed| (failed, endpoint))
    }

    /// Defers the group whose session could not be opened, and lets the site rest.
    async fn site_failed(
        &mut self,
        claimed: Claimed,
        servers: &Servers,
        (failed, endpoint): (FailedSession, Option<Endpoint>),
    ) -> Next {
        let nearest = servers.hosts.first().map_or("", |host| host.name.as_str());
        let host = endpoint.as_ref().map_or(nearest, |endpoint| endpoint.host.as_str());
        let fate = match &failed.error {
            SessionError::Refused { phase, reply } => read_refusal(*phase, reply, host, true).0,
            error => Fate::Deferred(Deferral::ordinary(Some(format!("4.4.1 {error}")))),
        };
        let attempt = AttemptRow {
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
        self.settle(Settlement::alike(claimed, fate, Some(attempt))).await;
        self.rest(self.engine.context.now_ms()).await;
        Next::End
    }

    async fn rest(&self, now_ms: i64) {
        let expired = self.engine.lanes().failed(self.site, now_ms, self.engine.settings.schedule.expire_after);
        if !expired.is_empty() {
            let expired = expired.into_iter().map(|ready| ready.due).collect();
            unsent::settle_groups(self.engine, expired, &unsent::Reason::Expired).await;
        }
    }

    fn attempt_row(&self, claimed: &Claimed, summary: String, transcript: String) -> AttemptRow {
        let facts = self.open.as_ref().map(|open| open.session.facts());
        AttemptRow {
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

/// Returns the fate of a message that cannot be made.
fn unsendable(error: ComposeError) -> Fate {
    let failed = |reason: &str, reply: Option<String>| Fate::Failed { reason: reason.to_owned(), reply };
    match error {
        ComposeError::ContentGone => failed("content_removed", None),
        ComposeError::DomainGone => failed("domain_removed", None),
        ComposeError::Invalid(why) => failed("invalid_message", Some(why)),
        ComposeError::Store(error) => {
            error!(%error, "the content of an email could not be read: {error}");
            Fate::Deferred(Deferral::free(None))
        }
    }
}

/// Sums an attempt up in one line.
fn summary(fates: &[Fate]) -> String {
    let count = |wanted: fn(&Fate) -> bool| fates.iter().filter(|fate| wanted(fate)).count();
    let delivered = count(|fate| matches!(fate, Fate::Delivered { .. }));
    let deferred = count(|fate| matches!(fate, Fate::Deferred(_)));
    let refused = fates.len() - delivered - deferred;
    format!("{delivered} delivered, {deferred} deferred, {refused} refused")
}
