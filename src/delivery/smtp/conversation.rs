//! Commands and replies over the adapter, each with a deadline.

use std::io;
use std::time::Duration;

use mail_send::SmtpClient;
use tokio::time::{Instant, timeout_at};

use super::SmtpPhase;
use super::reply::{Reply, ReplyError};
use super::stream::{Flushed, ReadError, SmtpStream};

/// Error that ends a conversation. The connection must be closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConversationFailure {
    pub(super) phase: SmtpPhase,
    pub(super) cause: Cause,
}

/// Cause of a [`ConversationFailure`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The server closes the connection: a 421 to any command (RFC 5321 §3.8), or another refusal that it sent before
    /// it closed.
    Closing(Reply),
    TimedOut,
    Lost,
    InvalidReply(ReplyError),
}

/// The adapter inside the client of mail-send, with deadlines for commands and replies.
pub(super) struct Conversation {
    pub(super) client: SmtpClient<SmtpStream>,
    /// Lines of the last reply.
    raw: Vec<u8>,
    /// Time limit for a last reply from a server that has stopped reading. Usually the reply has arrived already.
    last_reply_timeout: Duration,
    /// Deadline of the current transaction. It also ends phases that are within their own limits.
    transaction_deadline: Option<Instant>,
}

impl Conversation {
    pub(super) fn new(stream: SmtpStream, last_reply_timeout: Duration) -> Self {
        Self {
            client: SmtpClient {
                stream,
                // Each use of the client sets it.
                timeout: Duration::ZERO,
            },
            raw: Vec::new(),
            last_reply_timeout,
            transaction_deadline: None,
        }
    }

    pub(super) fn stream(&mut self) -> &mut SmtpStream {
        &mut self.client.stream
    }

    /// Returns the raw lines of the last reply.
    pub(super) fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// Starts or ends the time limit of a transaction.
    pub(super) fn set_transaction_limit(&mut self, limit: Option<Duration>) {
        self.transaction_deadline = limit.map(|limit| Instant::now() + limit);
    }

    /// Returns the deadline of a phase that starts now: its own limit or the transaction's, whichever is earlier.
    fn deadline(&self, limit: Duration) -> Instant {
        let deadline = Instant::now() + limit;
        self.transaction_deadline.map_or(deadline, |end| end.min(deadline))
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

    /// Writes the buffered commands.
    pub(super) async fn flush(&mut self, phase: SmtpPhase, limit: Duration) -> Result<(), ConversationFailure> {
        let deadline = self.deadline(limit);
        let cause = match timeout_at(deadline, self.stream().flush()).await {
            Ok(Ok(())) => return Ok(()),
            // The server may have sent a reply before it closed. The reply is more useful than the write error.
            Ok(Err(_)) => self.last_reply_cause(phase).await,
            Err(_) => Cause::TimedOut,
        };
        Err(ConversationFailure { phase, cause })
    }

    /// Writes the buffered part of a message. Stops if the server sends a reply or closes the connection.
    ///
    /// # Errors
    ///
    /// `TimedOut` at the deadline, or the error of the connection.
    pub(super) async fn flush_block(&mut self, deadline: Instant) -> io::Result<Flushed> {
        match timeout_at(deadline, self.stream().flush_watching()).await {
            Ok(result) => result,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// Returns the deadline for a block of a message, given the deadline `body` of the whole message.
    pub(super) fn block_deadline(&self, block: Duration, body: Instant) -> Instant {
        self.deadline(block).min(body)
    }

    /// Waits for one reply. A 421 is a [`Cause::Closing`].
    pub(super) async fn reply(&mut self, phase: SmtpPhase, limit: Duration) -> Result<Reply, ConversationFailure> {
        let deadline = self.deadline(limit);
        let Self { client, raw, .. } = self;
        let cause = match timeout_at(deadline, client.stream.read_reply(raw)).await {
            Ok(Ok(reply)) if reply.code == 421 => Cause::Closing(reply),
            Ok(Ok(reply)) => return Ok(reply),
            Ok(Err(ReadError::Closed | ReadError::Io(_))) => Cause::Lost,
            Ok(Err(ReadError::InvalidReply(error))) => Cause::InvalidReply(error),
            Err(_) => Cause::TimedOut,
        };
        Err(ConversationFailure { phase, cause })
    }

    /// Waits for a last reply from a server that has stopped reading.
    pub(super) async fn last_reply(&mut self, phase: SmtpPhase) -> Result<Reply, ConversationFailure> {
        self.reply(phase, self.last_reply_timeout).await
    }

    /// Returns the cause of a failed write: the last reply of the server if it is a refusal.
    async fn last_reply_cause(&mut self, phase: SmtpPhase) -> Cause {
        match self.last_reply(phase).await {
            Ok(reply) if !reply.is_positive() => Cause::Closing(reply),
            Err(ConversationFailure { cause: Cause::Closing(reply), .. }) => Cause::Closing(reply),
            _ => Cause::Lost,
        }
    }
}
