//! The phases before the first MAIL: connection, greeting, EHLO, STARTTLS, EHLO again, AUTH.

use mail_send::{Credentials as Sasl, Error as SaslError};
use tokio::time::timeout;
use tokio_rustls::rustls::pki_types::ServerName;

use super::SmtpPhase;
use super::capabilities::Capabilities;
use super::conversation::{Cause, Conversation, ConversationFailure};
use super::reply::Reply;
use super::session::{Credentials, Endpoint, FailedSession, Hello, Identity, SessionError, SessionFacts, SmtpSession};
use super::stream::{Secrecy, SmtpStream};
use super::timeouts::Timeouts;
use super::tls::{TlsConfigs, TlsFacts, TlsPolicy, Verification};
use super::transcript::LineSource;

/// The arguments of [`SmtpSession::open`].
pub(super) struct Opening<'a> {
    pub(super) endpoint: &'a Endpoint,
    pub(super) identity: &'a Identity,
    pub(super) timeouts: &'a Timeouts,
    pub(super) tls: &'a TlsConfigs,
}

impl Opening<'_> {
    /// Returns whether to try HELO after this error: EHLO was permanently refused, and neither the TLS policy nor
    /// authentication needs an extension.
    pub(super) fn can_fall_back_to_helo(&self, error: &SessionError) -> bool {
        matches!(error, SessionError::Refused { phase: SmtpPhase::Ehlo, reply } if reply.is_permanent())
            && matches!(self.endpoint.tls, TlsPolicy::Never | TlsPolicy::Opportunistic)
            && self.identity.credentials.is_none()
    }

    /// Connects, and performs all phases before MAIL.
    pub(super) async fn open(&self, hello: Hello) -> Result<SmtpSession, FailedSession> {
        let address = self.endpoint.address;
        let connect = SmtpStream::connect(address, self.identity.source);
        let stream = match timeout(self.timeouts.connect, connect).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                return Err(FailedSession {
                    transcript: format!("-- connecting to {address} failed: {error}\n"),
                    error: SessionError::Unreachable { reason: error.to_string() },
                });
            }
            Err(_) => {
                return Err(FailedSession {
                    transcript: format!("-- connecting to {address} timed out\n"),
                    error: SessionError::TimedOut { phase: SmtpPhase::Connect },
                });
            }
        };
        let mut conversation = Conversation::new(stream, self.timeouts.quit);
        let note = format!("connected to {} at {address}", self.endpoint.host);
        conversation.stream().transcript.record(LineSource::Note, note.as_bytes());

        match self.establish(&mut conversation, hello).await {
            Ok(facts) => Ok(SmtpSession::new(conversation, self.timeouts.clone(), facts)),
            Err(error) => {
                let transcript = &mut conversation.stream().transcript;
                transcript.record(LineSource::Note, error.to_string().as_bytes());
                Err(FailedSession { transcript: transcript.take(), error })
            }
        }
    }

    /// Performs the phases from the greeting to AUTH on a new connection.
    async fn establish(&self, conversation: &mut Conversation, hello: Hello) -> Result<SessionFacts, SessionError> {
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
            .reply(SmtpPhase::Greeting, self.timeouts.greeting)
            .await
            .map_err(|failure| after_handshake(failure, &facts))?;
        accept(SmtpPhase::Greeting, greeting)?;
        facts.capabilities = self.hello(conversation, hello).await?;

        if let Some(verify) = self.starttls_verification(&facts.capabilities)? {
            self.starttls(conversation).await?;
            facts.tls = Some(self.handshake(conversation, verify).await?);
            // RFC 3207 §4.2: the client must discard the extensions announced before TLS.
            facts.capabilities = match self.hello(conversation, hello).await {
                Err(SessionError::Lost { phase }) => {
                    let cause = Cause::Lost;
                    return Err(after_handshake(ConversationFailure { phase, cause }, &facts));
                }
                result => result?,
            };
        }
        if let Some(credentials) = &self.identity.credentials {
            self.authenticate(conversation, credentials, &facts).await?;
        }
        Ok(facts)
    }

    async fn hello(&self, conversation: &mut Conversation, hello: Hello) -> Result<Capabilities, SessionError> {
        let name = &self.identity.ehlo_name;
        let (line, limit) = match hello {
            Hello::Ehlo => (format!("EHLO {name}\r\n"), self.timeouts.ehlo),
            Hello::Helo => (format!("HELO {name}\r\n"), self.timeouts.ehlo),
        };
        let reply = conversation.command(SmtpPhase::Ehlo, &line, limit).await?;
        accept(SmtpPhase::Ehlo, reply)?;
        Ok(match hello {
            Hello::Ehlo => Capabilities::parse(conversation.raw()),
            Hello::Helo => Capabilities::default(),
        })
    }

    /// Returns the verification of the certificate if STARTTLS must be sent; `None` if it must not.
    fn starttls_verification(&self, announced: &Capabilities) -> Result<Option<Verification>, SessionError> {
        match self.endpoint.tls {
            TlsPolicy::Never | TlsPolicy::Implicit { .. } => Ok(None),
            TlsPolicy::Opportunistic => Ok(announced.starttls().then_some(Verification::Nothing)),
            TlsPolicy::Required { verify } if announced.starttls() => Ok(Some(verify)),
            TlsPolicy::Required { .. } => Err(SessionError::TlsNotOffered),
        }
    }

    async fn starttls(&self, conversation: &mut Conversation) -> Result<(), SessionError> {
        let reply = conversation.command(SmtpPhase::StartTls, "STARTTLS\r\n", self.timeouts.tls).await?;
        if !reply.is_positive() {
            return Err(SessionError::StartTlsRefused { reply });
        }
        // RFC 3207 §4.2: bytes received in clear text must not be read as replies inside TLS. Servers that ignored
        // this were open to command injection.
        let stream = conversation.stream();
        if stream.is_readable().await && stream.has_unread_bytes() {
            return Err(SessionError::Injected);
        }
        Ok(())
    }

    async fn handshake(&self, conversation: &mut Conversation, verify: Verification) -> Result<TlsFacts, SessionError> {
        let name = self.server_name(verify)?;
        let stream = conversation.stream();
        let handshake = stream.start_tls(self.tls.of(verify), name, verify);
        let facts = match timeout(self.timeouts.tls, handshake).await {
            Ok(Ok(facts)) => facts,
            Ok(Err(error)) => {
                return Err(SessionError::TlsFailed { reason: error.to_string() });
            }
            Err(_) => {
                return Err(SessionError::TlsFailed { reason: "the handshake timed out".to_string() });
            }
        };
        let note = format!("{} {}", facts.version, facts.cipher);
        stream.transcript.record(LineSource::Note, note.as_bytes());
        Ok(facts)
    }

    /// Returns the name for SNI and verification.
    ///
    /// If nothing is verified, the host name may be invalid, for example because of an underscore. The IP address is
    /// then returned, and the client sends no SNI.
    fn server_name(&self, verify: Verification) -> Result<ServerName<'static>, SessionError> {
        let host = self.endpoint.host.trim_end_matches('.');
        match (ServerName::try_from(host), verify) {
            (Ok(name), _) => Ok(name.to_owned()),
            (Err(_), Verification::Nothing) => Ok(self.endpoint.address.ip().into()),
            (Err(error), Verification::WebPki) => Err(SessionError::TlsFailed { reason: error.to_string() }),
        }
    }

    async fn authenticate(
        &self,
        conversation: &mut Conversation,
        credentials: &Credentials,
        facts: &SessionFacts,
    ) -> Result<(), SessionError> {
        // `Never` means that the operator trusts the network. A missing STARTTLS does not mean that.
        if facts.tls.is_none() && self.endpoint.tls != TlsPolicy::Never {
            return Err(SessionError::AuthInClear);
        }
        let sasl = match credentials {
            Credentials::Password { username, password } => Sasl::new(username.as_str(), password.as_str()),
            Credentials::Bearer { username, token } => Sasl::new_xoauth2(username.as_str(), token.as_str()),
        };
        let client = &mut conversation.client;
        client.timeout = self.timeouts.auth;
        client.stream.set_secrecy(Secrecy::Credentials);
        let result = client.authenticate(&sasl, &facts.capabilities.sasl()).await.map(|_| ());
        client.stream.set_secrecy(Secrecy::Open);

        let phase = SmtpPhase::Auth;
        result.map_err(|error| match error {
            SaslError::UnsupportedAuthMechanism => SessionError::AuthNotOffered,
            SaslError::Timeout => SessionError::TimedOut { phase },
            // Parses the bytes of the reply again, because mail-send truncates the enhanced code.
            _ => match client.stream.last_read_reply() {
                Some(reply) => SessionError::Refused { phase, reply },
                None => SessionError::Lost { phase },
            },
        })
    }
}

/// Returns an error unless the reply is positive.
fn accept(phase: SmtpPhase, reply: Reply) -> Result<(), SessionError> {
    if reply.is_positive() { Ok(()) } else { Err(SessionError::Refused { phase, reply }) }
}

/// Converts a failure of the first command. Reports a connection lost after the handshake as a TLS failure.
///
/// In TLS 1.3 the handshake of the client ends before that of the server. If the server rejects it, the client
/// notices at the first command.
fn after_handshake(failure: ConversationFailure, facts: &SessionFacts) -> SessionError {
    if facts.tls.is_some() && failure.cause == Cause::Lost {
        SessionError::TlsFailed { reason: "the server hung up after the handshake".to_string() }
    } else {
        failure.into()
    }
}
