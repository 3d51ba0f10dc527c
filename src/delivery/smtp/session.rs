//! A session: its parameters, its errors, and its state between messages.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use tokio::time::{Duration, Instant};

use super::SmtpPhase;
use super::capabilities::Capabilities;
use super::conversation::{Cause, Conversation, ConversationFailure};
use super::opening::Opening;
use super::outcome::ConnectionState;
use super::reply::{Reply, ReplyError};
use super::timeouts::Timeouts;
use super::tls::{TlsConfigs, TlsFacts, TlsPolicy};
use super::transcript::LineSource;

/// Server address of a session, with its name and TLS policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub address: SocketAddr,
    /// Name of the MX host or the smarthost. The certificate is verified against it.
    pub host: String,
    pub tls: TlsPolicy,
}

/// Identity of the client.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Name for EHLO. It should resolve to the source address (RFC 5321 §4.1.1.1).
    pub ehlo_name: String,
    /// Source address; `None` if the operating system chooses it.
    pub source: Option<IpAddr>,
    pub credentials: Option<Credentials>,
}

/// Credentials for a smarthost. The `Debug` output hides them.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// SASL PLAIN, or LOGIN if the server does not offer PLAIN.
    Password { username: String, password: String },
    /// SASL XOAUTH2.
    Bearer { username: String, token: String },
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials([secret])")
    }
}

/// Greeting command of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hello {
    Ehlo,
    /// For a server that refused EHLO. Without extensions there is no STARTTLS and no AUTH.
    Helo,
}

/// Properties of an open session, for the rows of its attempts.
#[derive(Clone, Debug)]
pub struct SessionFacts {
    pub host: String,
    pub address: SocketAddr,
    pub hello: Hello,
    pub tls: Option<TlsFacts>,
    pub capabilities: Capabilities,
}

/// Error while a session was opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// The TCP connection failed. `reason` is the error of the operating system.
    #[error("could not connect: {reason}")]
    Unreachable { reason: String },
    /// The server refused. [`classify`](super::classify()) returns the meaning.
    #[error("refused at {phase}: {reply}")]
    Refused { phase: SmtpPhase, reply: Reply },
    /// The TLS handshake failed. With [`TlsPolicy::Opportunistic`] the caller may connect again with
    /// [`TlsPolicy::Never`] and store the host.
    #[error("TLS failed: {reason}")]
    TlsFailed { reason: String },
    /// The server offers STARTTLS and refused it. The caller may connect again as after a failed handshake.
    #[error("TLS failed: STARTTLS was answered with {reply}")]
    StartTlsRefused { reply: Reply },
    #[error("TLS is required and not offered")]
    TlsNotOffered,
    /// Bytes in clear text followed the reply to STARTTLS, possibly injected by an attacker.
    #[error("clear text followed the reply to STARTTLS")]
    Injected,
    /// Credentials are configured and the server offers no supported mechanism.
    #[error("no usable authentication mechanism is offered")]
    AuthNotOffered,
    /// Credentials are configured and the connection has no TLS.
    #[error("credentials are not sent without TLS")]
    AuthInClear,
    #[error("timed out at {phase}")]
    TimedOut { phase: SmtpPhase },
    /// The connection closed without a reply.
    #[error("connection lost at {phase}")]
    Lost { phase: SmtpPhase },
    #[error("invalid reply at {phase}: {error}")]
    InvalidReply { phase: SmtpPhase, error: ReplyError },
}

impl SessionError {
    /// Returns the enhanced status code of a deferral (RFC 3463).
    pub fn status(&self) -> &'static str {
        match self {
            Self::TlsNotOffered => "4.7.4",
            Self::TlsFailed { .. } | Self::StartTlsRefused { .. } | Self::Injected => "4.7.5",
            Self::Unreachable { .. }
            | Self::Refused { .. }
            | Self::AuthNotOffered
            | Self::AuthInClear
            | Self::TimedOut { .. }
            | Self::Lost { .. }
            | Self::InvalidReply { .. } => "4.4.1",
        }
    }

    /// Returns whether the server was connected to and has no working TLS.
    pub fn is_tls_failure(&self) -> bool {
        matches!(self, Self::TlsNotOffered) || self.is_starttls_failure()
    }

    /// Returns whether STARTTLS was offered and failed. Without TLS, the session could be opened.
    pub fn is_starttls_failure(&self) -> bool {
        match self {
            Self::TlsFailed { .. } | Self::StartTlsRefused { .. } | Self::Injected => true,
            Self::TimedOut { phase } | Self::Lost { phase } | Self::InvalidReply { phase, .. } => {
                *phase == SmtpPhase::StartTls
            }
            Self::Unreachable { .. }
            | Self::Refused { .. }
            | Self::TlsNotOffered
            | Self::AuthNotOffered
            | Self::AuthInClear => false,
        }
    }
}

impl From<ConversationFailure> for SessionError {
    fn from(failure: ConversationFailure) -> Self {
        let phase = failure.phase;
        match failure.cause {
            Cause::Closing(reply) => Self::Refused { phase, reply },
            Cause::TimedOut => Self::TimedOut { phase },
            Cause::Lost => Self::Lost { phase },
            Cause::InvalidReply(error) => Self::InvalidReply { phase, error },
        }
    }
}

