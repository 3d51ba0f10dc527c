//! Requests of the command line to an instance.
//!
//! One process holds the store. If that process is a server, a verb sends its [`Request`] over a UNIX
//! socket beside the store. Otherwise the verb opens the store itself. Both call [`execute`]. On the
//! socket, a request and a response are one line of JSON each.
//!
//! Reading order: `request.rs` (requests and their execution), `response.rs`, one file for each noun
//! with its verbs, its responses and their execution (`teams.rs`, `keys.rs`, `users.rs`, `access.rs`, `audit.rs`,
//! `domains.rs`, `webhooks.rs`, `themes.rs`, `emails.rs`, `broadcasts.rs`, `queue.rs`, `captured.rs`,
//! `logs.rs`, `suppressions.rs`, `contacts.rs`), `pages.rs` (lookup in lists), `socket.rs` and `tail.rs` (the server
//! side), `client.rs` and `direct.rs` (the side of the verb), `dev.rs` (preparation of a development instance).
//!
//! Invariants:
//! - The socket answers only the user of the server and root.
//! - Every line has a maximum length, and every wait has a timeout.
//! - A response contains no secret except a new API token, a new signing secret or a new one-time link.

pub mod access;
pub mod audit;
pub mod broadcasts;
pub mod captured;
pub mod contacts;
pub mod domains;
pub mod emails;
pub mod keys;
pub mod logs;
pub mod queue;
pub mod request;
pub mod response;
pub mod suppressions;
pub mod teams;
pub mod themes;
pub mod users;
pub mod webhooks;

mod client;
mod dev;
mod direct;
mod pages;
mod socket;
mod tail;

pub use access::dashboard_link;
pub use client::{AdminClient, AdminClientError};
pub use dev::{DevReady, first_key, prepare};
pub use request::{AdminServices, Request, ServerVerb, execute};
pub use response::{AdminErrorKind, Response};
pub use socket::{AdminListener, serve};

use std::time::Duration;

use clap::builder::RangedU64ValueParser;

/// Name of the socket in the data directory.
const SOCKET_NAME: &str = "ringmail.sock";
/// Maximum length of a request. A batch of imported contacts uses up to half of it.
const LINE_BYTES_MAX: usize = 1 << 20;
/// Maximum length of a response. One exported contact with every property at its maximum length may
/// use half of it.
const RESPONSE_BYTES_MAX: usize = 16 << 20;
/// Default number of rows of a list that can be long.
pub(crate) const LISTED_DEFAULT: usize = 20;

/// Parses the maximum number of rows of a list verb.
pub(crate) fn listed_max() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..)
}
/// Maximum duration of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
