//! Delivers accepted emails over SMTP and stores the outcome of each recipient.
//!
//! Data flow: the queue table has a lane for each destination, class and stream. The dispatcher finds the lanes with due
//! recipient groups, looks up the servers of each destination and starts workers for their site. A worker leases the
//! first groups of a lane, composes and signs each message, sends it over an SMTP session and settles the group.
//!
//! Files, in reading order:
//!
//! 1. `rows.rs`: the stored rows;
//! 2. `queue/`: the queue table, leases and their recovery after a restart;
//! 3. `notifier.rs`: wake-ups for the dispatcher;
//! 4. `transport.rs`: the servers of a destination;
//! 5. `engine/`: the state that the tasks share, start and shutdown;
//! 6. `schedule/`: which lane is delivered next, and by how many sessions; no I/O;
//! 7. `dispatcher.rs`: finds lanes, looks up destinations and starts workers, with `problems.rs` (warnings for the
//!    operator) and `clock_steps.rs` (steps of the wall clock);
//! 8. `leases.rs`: the leases of this process;
//! 9. `worker.rs`, `session.rs`, `receiving_host.rs`: the task that serves one site, and its SMTP session;
//! 10. `message.rs`, `return_path.rs`: the message and its envelope;
//! 11. `smtp/`: the SMTP client and the classification of replies;
//! 12. `outcome.rs`: from the results of a transaction to a disposition for each recipient;
//! 13. `settle/`, `retry.rs`: storage of the dispositions, and the time of the next attempt;
//! 14. `sessionless.rs`, `simulated.rs`, `held.rs`: groups that are settled without an SMTP session;
//! 15. `capture/`: the built-in mailbox of development mode;
//! 16. `retention.rs`, `erase.rs`: deletion by age, and erasure of addresses.
//!
//! # Invariants
//!
//! - No queued group is in memory until it is leased.
//! - A message is sent only under a committed lease.
//! - A group leaves the queue in the transaction that stores its lease. Its lease is deleted in the
//!   transaction that stores its outcome.
//! - If the process is killed between the reply of a server and the commit of the outcome, the next
//!   start sends the message again. The attempt is marked as a possible duplicate.

pub mod capture;
pub mod smtp;

mod clock_steps;
mod dispatcher;
mod engine;
mod erase;
mod held;
mod leases;
mod message;
mod notifier;
mod outcome;
mod problems;
mod queue;
mod receiving_host;
mod retention;
mod retry;
mod return_path;
mod rows;
mod schedule;
mod session;
mod sessionless;
mod settle;
pub mod simulated;
mod transport;
mod worker;

pub use engine::{Engine, EngineSettings, Flow};
pub(crate) use erase::{attempts_mention, erase_attempts};
pub use notifier::QueueNotifier;
pub(crate) use queue::{Due, DueKey, LaneKey, QUEUE_END, QUEUE_START, QueueKey, has_groups_of};
pub use retention::purge;
pub use retry::RetrySchedule;
pub(crate) use return_path::ReturnPaths;
pub use rows::{AttemptTlsRow, CapturedRow, Class, DueRow, LeaseRow, ReceivingHostRow, SmtpAttemptRow, TlsFailuresRow};
pub use transport::{Direct, Relay, RelayResolver, Transport};
