//! Unsubscribe links, the preference page behind them, and the theme that a team gives the page.
//!
//! Data flow: accepting an email calls [`PreferenceLinks::check`]. Composing the message of an email under a topic, or
//! with a placeholder, calls [`PreferenceLinks::link`] for each recipient. The link replaces the placeholders; under a
//! topic, it is also in the header. A request to the link arrives in `api/`. The token in the link contains the team,
//! the scope and the address; [`Preferences`] reads or records the choices of that address. [`Preferences::link_to`]
//! makes a link to all choices of a contact on request.
//!
//! Reading order:
//!
//! - `token.rs`: the sealed content of a link. `links.rs`: addresses, placeholders and header fields.
//! - `view.rs`: the data of the page. `undo.rs`: the token that undoes an opt-out. `opt_out.rs`: reads
//!   and records choices.
//! - `theme.rs`, `colour.rs`, `palette.rs`, `redirect.rs`: settings of the theme and the colours that
//!   follow from them. `store.rs`: theme rows.
//! - `strings.rs`: the sentences of the page. `language.rs`: selects the language. `page.rs` and
//!   `document.rs`: the HTML. `form.rs`: parses the body of a POST request. `api/`: the routes.
//!
//! Invariants:
//!
//! - GET and HEAD requests to a link change nothing.
//! - A POST request without the fields of the page opts out. A repeated opt-out changes nothing.
//! - A recipient's opt-out with the link of an email counts once for each email, until it is undone.
//! - An opt-out can be undone for one hour, only with the token in the page that confirms it. After that,
//!   a recipient can opt in to a topic through its box on the page.
//! - A token contains an address and no contact id, so that the link works after the contact is deleted.
//! - The response to a token of another instance is the same as to any other invalid token.
//! - An opt-in is recorded only if the recipient posts it.
//! - The page meets WCAG AA with every combination of team colours.
//!
//! The suppression list is in `suppressions`. The choices of contacts, and the decision whether an
//! email may be sent, are in `contacts`.

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
pub use links::{
    LinkAudience, LinkError, LinkSettings, PLACEHOLDERS_MAX, PairOrigin, PreferenceLinks, UnsubscribeLink,
    has_placeholder,
};
pub use opt_out::{ChangeOptOuts, LinkToError, OptOut, OptOutCounts, OptedOut, Preferences};
pub use palette::Palette;
pub use redirect::RedirectUrl;
pub use store::{ThemeRow, change_theme, reset_theme, theme_of};
pub use theme::{Theme, ThemeError, ThemeTexts};
pub use token::{LinkScope, UnsubscribeToken};
pub use view::{ConsentState, ListedTopic, PageView, ScopeView, UndoableOptOut};
