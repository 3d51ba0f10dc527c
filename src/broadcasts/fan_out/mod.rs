//! Fan-out: queues one email for each contact of the audience of a broadcast, page by page, and removes the queued emails
//! of a canceled broadcast.
//!
//! Data flow: a send stores a [`FanOutRow`](super::FanOutRow). The worker finds the due rows, starts their broadcasts and
//! reads pages of contacts. A page is read and encoded outside of the writer thread. One transaction then stores the
//! emails of the page together with the position in the contacts. While requests wait or are expected, a transaction stores
//! only some emails of the page: more of them if more requests wait. The next page is read meanwhile.
//!
//! Reading order: `rows.rs` (changes of the stored position), `start.rs` (the first step of a broadcast), `walk.rs` (the
//! rules of one broadcast), `page.rs` (a page of recipients), `cancel.rs` (removal of queued emails), `jobs.rs` (the
//! broadcasts in progress, in turn), `worker.rs` (the worker).
//!
//! Invariants:
//! - The transaction of a page checks that the stored position is the one from which the page was read, and that the
//!   broadcast is still being sent. So each contact is queued at most once, whatever process dies.
//! - A page that was read before contacts were erased is not stored.
//! - Contacts that are created after the start are not read.
//! - Memory is bounded: two pages of bounded size, and the rules of [`jobs::JOBS_MAX`] broadcasts.

mod cancel;
mod jobs;
mod page;
mod rows;
mod start;
#[cfg(test)]
mod tests;
mod walk;
mod worker;

pub use rows::{discard_pages, stop_fan_out};
pub use worker::{BroadcastWorker, BroadcastWorkerSettings};
