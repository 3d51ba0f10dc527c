//! A session with one host of a site. Opens it over the addresses of the site's servers, and limits its age and its
//! number of messages.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;
use tracing::debug;

use super::engine::Engine;
use super::queue::Claimed;
use super::receiving_host;
use super::rows::SmtpAttemptRow;
use super::schedule::Slot;
use super::smtp::{Endpoint, FailedSession, Identity, SessionError, SmtpPhase, SmtpSession, Timeouts, TlsPolicy};
use super::transport::{MailHost, Servers};
use crate::base::clock::TimestampMs;
use crate::base::sync;

/// Age after which a session gets no further message.
const AGE_MAX: Duration = Duration::from_secs(5 * 60);
/// Maximum number of addresses tried before the site counts as failed.
const ADDRESSES_TRIED_MAX: usize = 3;

/// An open session with the name of its host.
pub(super) struct SiteSession {
    pub(super) session: SmtpSession,
    pub(super) host: String,
    /// Whether the session is in clear text although the host had TLS within the last days.
    pub(super) is_downgraded: bool,
    /// Whether the session is in clear text because STARTTLS failed just before. It gets one message.
    is_fallback: bool,
    messages_max: u32,
}

/// Error of the last attempt to open a session, and its endpoint.
pub(super) struct FailedOpening {
    pub(super) failed: FailedSession,
    /// `None` if the site has no address.
    pub(super) endpoint: Option<Endpoint>,
}

impl FailedOpening {
    /// Returns the row of the attempt with these servers, which ended at `at_ms`.
    pub(super) fn into_attempt(self, claimed: &Claimed, servers: &Servers, at_ms: TimestampMs) -> SmtpAttemptRow {
        let Self { failed, endpoint } = self;
        SmtpAttemptRow {
            at_ms,
            group: claimed.key.group,
            number: claimed.due.attempts.saturating_add(1),
            site: Some(servers.site.clone()),
            source: servers.source_address(),
            host: endpoint.as_ref().map(|endpoint| endpoint.host.clone()),
            address: endpoint.map(|endpoint| endpoint.address.to_string()),
            tls: None,
            tls_downgraded: false,
            possible_duplicate: claimed.due.possible_duplicate,
            tried_recipients: Vec::new(),
            summary: failed.error.to_string(),
            deferral_reason: None,
            transcript: failed.transcript,
        }
    }
}

impl SiteSession {
    /// Ensures that `open` contains a reusable session with one of these servers. Keeps the open
    /// session if it qualifies. Otherwise ends it and connects to up to [`ADDRESSES_TRIED_MAX`]
    /// addresses, in the order of preference. Omits paused hosts unless all are paused.
    ///
    /// # Errors
    /// [`FailedOpening`] with the error of the last address.
    pub(super) async fn open_in(
        open: &mut Option<Self>,
        engine: &Engine,
        slot: &Mutex<Slot>,
        servers: &Servers,
    ) -> Result<(), FailedOpening> {
        if open.as_ref().is_some_and(|open| open.session.is_reusable() && open.is_with(servers)) {
            return Ok(());
        }
        if let Some(other) = open.take() {
            other.quit().await;
        }
        let messages_max = engine.schedule().session_messages_max(&sync::lock(slot));
        let source = servers.source.as_ref();
        let identity = Identity {
            ehlo_name: source.map_or(&engine.settings.hostname, |source| &source.ehlo_name).clone(),
            source: source.map(|source| source.address),
            credentials: servers.credentials.clone(),
        };
        let mut last = None;
        let mut tries = ADDRESSES_TRIED_MAX;
        let hosts = usable(engine, servers);
        for host in hosts {
            if tries == 0 {
                break;
            }
            let health_name = host.health_name();
            engine.schedule().connecting(&mut sync::lock(slot), &health_name, engine.now());
            let timeouts = timeouts_of(engine, host);
            let opener = Opener { engine, identity: &identity, timeouts: &timeouts, messages_max };
            let mut failure = None;
            for address in host.addresses.iter().take(tries) {
                tries -= 1;
                match opener.connect(host, *address).await {
                    Ok(session) => {
                        let has_tls = session.session.facts().tls.is_some();
                        engine.opening_counts.opened(has_tls, session.is_fallback, session.is_downgraded);
                        if !servers.is_shared {
                            engine.opening_counts.opened_directly(has_tls);
                        }
                        engine.problems.connected();
                        engine.schedule().session_opened(&mut sync::lock(slot), &health_name, engine.now());
                        // The host may have other lanes that wait, and the session now counts for a working site.
                        engine.notifier.wake();
                        *open = Some(session);
                        return Ok(());
                    }
                    Err(opening) => {
                        if opening.failed.error.is_tls_failure() {
                            engine.opening_counts.tls_failed();
                        }
                        engine.problems.address_failed(&opening.failed.error);
                        failure = Some(opening);
                    }
                }
            }
            if let Some(opening) = failure {
                host_failed(engine, &health_name, &opening.failed.error);
                last = Some(opening);
            }
        }
        Err(last.unwrap_or_else(|| {
            let error = SessionError::Unreachable { reason: "the site has no address".into() };
            FailedOpening { failed: FailedSession { error, transcript: String::new() }, endpoint: None }
        }))
    }

    /// Returns whether the session is with one of these servers, and has TLS if the server requires it.
    pub(super) fn is_with(&self, servers: &Servers) -> bool {
        let has_tls = self.session.facts().tls.is_some();
        let may_use = |host: &MailHost| has_tls || !matches!(host.tls, TlsPolicy::Required { .. });
        servers.hosts.iter().any(|host| host.name == self.host && may_use(host))
    }

