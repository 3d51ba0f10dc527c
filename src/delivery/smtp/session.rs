//! From the connection to the first MAIL, and the state of a connection between messages.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use mail_send::{Credentials as Sasl, Error as SaslError};
use tokio::time::{Duration, Instant, timeout};
use tokio_rustls::rustls::pki_types::ServerName;

use super::capabilities::Capabilities;
use super::conversation::{Broken, Cause, Conversation};
use super::reply::{Reply, ReplyError};
use super::stream::{Secrecy, SmtpStream};
use super::timeouts::Timeouts;
use super::tls::{TlsConfigs, TlsFacts, TlsPolicy, Verification};
use super::transaction::ConnectionState;
use super::transcript::Speaker;
use super::Phase;

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
    Unreachable { reason: String },
    /// The server said no, to be judged by [`classify`](super::classify()).
    Refused { phase: Phase, reply: Reply },
    /// STARTTLS was refused or the handshake failed. Under [`TlsPolicy::Opportunistic`] the caller may connect again
    /// with [`TlsPolicy::Never`] and remember the host.
    TlsFailed { reason: String },
    /// [`TlsPolicy::Required`], and STARTTLS is not offered.
    TlsNotOffered,
    /// Bytes followed the reply to STARTTLS in clear text: someone between put them there.
    Injected,
    /// Credentials are given, and the server takes none of the mechanisms.
    AuthNotOffered,
    /// Credentials are given, and the connection would carry them in clear text.
    AuthInClear,
    TimedOut { phase: Phase },
    /// The server closed the connection without a word.
    Lost { phase: Phase },
    /// The server does not speak SMTP.
    Garbled { phase: Phase, error: ReplyError },
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

impl From<Broken> for SessionError {
    fn from(broken: Broken) -> Self {
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
pub struct Session {
    pub(super) conversation: Conversation,
    pub(super) timeouts: Timeouts,
    pub(super) state: ConnectionState,
    /// Transactions begun: what MAILMAX counts (RFC 9422 §4).
    pub(super) transactions: u32,
    pub(super) last_used_at: Instant,
    opened_at: Instant,
    facts: SessionFacts,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("state", &self.state)
            .field("transactions", &self.transactions)
            .field("facts", &self.facts)
            .finish_non_exhaustive()
    }
}

impl Session {
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
        let opening = Opening {
            endpoint,
            identity,
            timeouts,
            tls,
        };
        let failed = match opening.open(Hello::Ehlo).await {
            Err(failed) if opening.may_say_helo(&failed.error) => failed,
            result => return result,
        };
        // RFC 5321 §3.2: a client whose EHLO is refused falls back to HELO. On a second connection, since many
        // servers do not recover on the first.
        opening.open(Hello::Helo).await.map_err(|second| FailedSession {
            error: second.error,
            transcript: failed.transcript + &second.transcript,
        })
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
    /// [`Session::deliver`] does this by itself; calling it after the failed transaction instead keeps the wait out
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

/// The arguments of [`Session::open`], on the way to a session.
struct Opening<'a> {
    endpoint: &'a Endpoint,
    identity: &'a Identity,
    timeouts: &'a Timeouts,
    tls: &'a TlsConfigs,
}

impl Opening<'_> {
    fn may_say_helo(&self, error: &SessionError) -> bool {
        matches!(error, SessionError::Refused { phase: Phase::Ehlo, reply } if reply.is_permanent())
            && matches!(
                self.endpoint.tls,
                TlsPolicy::Never | TlsPolicy::Opportunistic
            )
            && self.identity.credentials.is_none()
    }

