//! The one door for every URL that a customer gives us: webhook endpoints, and any link that is looked at.
//!
//! Such a URL is hostile until shown otherwise. It may name our own loopback, a metadata service or a neighbour in the
//! private network; it may lead there by DNS, by a redirect, or the second time only; and whatever answers may answer
//! for ever. So there is one client, and nothing else in the program dials what a customer wrote.
//!
//! Life cycle: a text becomes a [`CustomerUrl`] once, at the edge. [`Client::session`] makes a [`HttpSession`] of it, and
//! [`HttpSession::post`] carries one request: name lookup, guard, connection, TLS, request, answer, each under its own
//! limit of [`HttpTimeouts`] and all under one. The connection is kept for the next request while both sides want it.
//!
//! Files, in reading order: `policy.rs` (what an instance allows, and how long it waits), `url.rs` and `host.rs` (the
//! text), `client.rs` (what all sessions share), `dial.rs` (from a name to a connection), `metered_io.rs` (the bytes, counted),
//! `connection.rs` (one HTTP/1.1 connection), `session.rs` (requests to one URL), `response.rs` and `retry_after.rs` (what came
//! back), `failure.rs` (why nothing did).
//!
//! Invariants:
//! - the address that passed the guard is the address that is dialled; a name is never resolved a second time in
//!   between. So a name that changes its mind (DNS rebinding) changes nothing;
//! - the certificate is verified for the URL's host, whichever of its addresses was dialled;
//! - a redirect is an answer like any other: no `Location` is ever read;
//! - no proxy: nothing here reads the environment, so `http_proxy` and its like mean nothing;
//! - every byte read is counted against a budget, and every wait has a limit;
//! - whoever drops a request halfway drops its connection.
//!
//! Deliberately not here: what is sent, how it is signed, when it is tried again, and how many requests run at once.

mod client;
mod connection;
mod dial;
mod failure;
mod host;
mod metered_io;
mod policy;
mod response;
mod retry_after;
mod session;
mod url;

#[cfg(test)]
mod tests;

pub use client::Client;
pub use failure::{RequestError, RequestPhase, TlsFailure};
pub use hyper::body::Bytes;
pub use policy::{HttpTimeouts, UrlPolicy};
pub use response::HttpResponse;
pub use session::HttpSession;
pub use url::{CustomerUrl, UrlError};
