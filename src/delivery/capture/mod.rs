//! The built-in mailbox: a small SMTP server that keeps what it is given.
//!
//! In capture mode the engine delivers into it over loopback, through a conversation like any other
//! server's, so that what is tried in development is what happens in service. Other programs may
//! send to it too. A message is kept byte for byte with its envelope, sealed, until retention or
//! [`CaptureMailbox::delete_all`] removes it.
//!
//! Reading order: `conversation.rs` (commands and replies, without a socket), `message.rs` (the bytes
//! after DATA), `session.rs` (one connection), `listener.rs` (all of them), `mailbox.rs` (rows),
//! `erase.rs` (removing single messages).
//!
//! Invariants: the 250 after a message leaves when its commit has been made, and only then; every
//! recipient is accepted, and nothing is ever relayed; a message ends at CRLF.CRLF and at no other
//! bytes, so that none can carry a second one; all that a peer makes us hold is bounded.

mod conversation;
mod erase;
mod listener;
mod mailbox;
mod message;
mod session;
#[cfg(test)]
mod tests;

pub(crate) use erase::{page_of_meant, remove};
pub use listener::CaptureListener;
pub use mailbox::CaptureMailbox;
pub(crate) use mailbox::purge;

/// Bytes of a message: what `SIZE` announces (RFC 1870 §3).
const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// Recipients of a message: what every server must take (RFC 5321 §4.5.3.1.8).
const RECIPIENTS_MAX: usize = 100;
/// Bytes of a command line. RFC 5321 §4.5.3.1.4 asks for 512, and the parameters of MAIL come on top.
const LINE_BYTES_MAX: usize = 4_096;
/// Commands refused in one session before it is closed.
const ERRORS_MAX: u32 = 20;
/// Sessions at once.
const SESSIONS_MAX: usize = 200;
/// Bytes of large messages under way, over all sessions: two of the largest, each of which takes its
/// size again while it is sealed.
const UNDER_WAY_BYTES_MAX: usize = 2 * MESSAGE_BYTES_MAX;
