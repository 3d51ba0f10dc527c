//! A session with one host of a site: opened over the addresses of its servers, used until it is
//! spent.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::Instant;
use tracing::debug;

use super::engine::Engine;
use super::receiving_host;
use super::smtp::{Endpoint, FailedSession, Identity, SessionError, SmtpSession, Timeouts, TlsPolicy};
use super::transport::Servers;

/// How long a session is used.
const AGE_MAX: Duration = Duration::from_secs(5 * 60);
/// Messages in one session.
const MESSAGES_MAX: u32 = 100;
/// Addresses tried before the site counts as failed.
const ADDRESSES_TRIED_MAX: usize = 3;

/// An open session and whose it is.
pub(super) struct SiteSession {
    pub(super) session: SmtpSession,
    pub(super) host: String,
}

/// Why there is no session, and with whom the last one was tried.
pub(super) struct FailedOpening {
    pub(super) failed: FailedSession,
    /// None when no address was tried.
    pub(super) endpoint: Option<Endpoint>,
}

impl SiteSession {
    /// Makes sure that `slot` holds a session for these servers: the one that is open, if it can go
    /// on, or another one.
    ///
    /// # Errors
    /// Why the last address that was tried gave none.
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
                        *slot = Some(Self { session, host: host.name.clone() });
                        return Ok(());
                    }
                    Err(failed) => last = Some(failed),
                }
            }
        }
        Err(last.unwrap_or_else(|| {
            let error = SessionError::Unreachable { reason: "the site has no address".into() };
            FailedOpening { failed: FailedSession { error, transcript: String::new() }, endpoint: None }
        }))
    }

    /// Returns whether it is a session with one of these servers.
    pub(super) fn is_with(&self, servers: &Servers) -> bool {
        servers.hosts.iter().any(|host| host.name == self.host)
    }

    /// Returns whether it has carried what one session carries, or cannot carry any more.
    pub(super) fn is_spent(&self, now: Instant) -> bool {
        !self.session.is_reusable() || self.session.transactions() >= MESSAGES_MAX || self.session.age(now) >= AGE_MAX
    }

    /// Sends one command at a time from here on.
    pub(super) fn without_pipelining(self) -> Self {
        Self { session: self.session.without_pipelining(), ..self }
    }

    /// Ends the session.
    pub(super) async fn quit(self) {
        self.session.quit().await;
    }
}

/// Opens a session with one address. Where TLS is opportunistic and breaks, it is opened once more
/// in clear text, and the host is remembered.
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
    // RFC 7435 §3: opportunistic security is better than clear text and never in the way of mail.
    // Who can inject text can hide STARTTLS as well, so that falling back gives nothing away.
    let broken = matches!(failed.error, SessionError::TlsFailed { .. } | SessionError::Injected);
    if !broken || endpoint.tls != TlsPolicy::Opportunistic {
        return Err(FailedOpening { failed, endpoint: Some(endpoint) });
    }
    debug!("STARTTLS of {host} does not work: {}", failed.error);
    receiving_host::remember_broken_tls(&engine.context, host).await;
    endpoint.tls = TlsPolicy::Never;
    let opened = SmtpSession::open(&endpoint, identity, timeouts, &settings.tls).await;
    opened.map_err(|failed| FailedOpening { failed, endpoint: Some(endpoint) })
}
