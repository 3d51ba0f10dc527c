//! Fan-out: stores one email for each contact of the audience of a broadcast, and puts the emails into the queue. Removes the
//! waiting emails of a canceled broadcast.
//!
//! Data flow: a send stores a [`FanOutRow`]. The worker finds the due rows, starts their broadcasts and reads pages of
//! contacts. A page is read and encoded outside of the writer thread. One transaction then stores the
//! emails of the page together with the position in the contacts. While requests wait or are expected, a transaction stores
//! only some emails of the page. The next page is read meanwhile.
//!
//! Each of these transactions also gives some stored emails a queue row, in the order of their ids. Further transactions
//! follow after the last contact. Beside requests, a transaction has more queue rows if more requests wait.
//!
//! Reading order:
//! - `rows.rs`: the stored position and its changes;
//! - `start.rs`: the first step of a broadcast;
//! - `walk.rs`: the rules of one broadcast;
//! - `page.rs`: a page of recipients;
//! - `enqueue.rs`: queue rows;
//! - `cancel.rs`: removal of waiting emails;
//! - `jobs.rs`: the broadcasts in progress, in turn;
//! - `worker.rs`: the worker.
//!
//! Invariants:
//! - The transaction of a page checks that the stored position is the one from which the page was read, and that the
//!   broadcast is still being sent. So each contact gets at most one email, whatever process dies.
//! - Each waiting email before [`FanOutRow::to_enqueue`] has a queue row.
//! - A page that was read before contacts were erased is not stored.
//! - Contacts that are created after the start are not read.
//! - Memory is bounded: two pages of bounded size, and the rules of [`jobs::JOBS_MAX`] broadcasts.

mod cancel;
mod enqueue;
mod jobs;
mod page;
mod rows;
mod start;
#[cfg(test)]
mod tests;
mod walk;
mod worker;

pub use rows::{FanOutRow, discard_pages, stop_fan_out};
pub use worker::{BroadcastWorker, BroadcastWorkerSettings};
