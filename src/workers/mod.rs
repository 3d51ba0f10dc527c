//! Workers: what runs beside the requests, by name, under one supervisor.
//!
//! A worker is a function of a stop token. One that panics or fails is started again, later each
//! time; one that keeps failing stops the process, because a server that accepts mail and does not
//! deliver it is worse than one that is down. Every worker finds its work in the store, so that
//! starting it again loses nothing.

mod periodic;
mod supervisor;

pub use periodic::{after_each, every};
pub use supervisor::{Supervisor, WorkerError};
