//! Delivery: from a committed email to an outcome that is committed too.
//!
//! The queue is a table (`queue/`). The engine (`engine.rs`) runs a dispatcher
//! (`dispatcher.rs`), which reads what is due, asks the transport (`transport.rs`) for the destination's servers and puts the group into the lane of
//! their site (`lane.rs`). A session task (`worker.rs`, `session.rs`) leases a few groups, composes and signs
//! each message (`message.rs`, `return_path.rs`), speaks SMTP (`smtp/`), reads what the replies mean (`outcome.rs`) and settles the group (`settle.rs`, `retry.rs`) in one
//! transaction with its events. Groups without a conversation are settled by `sessionless.rs`.
//! `capture/` is the built-in mailbox; `simulated.rs` the recipients whose outcome is known;
//! `retention.rs` and `erase.rs` take what is not to be kept.
//!
//! Invariants: the queue in memory is a part of the table and never more; a message leaves only
//! under a committed lease; nothing the peer has accepted is forgotten but by a kill before the
//! next commit, which the restart then repeats.

pub mod capture;
pub mod smtp;

mod dispatcher;
mod engine;
mod erase;
mod lane;
mod leases;
mod message;
mod notifier;
mod outcome;
mod queue;
mod receiving_host;
mod retention;
mod retry;
mod return_path;
mod rows;
mod session;
mod sessionless;
mod settle;
pub mod simulated;
mod transport;
mod worker;

pub use engine::{Engine, EngineSettings, Flow};
pub(crate) use erase::{attempts_hold, erase_attempts};
pub use notifier::QueueNotifier;
pub(crate) use queue::{Due, DueKey};
pub use retention::purge;
pub use retry::RetrySchedule;
pub(crate) use return_path::ReturnPaths;
pub use rows::{CapturedRow, Class, DestinationRow, DueRow, LeaseRow, ReceivingHostRow, SmtpAttemptRow};
pub use transport::{Direct, Relay, RelayResolver, Transport};
