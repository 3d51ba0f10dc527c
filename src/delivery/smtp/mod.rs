//! The SMTP client: one session with one server, and the classification of its replies.
//!
//! A [`SmtpSession`] connects to one address and delivers any number of messages one after the other. It ends with
//! QUIT or at the first error. It does not use the store, the queue or routing. The caller chooses the host, the TLS
//! policy and the end of the session, and derives a disposition from each [`RecipientResult`] with [`classify()`].
//!
//! ```text
//! connect -> greeting -> EHLO (else HELO) -> STARTTLS -> EHLO -> AUTH -> { MAIL RCPT.. DATA message }.. -> QUIT
//! \____________________ SmtpSession::open ___________________________/   \__ SmtpSession::deliver __/
//! ```
//!
//! Files, in reading order:
//!
//! 1. `reply.rs`: parsing of replies from raw bytes, with bounds;
//! 2. `transcript.rs`: a copy of commands and replies, at most 8 KiB;
//! 3. `stream.rs`: a buffered adapter over TCP or TLS that returns one reply line at a time;
//! 4. `tls.rs`: TLS policies and client configurations;
//! 5. `timeouts.rs`: time limits of the phases;
//! 6. `conversation.rs`: commands and replies over the adapter, each with a deadline;
//! 7. `capabilities.rs`: the extensions announced in the reply to EHLO;
//! 8. `session.rs`: a session, its errors, and its state between messages;
//! 9. `opening.rs`: the phases from the connection to the first MAIL;
//! 10. `envelope.rs`: the command lines of sender and recipients, and refusals by the client;
//! 11. `body.rs`: dot-stuffing;
//! 12. `outcome.rs`: the result of each recipient;
//! 13. `transaction.rs`: one message on an open session;
//! 14. `classify.rs`, `refusal_text.rs` and `rules/`: the meaning of a refusal and the action that follows.
//!
//! # Invariants
//!
//! - A recipient is `Accepted` only after a 2xx reply to the final dot.
//! - A recipient is `Ambiguous` only if the final dot may have reached the server and no reply to it was received.
//! - Bytes after a reply are read as the next reply. Bytes after the reply to STARTTLS end the session.
//! - After a 421, a timeout, a lost connection or an invalid reply, the session is closed and never reused.
//! - The client never sends a bare CR or LF.
//! - The transcript never contains credentials.
//!
//! # Use of mail-send
//!
//! The client of mail-send runs the SASL exchange, RSET and QUIT over the adapter, and formats the parameters of MAIL.
//! This module writes EHLO, MAIL, RCPT, DATA and the message itself, for these reasons:
//!
//! - If a pipelined batch fails, mail-send drops the replies that it has received. After a 421 it waits for the other
//!   replies of the batch. It has one timeout for the whole batch.
//! - mail-send fails on replies over 4 KiB, and parses the enhanced code `5.7.708` as `5.7.255`.
//! - mail-send appends a CRLF to every message, which adds an empty line to a message that ends in CRLF.
//! - mail-send stuffs dots within one slice and sends bare CR and LF. Here a message is a list of slices.

pub mod body;
pub mod capabilities;
pub mod classify;
mod conversation;
pub mod envelope;
mod opening;
pub mod outcome;
mod refusal_text;
pub mod reply;
mod rules;
pub mod session;
mod stream;
#[cfg(test)]
pub(super) mod tests;
pub mod timeouts;
pub mod tls;
mod transaction;
mod transcript;

pub use classify::{Action, BounceKind, FailReason, RefusalClass, SiteThrottle, Verdict, classify};
pub use envelope::Envelope;
pub use outcome::{ConnectionState, IncompleteReason, RecipientResult, Transaction};
pub use reply::{Reply, ReplyError, parse_reply};
pub use session::{Credentials, Endpoint, FailedSession, Hello, Identity, SessionError, SessionFacts, SmtpSession};
pub use timeouts::Timeouts;
pub use tls::{RequiredTls, TlsConfigs, TlsFacts, TlsPolicy, Verification};

use crate::base::words::words;

words! {
    /// Phase of a session, in the order of the protocol. Attempts and error texts have the words.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum SmtpPhase {
        Connect = "connect",
        Greeting = "greeting",
        Ehlo = "EHLO",
        StartTls = "STARTTLS",
        Auth = "AUTH",
        /// Before MAIL: checks by the client against the announced extensions.
        Precheck = "precheck",
        Mail = "MAIL",
        Rcpt = "RCPT",
        Data = "DATA",
        /// The message and its final dot.
        Body = "message",
    }
}

impl std::fmt::Display for SmtpPhase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
