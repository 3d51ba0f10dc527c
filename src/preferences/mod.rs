//! What recipients decide about the mail they get: the link of every email under a topic, the page
//! behind it, and how a team makes that page its own.
//!
//! Life cycle of a link: accepting an email checks that its links can work ([`Links::check`]);
//! composing makes one per recipient ([`Links::link`]), sets it where the bodies name it and into
//! the header; the recipient, or the mail program for them, follows it (`api/`); the token says
//! whose choices about what are read and recorded (`opt_out.rs`). A link to everything is made for
//! a contact on request ([`Preferences::link_to`]).
//!
//! Reading order: `token.rs` (what a link names, sealed), `links.rs` (addresses, placeholders, header
//! fields), `view.rs` (what a link leads to), `undo.rs` (what a visit can take back), `opt_out.rs`
//! (recording choices); `theme.rs`, `colour.rs`, `palette.rs` and `redirect.rs` (how the page looks),
//! `store.rs` (themes on disk); `strings.rs` and `language.rs` (what it says), `page.rs` and
//! `document.rs` (html), `form.rs` (what a post asks for), `api/` (the routes).
//!
//! Invariants: following a link changes nothing, posting to it opts out, and doing so again changes
//! nothing more; only the visit that opted out takes that back, and a choice about a topic is made
//! anew; a token names an address and never a contact, so that it outlives the contact; a
//! token that this instance did not make is told from no other; no opt-in is recorded that its
//! recipient did not post; whatever colours a team chose, what is shown meets WCAG AA. Not here: the
//! suppression list and the contacts' choices themselves, and whether they let a send through.

pub(crate) mod api;

mod colour;
mod document;
mod form;
mod language;
mod links;
mod opt_out;
mod page;
mod palette;
mod redirect;
mod store;
mod strings;
mod theme;
mod token;
mod undo;
mod view;

pub use colour::Colour;
pub use links::{LinkAudience, LinkError, LinkSettings, Links, PLACEHOLDERS_MAX, PairOrigin, UnsubscribeLink};
pub use opt_out::{LinkToError, OptOut, OptedOut, Preferences};
pub use palette::Palette;
pub use redirect::RedirectUrl;
pub use store::{ThemeRow, change_theme, reset_theme, theme_of};
pub use theme::{Theme, ThemeError, ThemeTexts};
pub use token::{Scope, UnsubscribeToken};
pub use view::{About, ConsentState, Done, ListedTopic, View};