/// Error of a session that could not be opened, with the transcript.
#[derive(Clone, Debug)]
pub struct FailedSession {
    pub error: SessionError,
    pub transcript: String,
}

/// An open session: greeted, and encrypted and authenticated as configured. Ready for messages.
pub struct SmtpSession {
    pub(super) conversation: Conversation,
    pub(super) timeouts: Timeouts,
    pub(super) state: ConnectionState,
    pipelining: Pipelining,
    /// Number of started transactions, which MAILMAX limits (RFC 9422 §4).
    pub(super) transactions: u32,
    pub(super) last_used_at: Instant,
    opened_at: Instant,
    facts: SessionFacts,
}

/// Use of pipelining.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pipelining {
    WhenOffered,
    Never,
}

impl fmt::Debug for SmtpSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("state", &self.state)
            .field("transactions", &self.transactions)
            .field("facts", &self.facts)
            .finish_non_exhaustive()
    }
}

impl SmtpSession {
    /// Opens a session.
    ///
    /// If the server refuses EHLO with 5xx and the policy needs no extension, connects again and sends HELO.
    ///
    /// # Errors
    ///
    /// [`FailedSession`] with the transcript. No MAIL has been sent.
    pub async fn open(
        endpoint: &Endpoint,
        identity: &Identity,
        timeouts: &Timeouts,
        tls: &TlsConfigs,
    ) -> Result<Self, FailedSession> {
        let opening = Opening { endpoint, identity, timeouts, tls };
        let first = match opening.open(Hello::Ehlo).await {
            Err(failed) if opening.can_fall_back_to_helo(&failed.error) => failed,
            result => return result,
        };
        // RFC 5321 §3.2: a client falls back to HELO if EHLO is refused. It uses a second connection, because many
        // servers do not recover on the first one.
        match opening.open(Hello::Helo).await {
            Ok(mut session) => {
                session.note_earlier(&first.error);
                Ok(session)
            }
            Err(second) => {
                Err(FailedSession { error: second.error, transcript: first.transcript + &second.transcript })
            }
        }
    }

    /// Records in the transcript why an earlier connection failed.
    pub fn note_earlier(&mut self, error: &SessionError) {
        let note = format!("on an earlier connection: {error}");
        self.conversation.stream().transcript.record(LineSource::Note, note.as_bytes());
    }

    /// Returns a session over a connection on which MAIL may follow.
    pub(super) fn new(conversation: Conversation, timeouts: Timeouts, facts: SessionFacts) -> Self {
        let opened_at = Instant::now();
        Self {
            conversation,
            timeouts,
            state: ConnectionState::Reusable,
            pipelining: Pipelining::WhenOffered,
            transactions: 0,
            last_used_at: opened_at,
            opened_at,
            facts,
        }
    }

    /// Turns pipelining off, for a retry after
    /// [`Action::RetryWithoutPipelining`](super::Action::RetryWithoutPipelining).
    pub fn without_pipelining(self) -> Self {
        let pipelining = Pipelining::Never;
        Self { pipelining, ..self }
    }

    pub(super) fn may_pipeline(&self) -> bool {
        self.pipelining == Pipelining::WhenOffered && self.facts.capabilities.pipelining()
    }

    pub fn facts(&self) -> &SessionFacts {
        &self.facts
    }

    /// Returns the number of started transactions.
    pub fn transactions(&self) -> u32 {
        self.transactions
    }

    /// Returns the time since the session was opened.
    pub fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.opened_at)
    }

    /// Returns the time since the last transaction ended.
    pub fn idle(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.last_used_at)
    }

    /// Returns the number of bytes read and written, without the overhead of TLS.
    pub fn bytes(&self) -> (u64, u64) {
        let stream = &self.conversation.client.stream;
        (stream.bytes_read, stream.bytes_written)
    }

    /// Returns whether the session can be used for another message. The connection must be open, without unexpected
    /// bytes of the server, and below the announced number of transactions.
    pub fn is_reusable(&self) -> bool {
        let limit = self.facts.capabilities.mail_max.unwrap_or(u32::MAX);
        self.state != ConnectionState::Closed
            && self.transactions < limit
            && !self.conversation.client.stream.has_unread_bytes()
    }

    /// Sends RSET if the last transaction failed. Closes the session if the server refuses it.
    ///
    /// [`SmtpSession::deliver`] calls this. A call right after the failed transaction saves time in the next one.
    pub async fn reset(&mut self) {
        if self.state != ConnectionState::NeedsReset {
            return;
        }
        let client = &mut self.conversation.client;
        client.timeout = self.timeouts.rset;
        if client.rset().await.is_ok() {
            self.state = ConnectionState::Reusable;
        } else {
            self.close();
        }
    }

    /// Sends QUIT, waits for the reply up to [`Timeouts::quit`], and closes. Ignores the reply.
    pub async fn quit(mut self) {
        if self.state != ConnectionState::Closed {
            self.conversation.client.timeout = self.timeouts.quit;
            // RFC 5321 §4.1.1.10: the client waits for the reply before it closes.
            let _ = self.conversation.client.quit().await;
        }
    }

    /// Closes the connection without QUIT.
    pub(super) fn close(&mut self) {
        self.conversation.stream().close();
        self.state = ConnectionState::Closed;
    }
}
