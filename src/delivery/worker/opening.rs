//! The opening of a session, and the outcome of a group whose session cannot be opened.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use super::super::outcome::{Deferral, RecipientDisposition, TransactionContext, read_refusal};
use super::super::queue::Claimed;
use super::super::session::{FailedOpening, SiteSession};
use super::super::settle::Settlement;
use super::super::site_refusal::SiteRefusal;
use super::super::site_store::SiteUpdate;
use super::super::smtp::SessionError;
use super::super::transport::Servers;
use super::{Next, Worker};
use crate::base::sync;

/// Time of opening a session after which its server is slow.
const SLOW_AFTER: Duration = Duration::from_secs(3);

/// Result of opening a session.
pub(super) enum SessionOpening {
    Opened,
    /// The engine stops, or the server is slow and other sites need the session.
    Interrupted,
    Failed(FailedOpening),
}

impl Worker<'_> {
    /// Opens a session with one of the servers, unless a suitable one is open.
    ///
    /// A server that takes long to answer must not use the sessions of working sites. If the part of the slow ones is
    /// used up, the opening is interrupted, and the server gets its next attempt after a pause.
    pub(super) async fn open(&mut self, servers: &Servers) -> SessionOpening {
        let (engine, slot) = (self.engine, self.slot);
        let mut opening = pin!(SiteSession::open_in(&mut self.open, engine, slot, servers));
        let opened = tokio::select! {
            opened = &mut opening => opened,
            () = engine.stop.cancelled() => return SessionOpening::Interrupted,
            () = tokio::time::sleep(SLOW_AFTER) => {
                if !engine.schedule().opening_is_slow(&mut sync::lock(slot), engine.now()) {
                    engine.schedule().opening_interrupted(&sync::lock(slot), engine.now());
                    return SessionOpening::Interrupted;
                }
                engine.notifier.wake();
                tokio::select! {
                    opened = &mut opening => opened,
                    () = engine.stop.cancelled() => return SessionOpening::Interrupted,
                }
            }
        };
        match opened {
            Ok(()) => SessionOpening::Opened,
            Err(failed) => SessionOpening::Failed(failed),
        }
    }

    /// Settles the group whose session could not be opened. A refusal pauses the site. The hosts that could not be
    /// connected to are paused already.
    pub(super) async fn opening_failed(
        &mut self,
        claimed: Arc<Claimed>,
        servers: &Servers,
        opening: FailedOpening,
    ) -> Next {
        let now_ms = self.engine.context.now_ms();
        let FailedOpening { failed, endpoint } = &opening;
        self.engine.problems.session_failed(&self.engine.settings.routes, servers, &failed.error, now_ms);
        let nearest = servers.hosts.first().map_or("", |host| host.name.as_str());
        let host = endpoint.as_ref().map_or(nearest, |endpoint| endpoint.host.as_str());
        let mut refusal = None;
        let disposition = match &failed.error {
            SessionError::Refused { phase, reply } => {
                refusal = Some(SiteRefusal::of_session(*phase, reply, host));
                let context = TransactionContext {
                    host,
                    is_final: servers.is_final,
                    without_pipelining: true,
                    reused: false,
                    is_confirmed_missing: self.is_confirmed_missing(&claimed),
                };
                read_refusal(*phase, reply, context).0
            }
            error => {
                // The hosts are paused now, so that the group continues with the fallback, if there is one.
                let has_fallback = self.engine.schedule().has_fallback(servers, self.engine.now());
                let defer = if has_fallback { Deferral::immediate } else { Deferral::ordinary };
                RecipientDisposition::Deferred(defer(Some(format!("{} {error}", error.status()))))
            }
        };
        let row = match refusal {
            Some(refusal) => self.refused(&refusal),
            // Other destinations of the site may not require TLS.
            None if failed.error.is_tls_failure() => None,
            None => {
                self.engine.schedule().opening_failed(&sync::lock(self.slot), self.engine.now());
                None
            }
        };
        let attempt = opening.into_attempt(&claimed, servers, now_ms);
        let site = SiteUpdate { row, warm_up: None };
        let settlement = Settlement { site, ..Settlement::uniform(claimed, disposition, Some(attempt)) };
        self.last_outcome.store(self.engine, settlement).await;
        Next::End
    }
}
