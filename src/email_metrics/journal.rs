//! The journal: which events the counts come from. The nightly check reads and deletes it.

use std::iter;

use serde::{Deserialize, Serialize};

use super::model::{DayTotals, EmailMetric, MetricSource, is_zero, quarter};
use super::store::{CountedRecipients, count_all};
use crate::base::clock::TimestampMs;
use crate::base::id::{BroadcastId, DomainId, EmailId, EventId, TeamId};
use crate::events::Event;
use crate::store::{Reads, Row, StoreError, WriteTx};
use crate::tables::EMAIL_COUNT_JOURNAL;

/// A counted event. Its key has the quarter hour that it was counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountJournalRow {
    #[serde(rename = "e")]
    pub(super) email: EmailId,
    #[serde(rename = "d")]
    pub(super) domain: DomainId,
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    pub(super) broadcast: Option<BroadcastId>,
    #[serde(rename = "m")]
    pub(super) metric: EmailMetric,
    /// Number of recipients.
    #[serde(rename = "r")]
    pub(super) recipients: u64,
    /// Number of its recipients that are simulated.
    #[serde(rename = "s", default, skip_serializing_if = "is_zero")]
    pub(super) simulated: u64,
    /// Whether the event was also counted as the first open or click of its recipient.
    #[serde(rename = "f", default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_first: bool,
}
impl Row for CountJournalRow {}

/// Addition of an event to the counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedEvent {
    source: MetricSource,
    email: EmailId,
    at_ms: TimestampMs,
    metric: EmailMetric,
    recipients: u64,
    /// Recipients that are simulated.
    simulated: u64,
}

impl CountedEvent {
    /// Returns the counts that an event of an email adds; `None` for an event that is not counted. `is_simulated`
    /// returns whether a recipient is simulated.
    pub(crate) fn of(
        source: MetricSource,
        email: EmailId,
        event: &Event,
        is_simulated: impl Fn(&str) -> bool,
    ) -> Option<Self> {
        let metric = EmailMetric::of_event(event)?;
        let simulated = event.recipients.iter().filter(|address| is_simulated(address)).count() as u64;
        let recipients = event.recipients.len() as u64;
        Some(Self { source, email, at_ms: event.at_ms, metric, recipients, simulated })
    }

    /// Returns the metric if it is also counted by the day of the send.
    pub(crate) fn metric_of_send_day(&self) -> Option<EmailMetric> {
        let has_total = DayTotals::default().of_send_day_mut(self.metric).is_some();
        has_total.then_some(self.metric)
    }
}

/// Counts a recorded event, in its transaction. An event that is the first open or click of its recipient is counted as
/// unique too.
pub(crate) fn count_event(
    tx: &WriteTx<'_>,
    id: EventId,
    counted: CountedEvent,
    is_first: bool,
) -> Result<(), StoreError> {
    let CountedEvent { source, email, at_ms, metric, recipients, simulated } = counted;
    let unique = metric.first().filter(|_| is_first);
    let metrics = || iter::once(metric).chain(unique);
    count_all(tx, source, at_ms, metrics(), CountedRecipients::Real(recipients.saturating_sub(simulated)))?;
    count_all(tx, source, at_ms, metrics(), CountedRecipients::Simulated(simulated))?;
    let MetricSource { team, domain, broadcast } = source;
    let row = CountJournalRow { email, domain, broadcast, metric, recipients, simulated, is_first: unique.is_some() };
    tx.put(&EMAIL_COUNT_JOURNAL, &(team, quarter(at_ms), id), &row)
}

/// Marks a recorded open or click as the first of its recipient, because the one before it is retracted. Call it in the
/// transaction that counts it as unique at the time `at_ms` of the event. Does nothing if the day of the event has been
/// checked.
pub fn mark_first(tx: &WriteTx<'_>, team: TeamId, at_ms: TimestampMs, event: EventId) -> Result<(), StoreError> {
    let key = (team, quarter(at_ms), event);
    match tx.get_valid(&EMAIL_COUNT_JOURNAL, &key)? {
        Some(row) => tx.put(&EMAIL_COUNT_JOURNAL, &key, &CountJournalRow { is_first: true, ..row }),
        None => Ok(()),
    }
}

/// Removes a retracted event from the journal. Call it in the transaction that deletes the event and takes back its counts.
/// The deletion of an email does not call it: the counts stay.
pub fn forget(tx: &WriteTx<'_>, team: TeamId, at_ms: TimestampMs, event: EventId) -> Result<(), StoreError> {
    tx.delete(&EMAIL_COUNT_JOURNAL, &(team, quarter(at_ms), event))?;
    Ok(())
}
