//! The routes of links.
//!
//! `page.rs` `/unsubscribe/{token}`, for recipients: no key, no JSON, and no part of the API's
//! description; `link.rs` the call that makes such a link for a contact.

mod link;
mod page;

pub(crate) use link::create_preferences_link;
pub(crate) use page::{show_unsubscribe, unsubscribe};
