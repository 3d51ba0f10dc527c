//! Request log: requests to the API with an API key, and their responses.
//!
//! When the response to a request is ready, the HTTP layer puts an entry with the bodies into a queue in
//! memory. A worker takes a batch, redacts the bodies, and writes the rows in bulk commands. Retention
//! deletes old rows, and an erasure deletes rows that contain an address. The id of a row is the id of the
//! request, which is in the `x-request-id` header of the response and contains the start time.
//!
//! Reading order:
//! - `redact/`: the redacted copy of a body; pure;
//! - `entry.rs`: the entry of one request;
//! - `store.rs`: the rows and the sealed copies;
//! - `queue.rs`: entries in memory;
//! - `pending_entries.rs`: requests that are not stored yet;
//! - `recorder/`: the queue and the worker;
//! - `service.rs`: lists and one request;
//! - `search.rs`: requests by their fields;
//! - `of_email.rs`: the request that created an email;
//! - `retention.rs`, `erase.rs`: deletion by age, and erasure of addresses;
//! - `api.rs`: endpoints.
//!
//! Invariants:
//! - A response never waits for the log and never fails because of it. If the queue is full, the entry is
//!   dropped and counted.
//! - The log contains no header except the user agent, no query, and no request without a valid key.
//! - Copies of bodies are redacted and sealed.
//! - A kill loses the entries of the last moments and nothing else.

pub mod api;

mod entry;
mod erase;
mod of_email;
mod pending_entries;
mod queue;
mod recorder;
mod redact;
mod retention;
mod search;
mod service;
mod store;

pub use entry::{HELD_BYTES_MAX, LoggedBody, LoggedRequest};
pub(crate) use erase::{match_requests, newest};
pub(crate) use pending_entries::PendingSnapshot;
pub use pending_entries::{PendingEntries, PendingEntryGuard};
pub use recorder::{RequestLog, RequestLogging};
pub(crate) use redact::is_secret_field;
pub use redact::{BodyCopy, redact};
pub use retention::purge;
pub use search::{LogFilter, LogSearchPage};
pub use service::Logs;
pub(crate) use store::delete;
pub use store::{COPY_BYTES_MAX, LogBodies, LogRow};
