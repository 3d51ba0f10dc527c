//! Engagement: opens and clicks of people, and the requests of software in their place.
//!
//! Data flow: `tracking` answers the requests of pixels and links, and calls [`Engagement::record`] with a [`Hit`]. The
//! rules decide whether a person or software made the request. The plan of a hit has the events to record and those to
//! retract. One write transaction applies it: the events with their outbox rows, the statuses of the recipient and of
//! the email, and the counts. A broadcast also has counts by link.
//!
//! Files in reading order:
//! - `rules.rs`: the rules as data, from `assets/engagement/rules.txt`;
//! - `classify.rs`: the verdict on a request;
//! - `recent.rs`: the last link requests, in memory;
//! - `targets.rs`: the last targets of requests, in memory;
//! - `plan.rs`: the consequences of a hit;
//! - `links.rs`: the clicks on a broadcast by link;
//! - `record.rs`: the transaction.
//!
//! Invariants:
//! - Software changes no status and counts as no open and no click.
//! - A hit without consequences causes no commit.
//! - The writer thread reads no content, and no long timeline of an email whose hit was not read before.
//! - Nothing is recorded about an erased recipient, so that no IP address or user agent of it remains.
//! - Only the retraction of a click lowers a status or a count.
//! - The counts by link have no value of a recipient.

mod classify;
mod links;
mod plan;
mod recent;
mod record;
mod rules;
mod targets;
#[cfg(test)]
mod tests;

pub use record::{Engagement, Hit, HitTarget, is_prefetch};
pub use rules::{MachineReason, PREFETCH_WINDOW};
