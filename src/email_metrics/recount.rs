//! The recount of a quarter hour from its journal, in pages.
//!
//! The counts are read with the first page and again with the last. If both are equal, the events between them are those of
//! the counts: each event changes its count in its own transaction.

use std::collections::BTreeMap;

use super::model::{DayTotals, EmailCounts, EmailMetric, quarter};
use super::store::NO_BROADCAST;
use crate::base::id::{BroadcastId, DomainId, EventId, TeamId};
use crate::events;
use crate::store::{NEXT, Order, Reads, STOP, StoreError};
use crate::tables::{EMAIL_COUNT_JOURNAL, EMAIL_QUARTER_COUNTS};

/// Journal rows of a page. Each needs a read of its event.
pub(super) const PAGE_ROWS: usize = 500;

/// Metrics that have an event or are marked beside one.
const CHECKED: &[EmailMetric] = &[
    EmailMetric::Sent,
    EmailMetric::Delivered,
    EmailMetric::DeliveryDelayed,
    EmailMetric::BouncedPermanent,
    EmailMetric::BouncedTransient,
    EmailMetric::BouncedUndetermined,
    EmailMetric::Complained,
    EmailMetric::Failed,
    EmailMetric::Opened,
    EmailMetric::UniqueOpened,
    EmailMetric::Clicked,
    EmailMetric::UniqueClicked,
    EmailMetric::Prefetched,
];

/// Span of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CountSpan {
    /// A quarter hour since 1970, with a domain.
    Quarter(u32, DomainId),
    /// The totals of the day.
    Day,
}

/// A count that differs from its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CountDifference {
    pub(super) span: CountSpan,
    pub(super) metric: EmailMetric,
    pub(super) counted: u64,
    pub(super) of_events: u64,
}

type BySource = BTreeMap<(DomainId, BroadcastId), EmailCounts>;

/// A recount in progress.
#[derive(Debug)]
pub(super) struct Recount {
    team: TeamId,
    quarter: u32,
    /// Counts at the first page.
    counted: BySource,
    /// Whether the counts were the same at the last page.
    is_stable: bool,
    /// Number of events that the journal names.
    pub(super) events: u64,
    of_events: BySource,
    /// Totals of the day that the events add up to.
    pub(super) totals: DayTotals,
    /// Next event to read; `None` after the last.
    next: Option<EventId>,
}

impl Recount {
    /// Reads the counts and the first page of a quarter hour.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(super) fn start(tx: &impl Reads, team: TeamId, quarter: u32) -> Result<Self, StoreError> {
        let recount = Self {
            team,
            quarter,
            counted: read_counts(tx, team, quarter)?,
            is_stable: false,
            events: 0,
            of_events: BySource::new(),
            totals: DayTotals::default(),
            next: Some(EventId::MIN),
        };
        recount.read_page(tx)
    }

    /// Returns whether the last page has been read.
    pub(super) fn is_complete(&self) -> bool {
        self.next.is_none()
    }

    /// Returns whether the counts did not change between the first page and the last.
    pub(super) fn is_stable(&self) -> bool {
        self.is_stable
    }

    /// Reads the next page.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(super) fn read_page(mut self, tx: &impl Reads) -> Result<Self, StoreError> {
        let Some(from) = self.next else { return Ok(self) };
        let (from, to) = ((self.team, self.quarter, from), (self.team, self.quarter, EventId::MAX));
        let (mut rows, mut next) = (0, None);
        tx.scan(&EMAIL_COUNT_JOURNAL, &from, &to, Order::Ascending, |(_, _, id), stored| {
            if rows == PAGE_ROWS {
                next = Some(id);
                return STOP;
            }
            rows += 1;
            let Some(row) = stored.valid() else { return NEXT };
            self.events += 1;
            let event = events::email_event(tx, self.team, row.email, id)?;
            let (metric, recipients) = match &event {
                Some(event) if quarter(event.at_ms) != self.quarter => return NEXT,
                Some(event) => (EmailMetric::of_event(event), event.recipients.len() as u64),
                None => (Some(row.metric), row.recipients),
            };
            let real = recipients.saturating_sub(row.simulated);
            let source = (row.domain, row.broadcast.unwrap_or(NO_BROADCAST));
            let counts = self.of_events.entry(source).or_default();
            let first = metric.filter(|_| row.is_first).and_then(EmailMetric::first);
            for metric in metric.into_iter().chain(first) {
                *counts.of_mut(metric) += recipients;
                if let Some(total) = self.totals.of_mut(metric) {
                    *total += real;
                }
            }
            NEXT
        })?;
        self.next = next;
        if self.is_complete() {
            self.is_stable = read_counts(tx, self.team, self.quarter)? == self.counted;
        }
        Ok(self)
    }

    /// Returns the counts that differ from their events.
    pub(super) fn differences(&self) -> Vec<CountDifference> {
        let mut sources: Vec<_> = self.counted.keys().chain(self.of_events.keys()).copied().collect();
        sources.sort_unstable();
        sources.dedup();
        let mut differences = Vec::new();
        for source in sources {
            let [counted, of_events] =
                [&self.counted, &self.of_events].map(|side| side.get(&source).copied().unwrap_or_default());
            for metric in CHECKED {
                let (counted, of_events) = (counted.of(*metric), of_events.of(*metric));
                if counted != of_events {
                    let span = CountSpan::Quarter(self.quarter, source.0);
                    differences.push(CountDifference { span, metric: *metric, counted, of_events });
                }
            }
        }
        differences
    }
}

