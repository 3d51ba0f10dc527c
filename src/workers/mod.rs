//! Background workers under one supervisor.
//!
//! A worker is an async function that takes a stop token. The supervisor restarts a worker that panics
//! or fails, with increasing delays. If a worker keeps failing, the process stops, because a server that
//! accepts emails and does not deliver them is worse than no server. While the disk is full, workers wait.
//!
//! Reading order: `supervisor.rs`, `periodic.rs` (workers that repeat an action).
//!
//! Invariants:
//! - A worker reads its work from the store, so that a restart loses nothing.

mod periodic;
mod supervisor;

pub use periodic::{every, repeat, rest_after};
pub use supervisor::{Supervisor, WorkerError, WorkerFailures};
