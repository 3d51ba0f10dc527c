//! What a session is, why one cannot be had, and the state of a connection between messages.

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
use super::transcript::Speaker;

/// Where a session goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub address: SocketAddr,
    /// The MX name as published, or the smarthost's name: what a certificate is verified against.
    pub host: String,
    pub tls: TlsPolicy,
}

/// Who this side says it is.
#[derive(Clone, Debug)]
pub struct Identity {
    /// RFC 5321 §4.1.1.1: a name that resolves to the source address.
    pub ehlo_name: String,
    pub source: Option<IpAddr>,
    pub credentials: Option<Credentials>,
}

/// What a smarthost asks for.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// SASL PLAIN, else LOGIN.
    Password { username: String, password: String },
    /// SASL XOAUTH2.
    Bearer { username: String, token: String },
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials([secret])")
    }
}

/// How this side greeted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hello {
    Ehlo,
    /// For a server that refused EHLO: no extension, so neither TLS nor authentication.
    Helo,
}

/// What a session knows of its server, for the record of each attempt.
#[derive(Clone, Debug)]
pub struct SessionFacts {
    pub host: String,
    pub address: SocketAddr,
    pub hello: Hello,
    pub tls: Option<TlsFacts>,
    pub capabilities: Capabilities,
}

/// Why a session could not be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionError {
    /// The connection was not made; the operating system's reason.
    Unreachable {
        reason: String,
    },
    /// The server said no, to be judged by [`classify`](super::classify()).
    Refused {
        phase: SmtpPhase,
        reply: Reply,
    },
    /// STARTTLS was refused or the handshake failed. Under [`TlsPolicy::Opportunistic`] the caller may connect again
    /// with [`TlsPolicy::Never`] and remember the host.
    TlsFailed {
        reason: String,
    },
    /// [`TlsPolicy::Required`], and STARTTLS is not offered.
    TlsNotOffered,
    /// Bytes followed the reply to STARTTLS in clear text: someone between put them there.
    Injected,
    /// Credentials are given, and the server takes none of the mechanisms.
    AuthNotOffered,
    /// Credentials are given, and the connection would carry them in clear text.
    AuthInClear,
    TimedOut {
        phase: SmtpPhase,
    },
    /// The server closed the connection without a word.
    Lost {
        phase: SmtpPhase,
    },
    /// The server does not speak SMTP.
    Garbled {
        phase: SmtpPhase,
        error: ReplyError,
    },
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable { reason } => write!(f, "could not connect: {reason}"),
            Self::Refused { phase, reply } => write!(f, "refused at {phase}: {reply}"),
            Self::TlsFailed { reason } => write!(f, "TLS failed: {reason}"),
            Self::TlsNotOffered => f.write_str("TLS is required and not offered"),
            Self::Injected => f.write_str("clear text followed the reply to STARTTLS"),
            Self::AuthNotOffered => f.write_str("no usable authentication mechanism is offered"),
            Self::AuthInClear => f.write_str("credentials are not sent without TLS"),
            Self::TimedOut { phase } => write!(f, "timed out at {phase}"),
            Self::Lost { phase } => write!(f, "connection lost at {phase}"),
            Self::Garbled { phase, error } => write!(f, "no SMTP at {phase}: {error}"),
        }
    }
}

impl std::error::Error for SessionError {}

impl From<ConversationFailure> for SessionError {
    fn from(broken: ConversationFailure) -> Self {
        let phase = broken.phase;
        match broken.cause {
            Cause::Closing(reply) => Self::Refused { phase, reply },
            Cause::TimedOut => Self::TimedOut { phase },
            Cause::Lost => Self::Lost { phase },
            Cause::Garbled(error) => Self::Garbled { phase, error },
        }
    }
}

/// A session that could not be opened: why, and what was said until then.
#[derive(Clone, Debug)]
pub struct FailedSession {
    pub error: SessionError,
    pub transcript: String,
}

