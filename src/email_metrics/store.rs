//! The counts by quarter hour, and the totals by UTC day.

use std::iter;
use std::ops::RangeInclusive;

use tracing::error;

use super::model::{DayTotals, EmailCounts, EmailMetric, MetricSource, quarter};
use crate::base::clock::{TimestampMs, utc_day};
use crate::base::id::{BroadcastId, DomainId, TeamId};
use crate::store::{NEXT, Order, Reads, Row, StoreError, WriteTx};
use crate::tables::{EMAIL_DAY_TOTALS, EMAIL_QUARTER_COUNTS};

impl Row for EmailCounts {}
impl Row for DayTotals {}

/// Broadcast in the key of the counts of emails without a broadcast.
pub(super) const NO_BROADCAST: BroadcastId = BroadcastId::MIN;

/// Key of the counts of a source in a quarter hour: team, quarter hour since 1970, domain, broadcast or [`NO_BROADCAST`].
pub(crate) type QuarterKey = (TeamId, u32, DomainId, BroadcastId);

/// Direction of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CountChange {
    Add,
    TakeBack,
}

impl CountChange {
    /// Changes a count. A count that would be negative becomes 0.
    fn apply(self, count: &mut u64, by: u64, metric: EmailMetric, team: TeamId) {
        *count = match self {
            Self::Add => count.saturating_add(by),
            Self::TakeBack => count.checked_sub(by).unwrap_or_else(|| {
                error!(team.id = %team, metric = metric.as_str(), count, by, "took back more than was counted");
                0
            }),
        };
    }
}

/// Number of recipients that a change counts. The totals of a day include real recipients only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedRecipients {
    Real(u64),
    Simulated(u64),
}

/// Counts recipients at the time of their event, in the transaction of the event.
pub fn count(
    tx: &WriteTx<'_>,
    source: MetricSource,
    at_ms: TimestampMs,
    metric: EmailMetric,
    recipients: CountedRecipients,
) -> Result<(), StoreError> {
    count_all(tx, source, at_ms, iter::once(metric), recipients)
}

/// Counts the same recipients in several metrics, as [`count`] does in one. Writes each row once.
pub(super) fn count_all(
    tx: &WriteTx<'_>,
    source: MetricSource,
    at_ms: TimestampMs,
    metrics: impl Iterator<Item = EmailMetric> + Clone,
    recipients: CountedRecipients,
) -> Result<(), StoreError> {
    change(tx, source, at_ms, metrics, recipients, CountChange::Add)
}

/// Counts `by` recipients whose email was sent at `sent_ms` in the totals of that day by the day of the send. Does nothing
/// for a metric without such a total.
pub(crate) fn count_of_send_day(
    tx: &WriteTx<'_>,
    team: TeamId,
    sent_ms: TimestampMs,
    metric: EmailMetric,
    by: u64,
) -> Result<(), StoreError> {
    if by == 0 {
        return Ok(());
    }
    let key = (team, utc_day(sent_ms));
    let mut totals = tx.get_valid(&EMAIL_DAY_TOTALS, &key)?.unwrap_or_default();
    let Some(total) = totals.of_send_day_mut(metric) else { return Ok(()) };
    CountChange::Add.apply(total, by, metric, team);
    tx.put(&EMAIL_DAY_TOTALS, &key, &totals)
}

/// Reverses [`count`] with the same arguments, in the transaction that retracts the event. A count does not fall below 0.
pub fn take_back(
    tx: &WriteTx<'_>,
    source: MetricSource,
    at_ms: TimestampMs,
    metric: EmailMetric,
    recipients: CountedRecipients,
) -> Result<(), StoreError> {
    change(tx, source, at_ms, iter::once(metric), recipients, CountChange::TakeBack)
}

