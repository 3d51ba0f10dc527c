//! Email metrics: how many recipients were sent to, delivered, bounced and so on, by time, domain and broadcast.
//!
//! Data flow: `emails` calls `count_event` in the transaction that records an event, and [`count`] for recipients that it
//! does not send to. `engagement` states which opens and clicks are the first, and calls [`take_back`] and [`forget`] when
//! it retracts an event. `emails` also counts opt-outs, which `preferences` reports. The guardrail and the score read
//! [`day_totals`], and the endpoint makes reports.
//!
//! Files in reading order:
//! - `model.rs`: metrics and counts;
//! - `store.rs`: the counts by quarter hour and the totals by day;
//! - `journal.rs`: the counted events until their day is checked;
//! - `check.rs`: the nightly check;
//! - `recount.rs`: the recount of a quarter hour;
//! - `periods.rs`: hours, days, weeks and months of a time zone;
//! - `report.rs`: the use case of a report;
//! - `retention.rs`: deletion of old counts;
//! - `api/`: the endpoint.
//!
//! Invariants:
//! - Counts change in the transaction of their event, so that both are stored or none.
//! - A count belongs to the quarter hour of the time of its event, whenever it is recorded. The deletion of an email and an
//!   erasure do not change counts.
//! - Totals of a day include real recipients only. Counts of quarter hours include simulated recipients too.
//! - A difference between counts and events is reported and not corrected.

pub mod api;

mod check;
mod journal;
mod model;
mod periods;
mod recount;
mod report;
mod retention;
mod store;
#[cfg(test)]
mod tests;

pub use check::{CountCheck, CountCheckLease, CountCheckRow};
pub use journal::{CountJournalRow, forget, mark_first};
pub(crate) use journal::{CountedEvent, count_event};
pub use model::{DayTotals, EmailCounts, EmailMetric, MetricSource};
pub use periods::Granularity;
pub use report::{
    EmailMetrics, GroupBy, MetricLookups, MetricsQuery, MetricsReport, MetricsReportError, MetricsReportRow,
};
pub use retention::purge;
pub use store::{CountedRecipients, add_score, count, day_totals, take_back, take_back_score};
pub(crate) use store::{QuarterKey, count_of_send_day};
