//! What the command line asks of an instance, running or not.
//!
//! One store has one process. A verb that finds the store's file locked talks to that process over
//! a UNIX socket beside the store; one that finds it free opens the store itself and runs the very
//! same [`execute()`]. Either way a request is one line of JSON's worth of meaning, and so is its
//! response.
//!
//! Reading order: `request.rs` and `response.rs` (the two enums), `services.rs` (what requests are
//! answered from), `execute/` (one file per noun), `socket.rs` (the server's end), `tail.rs` (the
//! one answer that goes on), `client.rs` and
//! `direct.rs` (the verb's end), `dev.rs` (what a development instance has ready).
//!
//! Invariants: the socket answers its own user and root alone; a line is bounded, every wait has
//! an end; a response never holds a secret but the token of a key or the signing secret
//! of a webhook endpoint just made.

pub mod request;
pub mod response;

mod client;
mod dev;
mod direct;
mod execute;
mod services;
mod socket;
mod tail;

pub use client::{AdminClient, AdminClientError};
pub use dev::{DevReady, PrepareError, prepare};
pub use execute::execute;
pub use request::Request;
pub use response::{AdminErrorKind, Response};
pub use services::AdminServices;
pub use socket::{AdminListener, serve};

use std::time::Duration;

/// The socket's name inside the data directory.
const SOCKET_NAME: &str = "ringmail.sock";
/// The longest request, in bytes. A batch of imported contacts has half of it.
const LINE_BYTES_MAX: usize = 1 << 20;
/// The longest response, in bytes. A page of 100 rows has a hundredth of it; one exported contact that
/// has every property at its longest may have half.
const RESPONSE_BYTES_MAX: usize = 16 << 20;
/// How long a request may take. The slowest looks for DNS records.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
