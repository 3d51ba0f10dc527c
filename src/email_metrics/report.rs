//! The use case of a report: reads the counts of a range of time and groups them.
//!
//! Counts and names are read in pages of one read transaction each. A report with email ids is made from the events of those
//! emails, one email a read, because the counts do not know emails.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use jiff::tz::TimeZone;

use super::model::{EmailCounts, EmailMetric, MetricSource, QUARTER_MS, quarter};
use super::periods::{Granularity, PERIODS_MAX, ReportPeriod, TooManyPeriods, period_of, periods};
use super::store::{NO_BROADCAST, QuarterKey};
use crate::base::clock::{TimestampMs, monotonic};
use crate::base::id::{BroadcastId, DomainId, EmailId, TeamId};
use crate::context::Context;
use crate::domains;
use crate::events::{self, Event};
use crate::store::{NEXT, Order, ReadTx, Reads, STOP, ScanLimit, StoreError, from_store_error};
use crate::tables::EMAIL_QUARTER_COUNTS;

/// Names that one transaction reads.
const PAGE_NAMES: usize = 500;
/// Rows of counts of a report.
const COUNTS_MAX: usize = 2_000_000;
/// Rows of a report.
pub(super) const ROWS_MAX: usize = 10_000;

/// Range and filters of a report. Times are rounded to the quarter hours that contain them.
#[derive(Clone, Debug)]
pub struct MetricsQuery {
    pub team: TeamId,
    /// Start of the range.
    pub start_ms: TimestampMs,
    /// End of the range, excluding it.
    pub end_ms: TimestampMs,
    pub zone: TimeZone,
    /// Length of the periods; `None` for a report without periods.
    pub granularity: Option<Granularity>,
    pub group_by: GroupBy,
    /// Only these domains; empty for all.
    pub domains: Vec<DomainId>,
    /// Only these emails; empty for all.
    pub emails: Vec<EmailId>,
    /// Only these broadcasts; empty for all, and for emails of the API.
    pub broadcasts: Vec<BroadcastId>,
}

/// Groups of a report in addition to its periods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupBy {
    pub domain: bool,
    pub email: bool,
    pub broadcast: bool,
}

impl GroupBy {
    /// Returns whether a report has periods as its only groups, or no groups.
    const fn is_empty(self) -> bool {
        let Self { domain, email, broadcast } = self;
        !(domain || email || broadcast)
    }
}

/// The counts of a range of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricsReport {
    pub totals: EmailCounts,
    /// One row for each group, in the order of their periods. Empty for a report without groups.
    pub rows: Vec<MetricsReportRow>,
}

/// The counts of one group. A field is `None` if the report is not grouped by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricsReportRow {
    /// Local date, or local date and hour, of the start of the period.
    pub period: Option<String>,
    pub domain: Option<(DomainId, Option<String>)>,
    pub email: Option<EmailId>,
    /// The broadcast with its name; `Some(None)` for emails of the API.
    pub broadcast: Option<Option<(BroadcastId, Option<String>)>>,
    pub counts: EmailCounts,
}

/// Failure to make a report.
#[derive(Debug)]
pub enum MetricsReportError {
    /// The range has more than 10,000 periods.
    TooManyPeriods,
    /// The report has more than 10,000 rows.
    TooManyRows,
    /// The range has too many counts.
    TooManyCounts,
    Store(StoreError),
}

from_store_error!(MetricsReportError);

/// Reads of the nouns that depend on this one.
#[derive(Clone, Copy)]
pub struct MetricLookups {
    /// Returns the domain and the broadcast of an email; `None` if the team has no such email.
    pub source: fn(&ReadTx, TeamId, EmailId) -> Result<Option<MetricSource>, StoreError>,
    /// Returns the name of a broadcast; `None` if it is deleted.
    pub broadcast_name: fn(&ReadTx, TeamId, BroadcastId) -> Result<Option<String>, StoreError>,
}

/// The reports of email metrics.
pub struct EmailMetrics {
    context: Context,
    lookups: MetricLookups,
}

/// Period, domain, broadcast and email of a group. A part is the lowest value if the report is not grouped by it.
type GroupKey = (usize, DomainId, BroadcastId, EmailId);

/// A report in progress.
struct Grouping {
    query: MetricsQuery,
    periods: Vec<ReportPeriod>,
    groups: BTreeMap<GroupKey, EmailCounts>,
    totals: EmailCounts,
    /// Next key to read; `None` after the last.
    next: Option<QuarterKey>,
    counts_read: usize,
}

