//! One SMTP conversation with one server, and what its replies mean.
//!
//! A [`SmtpSession`] is opened to one address, carries any number of messages one after the other, and ends with QUIT
//! or with the first thing that cannot be explained. It knows nothing of the store, of the queue or of routing:
//! whoever holds it chooses the host, the TLS policy and when to stop, and turns each [`RecipientResult`] into an
//! outcome with the help of [`classify()`].
//!
//! ```text
//! connect -> greeting -> EHLO (else HELO) -> STARTTLS -> EHLO -> AUTH -> { MAIL RCPT.. DATA message }.. -> QUIT
//! \______________________ Session::open _____________________________/   \____ Session::deliver ____/
//! ```
//!
//! Files, in reading order:
//!
//! 1. `reply`: replies parsed from raw bytes, with every bound on them;
//! 2. `transcript`: the record of a conversation, at most 8 KiB of it;
//! 3. `stream`: TCP or TLS under one buffered adapter that gives out one reply line at a time;
//! 4. `tls`: the TLS policies and the two client configurations;
//! 5. `timeouts`: how long each phase may take;
//! 6. `conversation`: commands and replies over the adapter, each with a deadline;
//! 7. `capabilities`: what EHLO announced;
//! 8. `session`: what a session is, and the state of a connection between messages;
//! 9. `opening`: from the connection to the first MAIL;
//! 10. `envelope`: sender and recipients as command lines, and what is refused before a byte is sent;
//! 11. `body`: the dot-stuffing;
//! 12. `outcome`: one result for each recipient;
//! 13. `transaction`: one message on an open session;
//! 14. `classify` and `rules`: from a reply to a verdict.
//!
//! # Invariants
//!
//! - A recipient is `Accepted` only on a 2xx reply to the final dot, and `Ambiguous` only when the final dot may have
//!   reached the server and no reply to it came back.
//! - Bytes that follow a reply are never lost: they are the next reply. Bytes that follow the reply to STARTTLS end
//!   the session.
//! - After a 421, a timeout, a broken connection or an answer that makes no sense, the session is closed and is never
//!   used again.
//! - A bare CR or LF never leaves.
//! - Credentials never reach the transcript.
//!
//! # What mail-send does here
//!
//! Over the adapter, mail-send's client runs the SASL exchange, RSET and QUIT, and writes the parameters of MAIL.
//! EHLO, MAIL, RCPT, DATA and the message itself are written on the adapter directly, because there mail-send
//!
//! - drops the replies already received when a pipelined batch breaks off, waits for the rest of a batch behind a
//!   421, and knows one timeout for the whole batch;
//! - fails on replies over 4 KiB, and reads the enhanced code `5.7.708` as `5.7.255`;
//! - ends every message with a CRLF of its own, so that one that ends in CRLF, as ours do, gains an empty line;
//! - stuffs dots within one slice, while a message here is several, and lets a bare CR or LF through.

pub mod body;
pub mod capabilities;
pub mod classify;
mod conversation;
pub mod envelope;
mod opening;
pub mod outcome;
pub mod reply;
mod rules;
pub mod session;
mod stream;
#[cfg(test)]
mod tests;
pub mod timeouts;
pub mod tls;
mod transaction;
mod transcript;

pub use classify::{Action, BounceKind, FailReason, RefusalClass, SiteThrottle, Verdict, classify};
pub use envelope::Envelope;
pub use outcome::{ConnectionState, RecipientResult, Transaction, Undecided};
pub use reply::{EnhancedCode, Reply, ReplyError, parse_reply};
pub use session::{Credentials, Endpoint, FailedSession, Hello, Identity, SessionError, SessionFacts, SmtpSession};
pub use timeouts::Timeouts;
pub use tls::{TlsConfigs, TlsFacts, TlsPolicy, Verification};

/// A step of the conversation, in the order in which they happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SmtpPhase {
    Connect,
    Greeting,
    Ehlo,
    StartTls,
    Auth,
    /// Before MAIL: what this side refuses by itself, from what the server announced.
    Precheck,
    Mail,
    Rcpt,
    Data,
    /// The message and its final dot.
    Body,
}

impl SmtpPhase {
    /// Returns the name as it is printed in records and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Greeting => "greeting",
            Self::Ehlo => "EHLO",
            Self::StartTls => "STARTTLS",
            Self::Auth => "AUTH",
            Self::Precheck => "precheck",
            Self::Mail => "MAIL",
            Self::Rcpt => "RCPT",
            Self::Data => "DATA",
            Self::Body => "message",
        }
    }
}

impl std::fmt::Display for SmtpPhase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
