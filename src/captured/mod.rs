//! Captured mail over the API, for tests of programs that send email. An extension.
//!
//! The use cases are those of the built-in mailbox (`delivery/capture`), which also has the rows. `api.rs` has the
//! endpoints.
//!
//! Invariants:
//! - A team reads only the messages that [`MailboxReader`](crate::delivery::capture::MailboxReader) gives it.
//! - A request that waits holds neither a turn of the reads nor memory of the responses.

pub mod api;
