//! The result of an SMTP transaction: one result for each recipient, and the state of the connection.

use super::SmtpPhase;
use super::conversation::{Cause, ConversationFailure};
use super::reply::Reply;

/// Result of one SMTP transaction.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// One result for each recipient, in the order of [`Envelope::recipients`](super::Envelope::recipients).
    pub recipients: Vec<RecipientResult>,
    pub connection: ConnectionState,
    /// Commands and replies, at most 8 KiB. In the first transaction of a session, includes those before MAIL.
    pub transcript: String,
}

/// Result of a transaction for one recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecipientResult {
    /// The server accepted responsibility for the message (RFC 5321 §6.1), in its reply to the final dot.
    Accepted { reply: Reply },
    /// The server or the precheck refused the recipient. [`classify`](super::classify()) returns the meaning.
    ///
    /// A refusal at RCPT concerns this recipient only. A refusal in another phase concerns all recipients that were not
    /// refused before.
    Refused { phase: SmtpPhase, reply: Reply },
    /// The transaction ended without a result for this recipient. A retry cannot cause a duplicate.
    ///
    /// `phase` is the phase in which it ended. Before [`SmtpPhase::Mail`], no attempt was made. `reply` concerns the
    /// site: a 421, or another refusal before the server closed the connection.
    NotTried { reason: IncompleteReason, phase: SmtpPhase, reply: Option<Reply> },
    /// The final dot may have reached the server, and no reply to it was received.
    ///
    /// RFC 5321 §4.5.3.2.6 and RFC 1047: a retry can cause a duplicate, no retry can lose the message.
    Ambiguous { reason: IncompleteReason },
}

/// Reason why a transaction ended without a result for a recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IncompleteReason {
    #[error("the server is closing the connection")]
    Closing,
    #[error("the connection was lost")]
    Lost,
    #[error("the server did not reply in time")]
    TimedOut,
    #[error("the server sent an invalid reply")]
    InvalidReply,
    /// The transaction already has the maximum number of recipients. The recipient needs another transaction.
    #[error("the server accepts fewer recipients at a time")]
    OverRecipientLimit,
    #[error("the session was already closed")]
    SessionClosed,
    /// The caller withdrew the message before the final dot.
    #[error("the message was withdrawn before its end")]
    Withdrawn,
}

/// State of the connection after a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionState {
    Reusable,
    /// RSET must precede the next message.
    NeedsReset,
    Closed,
}

impl From<ConversationFailure> for RecipientResult {
    fn from(failure: ConversationFailure) -> Self {
        Self::NotTried {
            reason: IncompleteReason::from(&failure.cause),
            phase: failure.phase,
            reply: match failure.cause {
                Cause::Closing(reply) => Some(reply),
                Cause::TimedOut | Cause::Lost | Cause::InvalidReply(_) => None,
            },
        }
    }
}

impl From<&Cause> for IncompleteReason {
    fn from(cause: &Cause) -> Self {
        match cause {
            Cause::Closing(_) => Self::Closing,
            Cause::TimedOut => Self::TimedOut,
            Cause::Lost => Self::Lost,
            Cause::InvalidReply(_) => Self::InvalidReply,
        }
    }
}
