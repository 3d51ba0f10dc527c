//! A session with one host of a site: opens it over the addresses of the site's servers, and limits
//! its age and its number of messages.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::Instant;
use tracing::debug;

use super::engine::Engine;
use super::receiving_host;
use super::smtp::{Endpoint, FailedSession, Identity, SessionError, SmtpSession, Timeouts, TlsPolicy};
use super::transport::Servers;

/// Age after which a session gets no further message.
const AGE_MAX: Duration = Duration::from_secs(5 * 60);
/// Maximum number of messages in one session.
const MESSAGES_MAX: u32 = 100;
/// Maximum number of addresses tried before the site counts as failed.
const ADDRESSES_TRIED_MAX: usize = 3;

/// An open session with the name of its host.
pub(super) struct SiteSession {
    pub(super) session: SmtpSession,
    pub(super) host: String,
}

/// Error of the last attempt to open a session, and its endpoint.
pub(super) struct FailedOpening {
    pub(super) failed: FailedSession,
    /// `None` if the site has no address.
    pub(super) endpoint: Option<Endpoint>,
}

impl SiteSession {
    /// Ensures that `slot` contains a reusable session with one of these servers. Keeps the open
    /// session if it qualifies. Otherwise ends it and connects to up to [`ADDRESSES_TRIED_MAX`]
    /// addresses, in the order of preference.
    ///
    /// # Errors
    /// [`FailedOpening`] with the error of the last address.
    pub(super) async fn open_in(
        slot: &mut Option<Self>,
        engine: &Engine,
        servers: &Servers,
        timeouts: &Timeouts,
    ) -> Result<(), FailedOpening> {
        if slot.as_ref().is_some_and(|open| open.session.is_reusable() && open.is_with(servers)) {
            return Ok(());
        }
        if let Some(open) = slot.take() {
            open.quit().await;
        }
        let identity = Identity {
            ehlo_name: engine.settings.hostname.clone(),
            source: None,
            credentials: servers.credentials.clone(),
        };
        let mut last = None;
        let mut tries = ADDRESSES_TRIED_MAX;
        for host in &servers.hosts {
            for address in host.addresses.iter().take(tries) {
                tries -= 1;
                match connect(engine, &host.name, *address, servers.tls, &identity, timeouts).await {
                    Ok(session) => {
                        engine.problems.connected();
                        *slot = Some(Self { session, host: host.name.clone() });
                        return Ok(());
                    }
                    Err(opening) => {
                        engine.problems.address_failed(&opening.failed.error);
                        last = Some(opening);
                    }
                }
            }
        }
        Err(last.unwrap_or_else(|| {
            let error = SessionError::Unreachable { reason: "the site has no address".into() };
            FailedOpening { failed: FailedSession { error, transcript: String::new() }, endpoint: None }
        }))
    }

    /// Returns whether the session is with one of these servers.
    pub(super) fn is_with(&self, servers: &Servers) -> bool {
        servers.hosts.iter().any(|host| host.name == self.host)
    }

    /// Returns whether the session has reached a limit or cannot be reused.
    pub(super) fn is_spent(&self, now: Instant) -> bool {
        !self.session.is_reusable() || self.session.transactions() >= MESSAGES_MAX || self.session.age(now) >= AGE_MAX
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

/// Opens a session with one address. If opportunistic TLS fails, stores the host as one with broken
/// STARTTLS and connects again in clear text.
async fn connect(
    engine: &Engine,
    host: &str,
    address: SocketAddr,
    tls: TlsPolicy,
    identity: &Identity,
    timeouts: &Timeouts,
) -> Result<SmtpSession, FailedOpening> {
    let settings = &engine.settings;
    let mut endpoint = Endpoint { address, host: host.to_owned(), tls };
    if tls == TlsPolicy::Opportunistic && receiving_host::has_broken_tls(&engine.context, host).await {
        endpoint.tls = TlsPolicy::Never;
    }
    let failed = match SmtpSession::open(&endpoint, identity, timeouts, &settings.tls).await {
        Ok(session) => return Ok(session),
        Err(failed) => failed,
    };
    // RFC 7435 §3: opportunistic security must not prevent delivery. The fallback to clear text adds
    // no risk: an attacker who can inject text can also remove STARTTLS from the reply to EHLO.
    let is_tls_failure = matches!(
        failed.error,
        SessionError::TlsFailed { .. } | SessionError::StartTlsRefused { .. } | SessionError::Injected
    );
    if !is_tls_failure || endpoint.tls != TlsPolicy::Opportunistic {
        return Err(FailedOpening { failed, endpoint: Some(endpoint) });
    }
    engine.problems.connected();
    debug!("STARTTLS of {host} failed: {}", failed.error);
    receiving_host::store_broken_tls(&engine.context, host).await;
    endpoint.tls = TlsPolicy::Never;
    let opened = SmtpSession::open(&endpoint, identity, timeouts, &settings.tls).await;
    opened.map_err(|failed| FailedOpening { failed, endpoint: Some(endpoint) })
}