/// Returns the totals of a day that differ from those of its events; `None` if they changed from `before` to `after`.
pub(super) fn day_differences(
    before: DayTotals,
    after: DayTotals,
    of_events: DayTotals,
) -> Option<Vec<CountDifference>> {
    total_differences(before, after).is_empty().then(|| total_differences(before, of_events))
}

/// Returns the totals that differ. Scores have no events and are not compared. Outcomes by the day of the send are not
/// compared either: they belong to events of later days too.
fn total_differences(mut counted: DayTotals, mut of_events: DayTotals) -> Vec<CountDifference> {
    let mut differences = Vec::new();
    for metric in CHECKED {
        let (Some(counted), Some(of_events)) = (counted.of_mut(*metric), of_events.of_mut(*metric)) else { continue };
        if counted != of_events {
            let (counted, of_events) = (*counted, *of_events);
            differences.push(CountDifference { span: CountSpan::Day, metric: *metric, counted, of_events });
        }
    }
    differences
}

/// Returns the counts of a quarter hour: one for each domain and broadcast with events.
fn read_counts(tx: &impl Reads, team: TeamId, quarter: u32) -> Result<BySource, StoreError> {
    let mut counts = BySource::new();
    let from = (team, quarter, DomainId::MIN, BroadcastId::MIN);
    let to = (team, quarter, DomainId::MAX, BroadcastId::MAX);
    tx.scan_valid(&EMAIL_QUARTER_COUNTS, &from, &to, Order::Ascending, |(_, _, domain, broadcast), row| {
        counts.insert((domain, broadcast), row);
        NEXT
    })?;
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_totals_of_the_events_of_a_day_are_compared() {
        let difference =
            |metric, counted, of_events| CountDifference { span: CountSpan::Day, metric, counted, of_events };
        let of_events = DayTotals { sent: 5, delivered: 4, ..DayTotals::default() };
        let counted = DayTotals { sent: 6, delivered: 3, ..of_events };
        let expected = vec![difference(EmailMetric::Sent, 6, 5), difference(EmailMetric::Delivered, 3, 4)];
        // A score and a late report.
        let added =
            DayTotals { sent_and_bounced: 1, sent_and_complained: 1, scored_recipients: 5, score_sum: 350, ..counted };
        assert_eq!(day_differences(counted, added, of_events), Some(expected));
        assert_eq!(day_differences(of_events, of_events, of_events), Some(Vec::new()));

        assert_eq!(day_differences(of_events, counted, of_events), None, "an event was added meanwhile");
    }
}
