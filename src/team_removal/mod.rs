//! Removal of a team with all its data.
//!
//! One transaction deletes the team and its webhook endpoints, and stores a removal row. Afterwards, no request
//! authenticates, no email is accepted and no queued email is sent. The worker then deletes the rest in bounded
//! commits. It calls the nouns whose rows need care, then deletes every other row whose key starts with the team
//! (`tables/mod.rs`). It repeats these passes until one finds nothing, and deletes the removal row last. A pass can be
//! interrupted and repeated at any commit.
//!
//! Reading order: `service.rs` (the removal and its refusals), `worker.rs` (the passes).
//!
//! Invariants:
//! - A removal without confirmation loses no accepted email: it is refused while one is queued or in flight.
//! - A canceled email is not sent. An email in flight is deleted when its delivery ends.
//! - The removal row outlives every request that began before the removal, so that rows of such a request are
//!   deleted too.

mod service;
#[cfg(test)]
mod tests;
mod worker;

pub use service::{RemoveTeamError, TeamRemovals, UnsentEmails};