impl EmailMetrics {
    /// Returns the reports of the store of `context`.
    pub fn new(context: Context, lookups: MetricLookups) -> Self {
        Self { context, lookups }
    }

    /// Returns the current time, at which a range ends by default.
    pub(super) fn now_ms(&self) -> TimestampMs {
        self.context.now_ms()
    }

    /// Makes a report.
    pub async fn report(&self, query: MetricsQuery) -> Result<MetricsReport, MetricsReportError> {
        let (store, lookups) = (&self.context.store, self.lookups);
        let mut grouping = Grouping::start(query)?;
        for email in grouping.emails() {
            grouping = store.read(move |tx| grouping.read_email(tx, email, lookups)).await?;
        }
        while grouping.next.is_some() {
            grouping = store.read(move |tx| grouping.read_page(tx)).await?;
        }
        let mut names = ReportNames::of(&grouping);
        while !names.is_complete() {
            names = store.read::<_, StoreError>(move |tx| names.read_page(tx, lookups)).await?;
        }
        Ok(grouping.finish(&names))
    }
}

impl Grouping {
    fn start(query: MetricsQuery) -> Result<Self, MetricsReportError> {
        let quarters = query.first_quarter()..query.end_quarter();
        let periods = match query.granularity {
            Some(granularity) => periods(&query.zone, granularity, quarters.clone())
                .map_err(|TooManyPeriods| MetricsReportError::TooManyPeriods)?,
            None => Vec::new(),
        };
        let first = (query.team, quarters.start, DomainId::MIN, BroadcastId::MIN);
        let next = (query.emails.is_empty() && !quarters.is_empty()).then_some(first);
        let (groups, totals) = (BTreeMap::new(), EmailCounts::default());
        let mut grouping = Self { query, periods, groups, totals, next, counts_read: 0 };
        // Periods without counts are listed if they are the only groups.
        if grouping.query.group_by.is_empty() {
            for period in 0..grouping.periods.len() {
                grouping.groups.insert((period, DomainId::MIN, BroadcastId::MIN, EmailId::MIN), EmailCounts::default());
            }
        }
        Ok(grouping)
    }

    /// Returns the emails of the report, each once.
    fn emails(&self) -> Vec<EmailId> {
        let mut emails = self.query.emails.clone();
        emails.sort_unstable();
        emails.dedup();
        emails
    }

    /// Reads a page of counts.
    fn read_page(mut self, tx: &ReadTx) -> Result<Self, MetricsReportError> {
        let Some(from) = self.next.take() else { return Ok(self) };
        let Some(last) = self.query.end_quarter().checked_sub(1) else { return Ok(self) };
        let to = (self.query.team, last, DomainId::MAX, BroadcastId::MAX);
        let (mut rows, mut next, mut is_full, started) = (0, None, false, monotonic());
        tx.scan(&EMAIL_QUARTER_COUNTS, &from, &to, Order::Ascending, |key, stored| {
            if ScanLimit::REQUEST.is_reached(rows, started) {
                next = Some(key);
                return STOP;
            }
            rows += 1;
            let (_, quarter, domain, broadcast) = key;
            if !self.query.selects(domain, broadcast) {
                return NEXT;
            }
            let counts = stored.valid().unwrap_or_default();
            self.add(quarter, domain, broadcast, EmailId::MIN, &counts);
            is_full = self.groups.len() > ROWS_MAX;
            if is_full { STOP } else { NEXT }
        })?;
        if is_full {
            return Err(MetricsReportError::TooManyRows);
        }
        self.counts_read += rows;
        if next.is_some() && self.counts_read >= COUNTS_MAX {
            return Err(MetricsReportError::TooManyCounts);
        }
        self.next = next;
        Ok(self)
    }

    /// Adds the events of an email. Nothing if the team has no such email.
    fn read_email(mut self, tx: &ReadTx, email: EmailId, lookups: MetricLookups) -> Result<Self, MetricsReportError> {
        let Some(source) = (lookups.source)(tx, self.query.team, email)? else { return Ok(self) };
        let broadcast = source.broadcast.unwrap_or(NO_BROADCAST);
        if !self.query.selects(source.domain, broadcast) {
            return Ok(self);
        }
        let range = self.query.first_quarter()..self.query.end_quarter();
        let events = events::email_events(tx, email)?;
        let mut seen = HashSet::new();
        for (_, event) in &events {
            let counts = counts_of(event, &mut seen);
            let at = quarter(event.at_ms);
            if range.contains(&at) {
                self.add(at, source.domain, broadcast, email, &counts);
            }
        }
        if self.groups.len() > ROWS_MAX { Err(MetricsReportError::TooManyRows) } else { Ok(self) }
    }

