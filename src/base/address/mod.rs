//! The only parser for email addresses and domain names in the program.
//!
//! Each input text is parsed once, into one of three types. No other module stores an address as raw text. A row has a
//! mailbox as a [`StoredMailbox`], which an erasure replaces with [`ERASED`].
//!
//! - [`DomainName`]: lower-case A-labels, ready for DNS and for comparison;
//! - [`EmailAddress`]: a bare `local@domain`, as in an SMTP command;
//! - [`Mailbox`]: an address with an optional display name, as in a header field.
//!
//! [`AddressSet`] finds given addresses in mailboxes and in texts.
//!
//! Files in reading order: `domain.rs`, `email.rs`, `mailbox.rs`, `set.rs`, `escapes.rs` (escape sequences in
//! texts), `replace.rs` (replacement of addresses in texts), `error.rs`, `strings.rs` (the text form of the three types
//! in JSON and in stored rows), `stored.rs` (mailboxes in rows).
//!
//! Invariants:
//! - A value contains no control character, so no value can break a header or an SMTP command.
//! - `parse` of the `Display` form returns the same value.
//! - Equal values have the same spelling.
//!
//! Not accepted: groups, comments, routes and address literals of RFC 5322 and RFC 5321. This module does not check
//! whether a domain accepts email.

mod domain;
mod email;
mod error;
mod escapes;
mod mailbox;
mod replace;
mod set;
mod stored;
mod strings;

pub use domain::DomainName;
pub use email::EmailAddress;
pub use error::AddressError;
pub use mailbox::Mailbox;
pub use set::AddressSet;
pub use stored::{ERASED, StoredMailbox};

/// Returns whether a character is refused in every part of an address: control characters, U+2028 and U+2029.
fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}
