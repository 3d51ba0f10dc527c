//! Composition of Internet messages from their parts, DKIM signatures, and the structure of received messages.
//!
//! All functions are pure. The caller passes the time, the Message-ID and the seed of the boundaries. Each attempt
//! therefore composes the same bytes, so that a receiver can detect duplicates.
//!
//! Data flow: [`Message`] (borrowed parts) → [`compose`] (bytes without a signature) → [`dkim::sign()`] (header fields
//! to prepend) → the SMTP session.
//!
//! Files in reading order:
//! - `message.rs`: the parts of a message, and the errors of composition;
//! - `build.rs`: the order of the header fields and the structure of the body;
//! - `header/`: folding, encoded words, addresses and parameters; protection against header injection;
//! - `body.rs`: transfer encodings; `media_type.rs`: the content types of attachments;
//! - `text/`: the text part of an email that has only HTML;
//! - `dkim/`: keys, canonicalization and signatures;
//! - `parts.rs`: the parts of a received message.
//!
//! Invariants of a composed message, checked by property tests:
//! - Every line ends with CRLF, and there is no other CR or LF.
//! - No line is longer than 998 octets. Only a word that cannot be broken makes a line longer than 76 octets.
//! - Every octet is 7-bit, except in an address with a non-ASCII local part ([`Message::needs_smtputf8`]).
//! - No value can start a header field, end the header section or close a part.
//! - There is no Bcc or Received field, and the body does not end with a line of white space.
//!
//! Not in this module: the rules for custom headers (the API), the recipients of the envelope (the delivery engine),
//! and dot-stuffing (the SMTP session).

mod body;
mod build;
pub mod dkim;
mod header;
mod media_type;
mod message;
mod parts;
#[cfg(test)]
mod tests;
mod text;

pub use build::compose;
pub use header::{HEADER_NAME_BYTES_MAX, check_header};
pub use message::{AddressForm, ComposeError, Message, MessageField, MimeAttachment, MimeMailbox};
pub use parts::{TransferEncoding, split_header, split_parts};
pub use text::{links_in_html, text_from_html};
