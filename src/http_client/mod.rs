//! The only HTTP client for URLs of customers. They are the endpoints of webhooks, the files of remote attachments, and
//! the links of broadcasts that a check requests.
//!
//! A customer URL is untrusted. It can name the loopback, a metadata service or another host of the private network,
//! directly, through DNS or through a redirect. Its server can send a response without end. No other module connects to
//! a customer URL.
//!
//! Data flow: [`CustomerUrl::parse`] parses the text at the API. A lane parses the stored text again, because the
//! policy can change between two starts of the server. [`HttpClient::session`] returns an [`HttpSession`] for the URL,
//! and [`HttpSession::post`] sends one request. Its phases are lookup, guard, connection, TLS, request and response.
//! [`HttpTimeouts`] limits the phases and the whole request. The session reuses the connection while both sides keep it
//! open. [`HttpClient::fetch`] requests one file, and [`HttpClient::probe`] one status. Both follow redirects.
//!
//! Files, in reading order:
//! - `policy.rs`: the URLs that an instance allows, and the time limits;
//! - `url.rs`: parsing of a URL;
//! - `client.rs`: the state that all sessions share;
//! - `dial.rs`: lookup, guard, TCP and TLS;
//! - `metered_io.rs`: a stream that limits the bytes of a response;
//! - `connection.rs`: one HTTP/1.1 connection;
//! - `session.rs`: requests to one URL;
//! - `fetch.rs`: one file, with redirects;
//! - `probe.rs`: the status of a URL, with redirects;
//! - `response.rs`: the response and its `Retry-After` field;
//! - `failure.rs`: the errors of a request;
//! - `tests/`: tests against a local receiver and a local DNS server.
//!
//! Invariants:
//! - The client connects only to an address that the guard permitted, and looks the name up once per connection. A name
//!   with changing addresses (DNS rebinding) cannot bypass the guard.
//! - The certificate is verified for the URL's host, not for the address of the connection.
//! - A session follows no redirect. A fetch follows a bounded number, and each URL and each address of them obeys the
//!   same rules as the first.
//! - The client uses no proxy and reads no environment variable, such as `http_proxy`.
//! - Every byte that is read counts against a budget, and every wait has a time limit.
//! - If the caller drops a request before its response, the connection is closed.
//!
//! Not in this module: the body, signatures, retries, and the number of concurrent requests.

mod client;
mod connection;
mod dial;
mod failure;
mod fetch;
mod metered_io;
mod policy;
mod probe;
mod response;
mod session;
mod url;

#[cfg(test)]
mod tests;

pub use client::HttpClient;
pub use failure::{RequestError, RequestPhase, TlsFailure};
pub use fetch::{FetchError, FetchLimits, FetchedFile};
pub use hyper::body::Bytes;
pub use policy::{HttpTimeouts, UrlPolicy};
pub use response::HttpResponse;
pub use session::HttpSession;
pub use url::{CustomerUrl, URL_CHARS_MAX, UrlError};