    fn add(&mut self, quarter: u32, domain: DomainId, broadcast: BroadcastId, email: EmailId, counts: &EmailCounts) {
        self.totals.add(counts);
        let by = self.query.group_by;
        if self.query.granularity.is_none() && by.is_empty() {
            return;
        }
        let key = (
            period_of(&self.periods, quarter),
            if by.domain { domain } else { DomainId::MIN },
            if by.broadcast { broadcast } else { BroadcastId::MIN },
            if by.email { email } else { EmailId::MIN },
        );
        self.groups.entry(key).or_default().add(counts);
    }

    /// Returns the report with the names of domains and broadcasts.
    fn finish(self, names: &ReportNames) -> MetricsReport {
        let Self { query, periods, groups, totals, .. } = self;
        let by = query.group_by;
        let row = |((period, domain, broadcast, email), counts)| MetricsReportRow {
            period: periods.get(period).map(|period: &ReportPeriod| period.label.clone()),
            domain: names.domains.get(&domain).map(|name| (domain, name.clone())),
            email: by.email.then_some(email),
            broadcast: names
                .broadcasts
                .get(&broadcast)
                .map(|name| (broadcast != NO_BROADCAST).then(|| (broadcast, name.clone()))),
            counts,
        };
        MetricsReport { totals, rows: groups.into_iter().map(row).collect() }
    }
}

/// Names of the domains and broadcasts of a report, which are read in pages.
struct ReportNames {
    team: TeamId,
    /// Domains and broadcasts whose names have not been read.
    unnamed: (Vec<DomainId>, Vec<BroadcastId>),
    domains: BTreeMap<DomainId, Option<String>>,
    broadcasts: BTreeMap<BroadcastId, Option<String>>,
}

impl ReportNames {
    fn of(grouping: &Grouping) -> Self {
        let by = grouping.query.group_by;
        let keys = || grouping.groups.keys();
        let domains: BTreeSet<DomainId> = keys().filter(|_| by.domain).map(|(_, domain, ..)| *domain).collect();
        let broadcasts: BTreeSet<BroadcastId> =
            keys().filter(|_| by.broadcast).map(|(_, _, broadcast, _)| *broadcast).collect();
        let unnamed = (domains.into_iter().collect(), broadcasts.into_iter().collect());
        Self { team: grouping.query.team, unnamed, domains: BTreeMap::new(), broadcasts: BTreeMap::new() }
    }

    fn is_complete(&self) -> bool {
        self.unnamed.0.is_empty() && self.unnamed.1.is_empty()
    }

    /// Reads the next page.
    fn read_page(mut self, tx: &ReadTx, lookups: MetricLookups) -> Result<Self, StoreError> {
        for _ in 0..PAGE_NAMES {
            if let Some(domain) = self.unnamed.0.pop() {
                let row = domains::find_valid(tx, self.team, domain)?;
                self.domains.insert(domain, row.map(|row| row.name));
            } else if let Some(broadcast) = self.unnamed.1.pop() {
                self.broadcasts.insert(broadcast, (lookups.broadcast_name)(tx, self.team, broadcast)?);
            } else {
                break;
            }
        }
        Ok(self)
    }
}

impl MetricsQuery {
    fn first_quarter(&self) -> u32 {
        quarter(self.start_ms)
    }

    fn end_quarter(&self) -> u32 {
        quarter(self.end_ms.saturating_add(QUARTER_MS - 1))
    }

    fn selects(&self, domain: DomainId, broadcast: BroadcastId) -> bool {
        (self.domains.is_empty() || self.domains.contains(&domain))
            && (self.broadcasts.is_empty() || self.broadcasts.contains(&broadcast))
    }
}

/// Returns the counts that an event adds to those of its email. An open or click of a recipient is the first if `seen`
/// does not have it; the function adds it.
fn counts_of<'e>(event: &'e Event, seen: &mut HashSet<(EmailMetric, &'e str)>) -> EmailCounts {
    let mut counts = EmailCounts::default();
    let Some(metric) = EmailMetric::of_event(event) else { return counts };
    *counts.of_mut(metric) += event.recipients.len() as u64;
    if let Some(first) = metric.first() {
        let new = event.recipients.iter().filter(|recipient| seen.insert((metric, recipient.as_str()))).count();
        *counts.of_mut(first) += new as u64;
    }
    counts
}

// A report that lists all periods has no more rows than a report can have.
const _: () = assert!(PERIODS_MAX <= ROWS_MAX);