    /// Returns whether the session has reached a limit or cannot be reused.
    pub(super) fn is_spent(&self, now: Instant) -> bool {
        !self.session.is_reusable() || self.messages_left() == 0 || self.session.age(now) >= AGE_MAX
    }

    /// Returns the number of messages until the limit of the session.
    pub(super) fn messages_left(&self) -> u32 {
        let messages_max = if self.is_fallback { 1 } else { self.messages_max };
        messages_max.saturating_sub(self.session.transactions())
    }

    /// Turns pipelining off for the following messages of the session.
    pub(super) fn without_pipelining(self) -> Self {
        Self { session: self.session.without_pipelining(), ..self }
    }

    /// Sends QUIT and closes the session.
    pub(super) async fn quit(self) {
        self.session.quit().await;
    }
}

/// Returns the hosts to try: those that are not paused, or all if each is paused.
fn usable<'a>(engine: &Engine, servers: &'a Servers) -> Vec<&'a MailHost> {
    let (schedule, now) = (engine.schedule(), engine.now());
    let working: Vec<&MailHost> =
        servers.hosts.iter().filter(|host| !schedule.is_host_paused(&host.health_name(), now)).collect();
    if working.is_empty() { servers.hosts.iter().collect() } else { working }
}

/// Returns the time limits of a session with a host. A host that sent its greeting late gets more time for it.
fn timeouts_of(engine: &Engine, host: &MailHost) -> Timeouts {
    let timeouts = engine.settings.timeouts.clone();
    if engine.schedule().is_host_slow(&host.health_name()) { timeouts.for_slow_greeting() } else { timeouts }
}

/// Pauses a host that could not be connected to, or without the TLS that a destination requires: then only for such
/// destinations. A refusal belongs to the site.
fn host_failed(engine: &Engine, host: &str, error: &SessionError) {
    if matches!(error, SessionError::Refused { .. }) {
        engine.schedule().host_answered(host, engine.now());
        return;
    }
    let is_slow = matches!(error, SessionError::TimedOut { phase: SmtpPhase::Greeting });
    engine.schedule().host_failed(host, is_slow, engine.now());
}

/// Opens sessions with single addresses.
struct Opener<'a> {
    engine: &'a Engine,
    identity: &'a Identity,
    timeouts: &'a Timeouts,
    messages_max: u32,
}

impl Opener<'_> {
    /// Opens a session with one address, with the TLS policy of its host.
    async fn connect(&self, host: &MailHost, address: SocketAddr) -> Result<SiteSession, FailedOpening> {
        let endpoint = Endpoint { address, host: host.name.clone(), tls: host.tls };
        if host.tls == TlsPolicy::Opportunistic {
            return self.connect_opportunistic(endpoint).await;
        }
        let session = self.open(&endpoint).await?;
        let (host, messages_max) = (endpoint.host, self.messages_max);
        Ok(SiteSession { session, host, is_downgraded: false, is_fallback: false, messages_max })
    }

    /// Opens a session with TLS if possible. If STARTTLS fails, connects again in clear text for one message. If it
    /// failed repeatedly, does not try it for some hours.
    async fn connect_opportunistic(&self, mut endpoint: Endpoint) -> Result<SiteSession, FailedOpening> {
        let context = &self.engine.context;
        let started_ms = context.now_ms();
        let history = receiving_host::tls_history(context, &endpoint.host).await;
        let had_tls = history.had_tls(started_ms);
        if history.has_broken_tls(started_ms) {
            endpoint.tls = TlsPolicy::Never;
        }
        let first = match self.open(&endpoint).await {
            Ok(session) => {
                let has_tls = session.facts().tls.is_some();
                if has_tls {
                    receiving_host::record_tls(context, &history).await;
                }
                let is_downgraded = had_tls && !has_tls;
                let (host, messages_max) = (endpoint.host, self.messages_max);
                return Ok(SiteSession { session, host, is_downgraded, is_fallback: false, messages_max });
            }
            Err(opening) => opening.failed,
        };
        if !first.error.is_starttls_failure() || endpoint.tls == TlsPolicy::Never {
            return Err(FailedOpening { failed: first, endpoint: Some(endpoint) });
        }
        self.engine.problems.connected();
        debug!("STARTTLS of {} failed: {}", endpoint.host, first.error);
        receiving_host::record_tls_failure(context, &endpoint.host, started_ms).await;
        // RFC 7435 §3: opportunistic security must not prevent delivery. The fallback to clear text adds no risk: an
        // attacker who can inject text can also remove STARTTLS from the reply to EHLO.
        endpoint.tls = TlsPolicy::Never;
        match self.open(&endpoint).await {
            Ok(mut session) => {
                session.note_earlier(&first.error);
                let (host, messages_max) = (endpoint.host, self.messages_max);
                Ok(SiteSession { session, host, is_downgraded: had_tls, is_fallback: true, messages_max })
            }
            Err(mut second) => {
                second.failed.transcript.insert_str(0, &first.transcript);
                Err(second)
            }
        }
    }

    async fn open(&self, endpoint: &Endpoint) -> Result<SmtpSession, FailedOpening> {
        let opened = SmtpSession::open(endpoint, self.identity, self.timeouts, &self.engine.settings.tls).await;
        opened.map_err(|failed| FailedOpening { failed, endpoint: Some(endpoint.clone()) })
    }
}
