//! The built-in mailbox: an SMTP server on loopback that stores every message.
//!
//! In capture mode, the engine delivers to it over SMTP, so that development uses the same code as
//! production. Other programs can send to it too. A message is stored sealed, byte for byte, with
//! its envelope. Retention or [`CaptureMailbox::delete_all`] deletes it. [`CaptureMailbox::release`] delivers it.
//!
//! Files, in reading order:
//!
//! 1. `server_session.rs`: commands and replies, without a socket;
//! 2. `message.rs`: the bytes after DATA;
//! 3. `connection.rs`: one connection and its share of the memory;
//! 4. `listener.rs`: the listener and its connections;
//! 5. `mailbox.rs`: the stored messages;
//! 6. `release.rs`: real delivery of a captured message;
//! 7. `mime_part.rs`, `content.rs`, `extract.rs`: the parts of a message, its content, its links and its code;
//! 8. `reads.rs`, `waits.rs`: lists and deletions of one reader, and waits for a message;
//! 9. `erase.rs`, `orphans.rs`: deletion of single messages for an erasure, and of those without an email.
//!
//! # Invariants
//!
//! - The 250 after a message is sent after the commit of the message.
//! - Every valid recipient is accepted, up to the limit, and nothing is relayed.
//! - A message ends only at CRLF.CRLF, so that it cannot contain a second message.
//! - The memory for each client and for all clients is bounded.

mod connection;
mod content;
mod erase;
mod extract;
mod listener;
mod mailbox;
mod message;
mod mime_part;
mod orphans;
mod reads;
mod release;
mod server_session;
#[cfg(test)]
mod tests;
mod waits;

pub use content::{CapturedContent, CapturedPart};
pub(crate) use erase::{delete_message, match_messages};
pub use listener::CaptureListener;
pub use mailbox::CaptureMailbox;
pub(crate) use mailbox::purge;
pub(crate) use orphans::delete_orphans;
pub use reads::{CapturedFilter, CapturedPage, CapturedSummary, MailboxReader};
pub use release::{ReleaseError, ReleasedMessage};
pub use waits::CapturedWaitError;

/// Maximum size of a message, announced with `SIZE` (RFC 1870 §3).
const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// Maximum number of recipients of a message. Every server must accept this many (RFC 5321
/// §4.5.3.1.8).
const RECIPIENTS_MAX: usize = 100;
/// Maximum length of a command line. RFC 5321 §4.5.3.1.4 requires 512 bytes, plus the parameters of
/// MAIL.
const LINE_BYTES_MAX: usize = 4_096;
/// Number of refused commands after which a session is closed.
const ERRORS_MAX: u32 = 20;
/// Maximum number of concurrent sessions.
const SESSIONS_MAX: usize = 200;
/// Maximum number of buffered bytes of large messages in all sessions: two messages of the maximum
/// size. Sealing a message needs its size again.
const IN_FLIGHT_BYTES_MAX: usize = 2 * MESSAGE_BYTES_MAX;
