//! Delivers accepted emails over SMTP and stores the outcome of each recipient.
//!
//! Data flow: the queue table has a lane for each destination, class and stream. The dispatcher finds the lanes with due
//! recipient groups, looks up the servers of each destination and starts workers for their site. A worker leases the
//! first groups of some lanes, composes and signs their messages, sends them over an SMTP session and settles the groups.
//!
//! Files, in reading order:
//!
//! 1. `rows.rs`: the stored rows;
//! 2. `queue/`: the queue table, leases and their recovery after a restart;
//! 3. `notifier.rs`: wake-ups for the dispatcher;
//! 4. `transport.rs`, `routes/`: the servers of a destination, with `pattern.rs` (patterns of recipients), `source.rs`
//!    (source addresses) and `network.rs` (IPv6, and the own addresses of this server);
//! 5. `providers.rs`, `rates.rs`, `warm_up.rs`: the figures of large providers, the limits of each site, and the warm-up
//!    plan;
//! 6. `engine/`: the state that the tasks share, start and shutdown;
//! 7. `schedule/`: which lane is delivered next, and by how many sessions; no I/O;
//! 8. `dispatcher.rs`: finds lanes, looks up destinations and starts workers. `lane_scan.rs` has the position of its
//!    scan, `problems.rs` warns the operator, and `clock_steps.rs` finds steps of the wall clock;
//! 9. `leases.rs`: the leases of this node;
//! 10. `worker/`, `session.rs`, `receiving_host.rs`: the task that serves one site, and its SMTP session. `host_store.rs`
//!     stores the pauses of hosts;
//! 11. `composing.rs`, `message.rs`, `broadcast_message.rs`, `return_path.rs`: the messages and their envelopes, with
//!     `cpu.rs` (CPU time of composing and signing);
//! 12. `smtp/`: the SMTP client and the classification of replies;
//! 13. `outcome/`: from the results of a transaction to a disposition for each recipient. `site_refusal.rs` finds a reply
//!     that limits the following mail. `site_store.rs` stores the throttles of sites, and `site_merge.rs` merges them with
//!     the stored ones;
//! 14. `settle/`, `retry.rs`: storage of the dispositions, and the time of the next attempt;
//! 15. `sessionless.rs`, `simulated.rs`, `held.rs`: groups that are settled without an SMTP session;
//! 16. `control/`: the queue for the operator, and why groups wait, with `recompose.rs` (a message to show);
//! 17. `capture/`: the built-in mailbox of development mode;
//! 18. `retention.rs`, `erase.rs`: deletion by age, and erasure of addresses;
//! 19. `figures.rs`, `queue_depth.rs`: counts for monitoring.
//!
//! # Invariants
//!
//! - No queued group is in memory until it is leased.
//! - A message is sent only under a committed lease.
//! - A group leaves the queue in the transaction that stores its lease. Its lease is deleted in the
//!   transaction that stores its outcome.
//! - While an outcome cannot be stored, it stays in memory and no group is leased.
//! - A lease names its node, and is valid while the node is alive (`store/nodes.rs`). A settlement is valid only if the
//!   lease still names the own node.
//! - If the process is killed between the reply of a server and the commit of the outcome, the next
//!   start sends the message again. The attempt is marked as a possible duplicate.
//!
//! # Effect of a kill, from the claim to the settlement
//!
//! | Step during which the process is killed | Stored state | Next start |
//! |---|---|---|
//! | claim, before its commit | the groups are queued | delivers them |
//! | lease tracking, opening of the session, composition | leases | requeues the groups, with `possible_duplicate`; no message was sent |
//! | SMTP transaction, before the end of the message | leases | as above; the server discards the partial message |
//! | wait of the next message for the commit of the last outcome | leases | sends the last message again, as below; the server discards the next one, which is partial |
//! | from the end of the message to the commit of the outcome | leases | sends the message again; the server may have it twice, with one Message-ID |
//! | wait of the outcome for the store | leases | as above |
//! | release of the groups behind a slow message | each group has a lease or is queued, in one transaction a group | requeues the leased ones |
//! | settlement after its commit, before the notification | outcome, events, attempt and throttle; a deferred group is queued | finds deferred groups by its scan |
//!
//! No step changes a group in two transactions. `tests/crash` kills the process at random times, also around deferrals.

pub mod capture;
pub mod smtp;

mod broadcast_message;
mod clock_steps;
mod composing;
mod control;
mod cpu;
mod dispatcher;
mod engine;
mod erase;
mod figures;
mod held;
mod host_store;
mod lane_scan;
mod leases;
mod message;
mod network;
mod notifier;
mod outcome;
mod pattern;
mod problems;
mod providers;
mod queue;
mod queue_depth;
mod rates;
mod receiving_host;
mod recompose;
mod retention;
mod retry;
mod return_path;
mod routes;
mod rows;
mod schedule;
mod session;
mod sessionless;
mod settle;
pub mod simulated;
mod site_merge;
mod site_refusal;
mod site_store;
mod source;
mod transport;
mod warm_up;
mod worker;

pub use control::{
    DestinationPage, GroupPage, QueueChange, QueueControl, QueuePosition, QueuedDestination, QueuedGroup, WaitingGroup,
    WaitingState,
};
pub use engine::{Engine, EngineSettings, Flow, RecordDomainRefusal};
pub(crate) use erase::{attempts_mention, erase_attempts};
pub use figures::DeliveryFigures;
pub use network::{Ipv6Mode, Ipv6State, OwnNetwork};
pub use notifier::QueueNotifier;
pub use pattern::{DeliverOnly, RecipientPattern};
pub(crate) use pattern::{domain_of, parse_destination, released_destination};
pub(crate) use queue::{
    DestinationHash, Due, DueKey, HoldKey, LaneKey, QUEUE_END, QUEUE_START, QueueKey, count_set_aside,
    forget_holds_of_team, has_groups_of, is_slowed, set_slowed,
};
pub use queue::{Hold, HoldKind, QueueSelector};
pub use queue_depth::{COUNT_EVERY, ClassDepth, QueueDepth, SiteDepth};
pub use rates::{Rates, SESSION_MESSAGES_MAX, SiteLimits, SiteOverride};
pub use recompose::ShowMessageError;
pub use retention::purge;
pub use retry::RetrySchedule;
pub(crate) use return_path::ReturnPaths;
pub use routes::{CAPTURE, DIRECT, RELAY, RouteRule, RouteRules, RouteTargets, Routes};
pub use rows::{
    AttemptTlsRow, CapturedRow, Class, DueRow, HoldRow, HostPauseRow, LeaseRow, ReceivingHostRow, SetAsideRow, SiteRow,
    SlowedTeamRow, SmtpAttemptRow, TlsFailuresRow, WarmUpRow,
};
pub use schedule::{SiteHold, SiteKind, SiteSnapshot};
pub(crate) use site_refusal::without_addresses;
pub(crate) use site_store::count_report;
pub use source::{Source, Sources};
pub use transport::{Direct, Relay, RelayResolver, Transport};
pub use warm_up::WarmUpPlan;
