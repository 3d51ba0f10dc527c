//! Email addresses: the one parser for every address that enters the program.
//!
//! A caller's text becomes one of three values, and past the edge nothing holds an address as raw text:
//!
//! - [`DomainName`]: lower-case A-labels, ready for DNS and for comparison;
//! - [`EmailAddress`]: `local@domain` and nothing else, as SMTP speaks it;
//! - [`Mailbox`]: an address with an optional display name, as people write it.
//!
//! [`AddressSet`] finds addresses in mailboxes and texts.
//!
//! Files in reading order: `domain.rs`, `email.rs`, `mailbox.rs`, `set.rs`, `escapes.rs` (how texts hide addresses), `error.rs`; `strings.rs` gives all three their text form in JSON and in stored rows.
//!
//! Invariants: a value holds no control character, so none can break a header or an SMTP command; `parse` of what `Display` prints gives the same value back; equal values have one spelling.
//! Left out on purpose: groups, comments, routes and address literals of RFC 5322 and RFC 5321, and any opinion about which domains can be delivered to.

mod domain;
mod email;
mod error;
mod escapes;
mod mailbox;
mod set;
mod strings;

pub use domain::DomainName;
pub use email::EmailAddress;
pub use error::AddressError;
pub use mailbox::Mailbox;
pub use set::AddressSet;

/// Returns whether a character is refused everywhere in an address: the control characters and Unicode's two line separators.
fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}