/// A connection that has been greeted, encrypted and authenticated as its policy asks, ready for messages.
pub struct SmtpSession {
    pub(super) conversation: Conversation,
    pub(super) timeouts: Timeouts,
    pub(super) state: ConnectionState,
    pipelining: Pipelining,
    /// Transactions begun: what MAILMAX counts (RFC 9422 §4).
    pub(super) transactions: u32,
    pub(super) last_used_at: Instant,
    opened_at: Instant,
    facts: SessionFacts,
}

/// Whether commands go out in groups.
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
    /// A server that answers EHLO with 5xx is called a second time with HELO, where the policy needs no extension.
    ///
    /// # Errors
    ///
    /// [`FailedSession`], with the transcript so far. No message has been offered to the server then.
    pub async fn open(
        endpoint: &Endpoint,
        identity: &Identity,
        timeouts: &Timeouts,
        tls: &TlsConfigs,
    ) -> Result<Self, FailedSession> {
        let opening = Opening { endpoint, identity, timeouts, tls };
        let first = match opening.open(Hello::Ehlo).await {
            Err(failed) if opening.may_say_helo(&failed.error) => failed,
            result => return result,
        };
        // RFC 5321 §3.2: a client whose EHLO is refused falls back to HELO. On a second connection, since many
        // servers do not recover on the first.
        match opening.open(Hello::Helo).await {
            Ok(mut session) => {
                let note = format!("on an earlier connection: {}", first.error);
                let transcript = &mut session.conversation.stream().transcript;
                transcript.record(Speaker::Note, note.as_bytes());
                Ok(session)
            }
            Err(second) => {
                Err(FailedSession { error: second.error, transcript: first.transcript + &second.transcript })
            }
        }
    }

    /// Takes over a connection on which MAIL may follow.
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

    /// Sends one command at a time, whatever was announced: for a message that ended in
    /// [`Action::RetryWithoutPipelining`](super::Action::RetryWithoutPipelining).
    pub fn without_pipelining(self) -> Self {
        let pipelining = Pipelining::Never;
        Self { pipelining, ..self }
    }

    pub(super) fn may_pipeline(&self) -> bool {
        self.pipelining == Pipelining::WhenOffered && self.facts.capabilities.pipelining()
    }

    /// Returns what is known of the server.
    pub fn facts(&self) -> &SessionFacts {
        &self.facts
    }

    /// Returns how many transactions have been begun.
    pub fn transactions(&self) -> u32 {
        self.transactions
    }

    /// Returns how long ago the session was opened.
    pub fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.opened_at)
    }

    /// Returns how long ago the last transaction ended.
    pub fn idle(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.last_used_at)
    }

    /// Returns the bytes read and the bytes written so far, as SMTP sees them: without those of TLS.
    pub fn bytes(&self) -> (u64, u64) {
        let stream = &self.conversation.client.stream;
        (stream.bytes_read, stream.bytes_written)
    }

    /// Returns whether another message may be tried: the connection is open, the server has not spoken out of turn,
    /// and the number of transactions that it announced is not used up.
    pub fn is_reusable(&self) -> bool {
        let limit = self.facts.capabilities.mail_max.unwrap_or(u32::MAX);
        self.state != ConnectionState::Closed
            && self.transactions < limit
            && !self.conversation.client.stream.has_inbound()
    }

    /// Sends RSET where the last transaction failed. A refusal closes the session.
    ///
    /// [`SmtpSession::deliver`] does this by itself; calling it after the failed transaction instead keeps the wait out
    /// of the next one.
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

    /// Says QUIT and closes. What the server answers to it changes nothing, so nothing should wait for this.
    pub async fn quit(mut self) {
        if self.state != ConnectionState::Closed {
            self.conversation.client.timeout = self.timeouts.quit;
            // RFC 5321 §4.1.1.10: the reply is awaited, for as long as it is worth.
            let _ = self.conversation.client.quit().await;
        }
    }

    /// Drops the connection without a word.
    pub(super) fn close(&mut self) {
        self.conversation.stream().close();
        self.state = ConnectionState::Closed;
    }
}