    async fn open(&self, hello: Hello) -> Result<Session, FailedSession> {
        let address = self.endpoint.address;
        let connect = SmtpStream::connect(address, self.identity.source);
        let stream = match timeout(self.timeouts.connect, connect).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                return Err(FailedSession {
                    transcript: format!("-- connecting to {address} failed: {error}\n"),
                    error: SessionError::Unreachable {
                        reason: error.to_string(),
                    },
                });
            }
            Err(_) => {
                return Err(FailedSession {
                    transcript: format!("-- connecting to {address} timed out\n"),
                    error: SessionError::TimedOut {
                        phase: Phase::Connect,
                    },
                });
            }
        };
        let mut conversation = Conversation::new(stream);
        let note = format!("connected to {} at {address}", self.endpoint.host);
        conversation
            .stream()
            .transcript
            .record(Speaker::Note, note.as_bytes());

        match self.greet(&mut conversation, hello).await {
            Ok(facts) => {
                let opened_at = Instant::now();
                Ok(Session {
                    conversation,
                    timeouts: self.timeouts.clone(),
                    state: ConnectionState::Reusable,
                    transactions: 0,
                    last_used_at: opened_at,
                    opened_at,
                    facts,
                })
            }
            Err(error) => {
                let transcript = &mut conversation.stream().transcript;
                transcript.record(Speaker::Note, error.to_string().as_bytes());
                Err(FailedSession {
                    transcript: transcript.take(),
                    error,
                })
            }
        }
    }

    /// Takes a fresh connection to the point where MAIL may follow.
    async fn greet(
        &self,
        conversation: &mut Conversation,
        hello: Hello,
    ) -> Result<SessionFacts, SessionError> {
        let mut facts = SessionFacts {
            host: self.endpoint.host.clone(),
            address: self.endpoint.address,
            hello,
            tls: None,
            capabilities: Capabilities::default(),
        };
        if let TlsPolicy::Implicit { verify } = self.endpoint.tls {
            facts.tls = Some(self.handshake(conversation, verify).await?);
        }
        let greeting = conversation
            .reply(Phase::Greeting, self.timeouts.greeting)
            .await
            .map_err(|broken| after_handshake(broken, &facts))?;
        accept(Phase::Greeting, greeting)?;
        facts.capabilities = self.hello(conversation, hello).await?;

        if let Some(verify) = self.wanted_starttls(&facts.capabilities)? {
            self.starttls(conversation).await?;
            facts.tls = Some(self.handshake(conversation, verify).await?);
            // RFC 3207 §4.2: what was announced before TLS is forgotten.
            facts.capabilities = match self.hello(conversation, hello).await {
                Err(SessionError::Lost { phase }) => {
                    let cause = Cause::Lost;
                    return Err(after_handshake(Broken { phase, cause }, &facts));
                }
                result => result?,
            };
        }
        if let Some(credentials) = &self.identity.credentials {
            self.authenticate(conversation, credentials, &facts).await?;
        }
        Ok(facts)
    }

    async fn hello(
        &self,
        conversation: &mut Conversation,
        hello: Hello,
    ) -> Result<Capabilities, SessionError> {
        let name = &self.identity.ehlo_name;
        let (line, limit) = match hello {
            Hello::Ehlo => (format!("EHLO {name}\r\n"), self.timeouts.ehlo),
            Hello::Helo => (format!("HELO {name}\r\n"), self.timeouts.ehlo),
        };
        let reply = conversation.command(Phase::Ehlo, &line, limit).await?;
        accept(Phase::Ehlo, reply)?;
        Ok(match hello {
            Hello::Ehlo => Capabilities::parse(conversation.raw()),
            Hello::Helo => Capabilities::default(),
        })
    }

    /// Returns how the certificate is verified, where STARTTLS is to be sent.
    fn wanted_starttls(
        &self,
        announced: &Capabilities,
    ) -> Result<Option<Verification>, SessionError> {
        match self.endpoint.tls {
            TlsPolicy::Never | TlsPolicy::Implicit { .. } => Ok(None),
            TlsPolicy::Opportunistic => {
                Ok(announced.starttls().then_some(Verification::Nothing))
            }
            TlsPolicy::Required { verify } if announced.starttls() => Ok(Some(verify)),
            TlsPolicy::Required { .. } => Err(SessionError::TlsNotOffered),
        }
    }

    async fn starttls(&self, conversation: &mut Conversation) -> Result<(), SessionError> {
        let reply = conversation
            .command(Phase::StartTls, "STARTTLS\r\n", self.timeouts.tls)
            .await?;
        if !reply.is_positive() {
            return Err(SessionError::TlsFailed {
                reason: format!("STARTTLS was answered with {reply}"),
            });
        }
        // RFC 3207 §4.2, and the injections that forgetting it made possible: nothing read in clear text may be
        // taken for an answer inside TLS.
        let stream = conversation.stream();
        if stream.has_peer_spoken().await && stream.has_inbound() {
            return Err(SessionError::Injected);
        }
        Ok(())
    }

    async fn handshake(
        &self,
        conversation: &mut Conversation,
        verify: Verification,
    ) -> Result<TlsFacts, SessionError> {
        let name = self.server_name(verify)?;
        let stream = conversation.stream();
        let handshake = stream.start_tls(self.tls.of(verify), name, verify);
        let facts = match timeout(self.timeouts.tls, handshake).await {
            Ok(Ok(facts)) => facts,
            Ok(Err(error)) => {
                return Err(SessionError::TlsFailed {
                    reason: error.to_string(),
                });
            }
            Err(_) => {
                return Err(SessionError::TlsFailed {
                    reason: "the handshake timed out".to_string(),
                });
            }
        };
        let note = format!("{} {}", facts.version, facts.cipher);
        stream.transcript.record(Speaker::Note, note.as_bytes());
        Ok(facts)
    }

    /// Returns the name for SNI and verification. Where nothing is verified, a host whose name is no DNS name (an
    /// underscore is enough) is called by its address, and gets no SNI.
    fn server_name(&self, verify: Verification) -> Result<ServerName<'static>, SessionError> {
        let host = self.endpoint.host.trim_end_matches('.');
        match (ServerName::try_from(host), verify) {
            (Ok(name), _) => Ok(name.to_owned()),
            (Err(_), Verification::Nothing) => Ok(self.endpoint.address.ip().into()),
            (Err(error), Verification::WebPki) => Err(SessionError::TlsFailed {
                reason: error.to_string(),
            }),
        }
    }

    async fn authenticate(
        &self,
        conversation: &mut Conversation,
        credentials: &Credentials,
        facts: &SessionFacts,
    ) -> Result<(), SessionError> {
        // `Never` is an operator's word for a network that is trusted; finding no STARTTLS is not.
        if facts.tls.is_none() && self.endpoint.tls != TlsPolicy::Never {
            return Err(SessionError::AuthInClear);
        }
        let sasl = match credentials {
            Credentials::Password { username, password } => {
                Sasl::new(username.as_str(), password.as_str())
            }
            Credentials::Bearer { username, token } => {
                Sasl::new_xoauth2(username.as_str(), token.as_str())
            }
        };
        let client = &mut conversation.client;
        client.timeout = self.timeouts.auth;
        client.stream.set_secrecy(Secrecy::Credentials);
        let result = client
            .authenticate(&sasl, &facts.capabilities.sasl())
            .await
            .map(|_| ());
        client.stream.set_secrecy(Secrecy::Open);

        let phase = Phase::Auth;
        result.map_err(|error| match error {
            SaslError::UnsupportedAuthMechanism => SessionError::AuthNotOffered,
            SaslError::Timeout => SessionError::TimedOut { phase },
            // The reply is read again from its bytes: mail-send's own has lost digits of the enhanced code.
            _ => match client.stream.last_handed_out() {
                Some(reply) => SessionError::Refused { phase, reply },
                None => SessionError::Lost { phase },
            },
        })
    }
}

fn accept(phase: Phase, reply: Reply) -> Result<(), SessionError> {
    if reply.is_positive() {
        Ok(())
    } else {
        Err(SessionError::Refused { phase, reply })
    }
}

/// In TLS 1.3 the client's handshake ends before the server's: a server that refuses it then shows as a connection
/// that is lost at the first command.
fn after_handshake(broken: Broken, facts: &SessionFacts) -> SessionError {
    if facts.tls.is_some() && broken.cause == Cause::Lost {
        SessionError::TlsFailed {
            reason: "the server hung up after the handshake".to_string(),
        }
    } else {
        broken.into()
    }
}
