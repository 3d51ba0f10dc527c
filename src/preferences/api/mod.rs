//! The routes of preference links.
//!
//! - `page.rs`: `/unsubscribe/{token}`, for recipients. It takes no API key, returns no JSON, and is not
//!   in the OpenAPI document.
//! - `link.rs`: the API call that makes a link for a contact.

mod link;
mod page;

pub(crate) use link::create_preferences_link;
pub(crate) use page::{show_unsubscribe, unsubscribe};
