//! Commands and replies over the adapter, each with a deadline.

use std::io;
use std::time::Duration;

use mail_send::SmtpClient;
use tokio::time::{Instant, timeout_at};

use super::SmtpPhase;
use super::reply::{Reply, ReplyError};
use super::stream::{Flushed, ReadError, SmtpStream};

/// How a conversation broke off. After it, nothing more can be said on the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConversationFailure {
    pub(super) phase: SmtpPhase,
    pub(super) cause: Cause,
}

/// Why a conversation broke off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// RFC 5321 §3.8: a 421 in answer to any command announces that the server closes the connection. Any other
    /// refusal is the last word of a server that had hung up already.
    Closing(Reply),
    TimedOut,
    Lost,
    Garbled(ReplyError),
}

/// The adapter inside mail-send's client, and the clock that all waiting is measured against.
pub(super) struct Conversation {
    pub(super) client: SmtpClient<SmtpStream>,
    raw: Vec<u8>,
    /// How long a reply is awaited from a server that has stopped listening. What there is has usually arrived.
    parting: Duration,
    /// The end of the current transaction, whatever its phases may still be allowed.
    watchdog: Option<Instant>,
}

impl Conversation {
    pub(super) fn new(stream: SmtpStream, parting: Duration) -> Self {
        Self {
            client: SmtpClient {
                stream,
                // Set for each use of the client.
                timeout: Duration::ZERO,
            },
            raw: Vec::new(),
            parting,
            watchdog: None,
        }
    }

    pub(super) fn stream(&mut self) -> &mut SmtpStream {
        &mut self.client.stream
    }

    /// Returns the raw lines of the last reply.
    pub(super) fn raw(&self) -> &[u8] {
        &self.raw
    }

    pub(super) fn set_watchdog(&mut self, limit: Option<Duration>) {
        self.watchdog = limit.map(|limit| Instant::now() + limit);
    }

    /// Returns the end of a phase that may take this long.
    fn deadline(&self, limit: Duration) -> Instant {
        let deadline = Instant::now() + limit;
        self.watchdog.map_or(deadline, |watchdog| watchdog.min(deadline))
    }

    /// Writes one command line and waits for its reply.
    pub(super) async fn command(
        &mut self,
        phase: SmtpPhase,
        line: &str,
        limit: Duration,
    ) -> Result<Reply, ConversationFailure> {
        self.stream().queue(line.as_bytes());
        self.flush(phase, limit).await?;
        self.reply(phase, limit).await
    }

    /// Writes the gathered commands.
    pub(super) async fn flush(&mut self, phase: SmtpPhase, limit: Duration) -> Result<(), ConversationFailure> {
        let deadline = self.deadline(limit);
        let cause = match timeout_at(deadline, self.stream().flush()).await {
            Ok(Ok(())) => return Ok(()),
            // The server may have said why it hung up. That answer is worth more than the broken pipe.
            Ok(Err(_)) => self.parting_words(phase).await,
            Err(_) => Cause::TimedOut,
        };
        Err(ConversationFailure { phase, cause })
    }

    /// Writes the gathered part of a message, unless the server speaks first.
    ///
    /// # Errors
    ///
    /// `TimedOut`, or the error of the connection.
    pub(super) async fn flush_block(&mut self, deadline: Instant) -> io::Result<Flushed> {
        match timeout_at(deadline, self.stream().flush_watching()).await {
            Ok(result) => result,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// Returns the end of a block of a message, given the end of the whole message.
    pub(super) fn block_deadline(&self, block: Duration, body: Instant) -> Instant {
        self.deadline(block).min(body)
    }

    /// Waits for one reply. A 421 is always the end.
    pub(super) async fn reply(&mut self, phase: SmtpPhase, limit: Duration) -> Result<Reply, ConversationFailure> {
        let deadline = self.deadline(limit);
        let Self { client, raw, .. } = self;
        let cause = match timeout_at(deadline, client.stream.read_reply(raw)).await {
            Ok(Ok(reply)) if reply.code == 421 => Cause::Closing(reply),
            Ok(Ok(reply)) => return Ok(reply),
            Ok(Err(ReadError::Closed | ReadError::Io(_))) => Cause::Lost,
            Ok(Err(ReadError::Garbled(error))) => Cause::Garbled(error),
            Err(_) => Cause::TimedOut,
        };
        Err(ConversationFailure { phase, cause })
    }

    /// Waits for a last reply from a server that has stopped listening.
    pub(super) async fn parting_reply(&mut self, phase: SmtpPhase) -> Result<Reply, ConversationFailure> {
        self.reply(phase, self.parting).await
    }

    async fn parting_words(&mut self, phase: SmtpPhase) -> Cause {
        match self.parting_reply(phase).await {
            Ok(reply) if !reply.is_positive() => Cause::Closing(reply),
            Err(ConversationFailure { cause: Cause::Closing(reply), .. }) => Cause::Closing(reply),
            _ => Cause::Lost,
        }
    }
}
