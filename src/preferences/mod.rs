//! What recipients decide about the mail they get: the unsubscribe link of every email under a
//! topic, and the page behind it.
//!
//! Life cycle of a link: accepting an email checks that its links can work ([`Links::check`]);
//! composing makes one per recipient ([`Links::link`]), sets it where the bodies name it and into
//! the header; the recipient, or the mail program for them, follows it (`api.rs`); the token says
//! whose opt-out of what is recorded (`opt_out.rs`).
//!
//! Reading order: `token.rs` (what a link names, sealed), `links.rs` (addresses, placeholders, header
//! fields), `opt_out.rs` (reading and recording a choice), `page.rs` (html), `api.rs` (the routes).
//!
//! Invariants: following a link changes nothing, posting to it opts out, and doing so again changes
//! nothing more; a token names an address and never a contact, so that it outlives the contact; a
//! token that this instance did not make is told from no other. Not here: the suppression list and
//! the contacts' choices themselves, and whether they let a send through.

pub(crate) mod api;

mod links;
mod opt_out;
mod page;
mod token;

pub use links::{Link, LinkError, LinkSettings, Links, PLACEHOLDERS_MAX, PairOrigin, Reach};
pub use opt_out::{Choice, Preferences, Standing};
pub use token::UnsubscribeToken;
