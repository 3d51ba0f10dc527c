//! The request log: what the keys of a team asked of the API, and what they were answered.
//!
//! Life cycle: a request whose key is known is timed, and handed over when its answer is ready; it
//! waits in memory with its bodies; a worker takes what waits, makes the copies, and writes them in
//! one command of the bulk lane; retention removes them, and an erasure those that mention an address.
//! A row's id is its request's, which the answer carries as `x-request-id`, and tells when it began.
//!
//! Reading order: `redact.rs` (the copy of a body that may be kept; pure), `entry.rs` (a request that
//! was answered), `store.rs` (the rows, and the sealed copies), `queue.rs` (what waits), `pending_entries.rs`
//! (which requests have not reached the store), `recorder.rs` (handing over and writing), `service.rs`
//! (lists and one entry), `retention.rs`, `erase.rs`, `api.rs` (endpoints).
//!
//! Invariants: no answer waits for the log, and none fails because of it: what has no room is dropped
//! and counted; no header but the user agent is kept, no query, and nothing of a request without a
//! valid key; copies are sealed. A kill loses the last moments of the log and nothing else.

pub mod api;

mod entry;
mod erase;
mod pending_entries;
mod queue;
mod recorder;
mod redact;
mod retention;
mod service;
mod store;

pub use entry::{HELD_BYTES_MAX, LoggedBody, LoggedRequest};
pub(crate) use erase::{newest, page_that_mentions, remove};
pub(crate) use pending_entries::Barrier;
pub use pending_entries::{PendingEntries, PendingEntryGuard};
pub use recorder::{Recording, RequestLog};
pub(crate) use redact::is_secret_field;
pub use redact::{BodyCopy, redact};
pub use retention::purge;
pub use service::Logs;
pub use store::{COPY_BYTES_MAX, LogRow};