fn change(
    tx: &WriteTx<'_>,
    source: MetricSource,
    at_ms: TimestampMs,
    metrics: impl Iterator<Item = EmailMetric> + Clone,
    recipients: CountedRecipients,
    change: CountChange,
) -> Result<(), StoreError> {
    match recipients {
        CountedRecipients::Real(0) | CountedRecipients::Simulated(0) => Ok(()),
        CountedRecipients::Real(by) => {
            change_quarter(tx, source, at_ms, metrics.clone(), by, change)?;
            change_day(tx, source.team, at_ms, metrics, by, change)
        }
        CountedRecipients::Simulated(by) => change_quarter(tx, source, at_ms, metrics, by, change),
    }
}

/// Adds the score of an email to the day of its team, once for each recipient.
pub fn add_score(
    tx: &WriteTx<'_>,
    team: TeamId,
    at_ms: TimestampMs,
    recipients: u64,
    score_tenths: u32,
) -> Result<(), StoreError> {
    let key = (team, utc_day(at_ms));
    let mut totals = tx.get_valid(&EMAIL_DAY_TOTALS, &key)?.unwrap_or_default();
    let score_sum = recipients.saturating_mul(u64::from(score_tenths));
    totals.add(&DayTotals { scored_recipients: recipients, score_sum, ..DayTotals::default() });
    tx.put(&EMAIL_DAY_TOTALS, &key, &totals)
}

/// Reverses [`add_score`] with the same arguments. A sum does not fall below 0.
pub fn take_back_score(
    tx: &WriteTx<'_>,
    team: TeamId,
    at_ms: TimestampMs,
    recipients: u64,
    score_tenths: u32,
) -> Result<(), StoreError> {
    let key = (team, utc_day(at_ms));
    let Some(mut totals) = tx.get_valid(&EMAIL_DAY_TOTALS, &key)? else { return Ok(()) };
    let score_sum = recipients.saturating_mul(u64::from(score_tenths));
    totals.scored_recipients = totals.scored_recipients.saturating_sub(recipients);
    totals.score_sum = totals.score_sum.saturating_sub(score_sum);
    tx.put(&EMAIL_DAY_TOTALS, &key, &totals)
}

/// Returns the totals of a team on `days`, which are UTC days since 1970. Reads one row for each day.
pub fn day_totals(tx: &impl Reads, team: TeamId, days: RangeInclusive<u32>) -> Result<DayTotals, StoreError> {
    let mut totals = DayTotals::default();
    let (from, to) = ((team, *days.start()), (team, *days.end()));
    tx.scan_valid(&EMAIL_DAY_TOTALS, &from, &to, Order::Ascending, |_, row| {
        totals.add(&row);
        NEXT
    })?;
    Ok(totals)
}

/// A corrupt row is logged and replaced: the counts must not stop a delivery.
fn change_quarter(
    tx: &WriteTx<'_>,
    source: MetricSource,
    at_ms: TimestampMs,
    metrics: impl Iterator<Item = EmailMetric>,
    by: u64,
    change: CountChange,
) -> Result<(), StoreError> {
    let MetricSource { team, domain, broadcast } = source;
    let key: QuarterKey = (team, quarter(at_ms), domain, broadcast.unwrap_or(NO_BROADCAST));
    let mut counts = tx.get_valid(&EMAIL_QUARTER_COUNTS, &key)?.unwrap_or_default();
    for metric in metrics {
        change.apply(counts.of_mut(metric), by, metric, team);
    }
    tx.put(&EMAIL_QUARTER_COUNTS, &key, &counts)
}

fn change_day(
    tx: &WriteTx<'_>,
    team: TeamId,
    at_ms: TimestampMs,
    metrics: impl Iterator<Item = EmailMetric> + Clone,
    by: u64,
    change: CountChange,
) -> Result<(), StoreError> {
    if metrics.clone().all(|metric| DayTotals::default().of_mut(metric).is_none()) {
        return Ok(());
    }
    let key = (team, utc_day(at_ms));
    let mut totals = tx.get_valid(&EMAIL_DAY_TOTALS, &key)?.unwrap_or_default();
    for metric in metrics {
        if let Some(total) = totals.of_mut(metric) {
            change.apply(total, by, metric, team);
        }
    }
    tx.put(&EMAIL_DAY_TOTALS, &key, &totals)
}
