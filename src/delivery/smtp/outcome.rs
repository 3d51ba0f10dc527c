//! What comes of a message: one result for each recipient, and the state of the connection after it.

use super::SmtpPhase;
use super::conversation::{Cause, ConversationFailure};
use super::reply::Reply;

/// What came of one message.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// In the order of [`Envelope::recipients`](super::Envelope::recipients), one for each.
    pub recipients: Vec<RecipientResult>,
    pub connection: ConnectionState,
    /// What was said, at most 8 KiB; on the first message of a session, from the connection on.
    pub transcript: String,
}

/// What came of one recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecipientResult {
    /// The server has taken responsibility (RFC 5321 §6.1): the reply to the final dot.
    Accepted { reply: Reply },
    /// A refusal to be judged by [`classify`](super::classify()). At RCPT it is about this recipient; at MAIL, DATA
    /// and the message it is about all that were still in the transaction.
    Refused { phase: SmtpPhase, reply: Reply },
    /// Nothing was decided about this recipient, who may be tried again without the risk of a duplicate.
    ///
    /// `phase` is where the transaction stood: before [`SmtpPhase::Mail`], no attempt was made. `reply`, where there is
    /// one, is about the site: a 421, or the last words before the connection broke.
    NotTried { reason: Undecided, phase: SmtpPhase, reply: Option<Reply> },
    /// The final dot may have reached the server, and no answer came back. RFC 5321 §4.5.3.2.6 and RFC 1047: trying
    /// again may make a duplicate, not trying again may lose the message.
    Ambiguous { reason: Undecided },
}

/// Why nothing was decided, or why it is not known what was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecided {
    /// The server is closing the connection.
    Closing,
    /// The connection broke.
    Lost,
    TimedOut,
    /// The server's answer makes no sense.
    Garbled,
    /// More recipients than the server takes at a time: to go at once, in another transaction.
    OverRecipientLimit,
    /// The session had been closed before.
    SessionClosed,
}

impl std::fmt::Display for Undecided {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Closing => "the server is closing the connection",
            Self::Lost => "the connection broke",
            Self::TimedOut => "the server did not answer in time",
            Self::Garbled => "the server's answer makes no sense",
            Self::OverRecipientLimit => "the server takes fewer recipients at a time",
            Self::SessionClosed => "the session had been closed",
        })
    }
}

/// What can be done with the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionState {
    Reusable,
    /// RSET comes before the next message.
    NeedsReset,
    Closed,
}

impl From<ConversationFailure> for RecipientResult {
    fn from(broken: ConversationFailure) -> Self {
        Self::NotTried {
            reason: Undecided::from(&broken.cause),
            phase: broken.phase,
            reply: match broken.cause {
                Cause::Closing(reply) => Some(reply),
                Cause::TimedOut | Cause::Lost | Cause::Garbled(_) => None,
            },
        }
    }
}

impl From<&Cause> for Undecided {
    fn from(cause: &Cause) -> Self {
        match cause {
            Cause::Closing(_) => Self::Closing,
            Cause::TimedOut => Self::TimedOut,
            Cause::Lost => Self::Lost,
            Cause::Garbled(_) => Self::Garbled,
        }
    }
}
