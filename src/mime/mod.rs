//! Internet messages: composing one from its parts, and signing it.
//!
//! Everything here is a pure function from values to bytes. The caller brings the time, the
//! Message-ID and the seed of the boundaries, so the same message composes to the same bytes
//! each time it is attempted, and a receiver that sees it twice can tell.
//!
//! A message lives as [`Message`] (borrowed parts) → [`compose`] (bytes without a signature) →
//! [`dkim::sign()`] (header lines to put in front) → the SMTP session.
//!
//! Files in reading order:
//! - `message.rs`: what a message is made of, and why one may be refused;
//! - `build.rs`: the order of the header fields and the shape of the body;
//! - `header/`: folding, encoded words, addresses, parameters; the proof against injection;
//! - `body.rs`: transfer encodings; `media_type.rs`: the content types of attachments;
//! - `text/`: the text part of an email that has html alone;
//! - `dkim/`: keys, canonical forms and signatures.
//!
//! Invariants of a composed message, held by property tests:
//! - lines end in CRLF and no CR or LF stands alone; none is longer than 998 octets, and
//!   none but an unbreakable word is longer than 76;
//! - every octet is 7-bit, except in an address whose local part is not
//!   ([`Message::needs_smtputf8`]);
//! - no value of the caller can begin a header field, end the header section or close a part;
//! - there is no Bcc, no Received and no line of white space alone at the end of the body.
//!
//! Not here: which custom headers a caller may set (the API decides), who receives the message
//! (the envelope is the delivery engine's), dot-stuffing (the SMTP session's).

mod body;
mod build;
pub mod dkim;
mod header;
mod media_type;
mod message;
#[cfg(test)]
mod tests;
mod text;

pub use build::compose;
pub use header::{HEADER_NAME_BYTES_MAX, check_header};
pub use message::{ComposeError, Field, Message, MimeAttachment, MimeMailbox};
pub use text::text_from_html;
