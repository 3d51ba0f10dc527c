//! Deliverability: the score of a team, and the guardrail that pauses its sending.
//!
//! Data flow: `email_metrics` counts outcomes by day. The status of a team follows from these counts alone. The
//! transaction that accepts an email therefore computes it and nothing has to be switched. A worker compares the status
//! with the stored episode of the team, and records events and notices when it changes. The same worker stores which
//! teams are slowed down, and `delivery` then sends one broadcast message of the team a second. Another worker sums the
//! counts of all teams by region, and stores the regions whose broadcasts are paused.
//!
//! Reading order:
//! - `guardrail.rs`: limits and status; pure;
//! - `score.rs`: the score; pure;
//! - `days.rs`: the windows of a team;
//! - `store.rs`: rows;
//! - `service.rs`: the use cases;
//! - `guard.rs`: refusals;
//! - `episodes.rs`: events and notices;
//! - `regions.rs`: pauses of regions;
//! - `complaints.rs`: the complaints about all teams;
//! - `api.rs`: the endpoint.
//!
//! Invariants:
//! - Simulated recipients change no rate.
//! - Each limit that a rate crosses has one event in an episode, and at most one notice to the owners, however many
//!   processes run.
//! - A pause refuses new sends only. Accepted emails are delivered, those of broadcasts slowly. Notices of this server are
//!   exempt.

pub mod api;

mod complaints;
mod days;
mod episodes;
mod guard;
mod guardrail;
mod regions;
mod score;
mod service;
mod store;
#[cfg(test)]
mod tests;

pub use complaints::{COMPLAINT_DAYS, TeamComplaints};
pub use guardrail::{
    GuardrailStatus, GuardrailWindows, METRICS, RateBreach, RateLimitLine, SENT_MIN, WindowCounts, fraction,
};
pub use score::{DeliverabilityScore, SCORE_DAYS, SCORE_VERSION, ScoreBand, tenths};
pub use service::{
    DeliverabilityOverview, DeliverabilityReport, GuardrailMode, ScoreFactor, TeamDeliverability, UtcDayTotals,
};
pub use store::{EpisodeLevel, EpisodeRow, RegionPauseRow};
