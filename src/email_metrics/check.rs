//! The nightly check: recounts the days of a team from their events and compares them with the counts.
//!
//! The journal names the events of each quarter hour. A quarter hour is recounted in pages, and again if its counts
//! changed in between. An event counts as what it is now; an event that was deleted with its email counts as its
//! journal row says. First opens and first clicks are marked in the journal. The totals of the day are compared with
//! the sums of its quarter hours. Suppressed recipients, opt-outs and scores have no event of an email and are not
//! checked. Neither are the totals of bounces and complaints by the day of the send.
//!
//! The position of a team is its last checked day, with the lease of the process that checks the next one. The transaction
//! that stores a result compares it, so that of several processes one stores the result and reports it. Then the journal of
//! the day is deleted. A report that arrives later about a checked day is counted and not checked.
//!
//! A position that is not in the past was stored before the clock was set back. The journal of the days since then is not
//! complete, so that they are not compared: the position becomes the current day.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::model::{DayTotals, QUARTER_MS, QUARTERS_OF_DAY};
use super::recount::{CountDifference, CountSpan, Recount, day_differences};
use super::store::day_totals;
use crate::base::clock::{TimestampMs, monotonic, to_iso, utc_day};
use crate::base::id::{Id, TeamId};
use crate::context::Context;
use crate::store::{KeyOf, NodeId, Order, ReadTx, Reads, Row, StoreError, WriteTx};
use crate::tables::{EMAIL_COUNT_CHECKS, EMAIL_COUNT_JOURNAL};
use crate::teams;
use crate::workers::{every, rest_after};

/// Interval of rounds. A day is checked within this time after its end.
const ROUND_INTERVAL: Duration = Duration::from_secs(3600);
/// Time for which a process checks a day alone. After it, another process may check the day too.
const LEASE_MS: i64 = 2 * 60 * 60 * 1000;
/// Recounts of a quarter hour whose counts change meanwhile.
const RECOUNTS_MAX: usize = 5;
/// Journal rows that one transaction deletes.
const DELETED_MAX: usize = 500;
/// Differences that the log names. The result counts all.
const REPORTED_MAX: usize = 20;

/// Last checked day of a team, with its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountCheckRow {
    /// UTC day since 1970.
    pub(super) day: u32,
    pub(super) checked_ms: TimestampMs,
    /// Events of the day.
    pub(super) events: u64,
    /// Counts that differ from the events.
    pub(super) differences: u64,
    /// The process that checks the next day; `None` if none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lease: Option<CountCheckLease>,
}
impl Row for CountCheckRow {}

impl CountCheckRow {
    /// Returns the row after a day without a check.
    fn unchecked(day: u32, at_ms: TimestampMs) -> Self {
        Self { day, checked_ms: at_ms, events: 0, differences: 0, lease: None }
    }
}

/// The lease of a process that checks a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountCheckLease {
    pub(super) node: NodeId,
    pub(super) expires_ms: TimestampMs,
}

/// The check of the counts of all teams.
pub struct CountCheck {
    context: Context,
    /// Differences that this process has found.
    differences: AtomicU64,
}

impl CountCheck {
    /// Returns the check for the store of `context`.
    pub fn new(context: Context) -> Self {
        Self { context, differences: AtomicU64::new(0) }
    }

    /// Returns the number of differences that this process has found since its start.
    pub fn differences(&self) -> u64 {
        self.differences.load(Ordering::Relaxed)
    }

    /// Checks each day after its end, until `stop`.
    pub async fn run(&self, stop: CancellationToken) -> Result<(), StoreError> {
        every(ROUND_INTERVAL, stop, || self.run_round()).await
    }

    /// Checks the complete days of all teams that have not been checked, and deletes their journal.
    pub async fn run_round(&self) -> Result<(), StoreError> {
        let today = utc_day(self.context.now_ms());
        for team in self.context.store.read::<_, StoreError>(teams::list).await? {
            while let Some((position, next)) = self.next_day(team.id, today).await? {
                let Some(lease) = self.take(team.id, position, next).await? else { break };
                if !self.check_day(team.id, lease, next).await? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Returns the position of a team and its next day with a journal before `today`. Deletes the journal of days that are
    /// not checked any more.
    async fn next_day(&self, team: TeamId, today: u32) -> Result<Option<(Option<CountCheckRow>, u32)>, StoreError> {
        loop {
            let read = move |tx: &ReadTx| {
                let position = tx.get_valid(&EMAIL_COUNT_CHECKS, &(team,))?;
                Ok::<_, StoreError>((position, first_day(tx, team)?))
            };
            let (position, next) = self.context.store.read(read).await?;
            match (position, next) {
                (Some(row), _) if row.day >= today => {
                    self.set_back(team, row, today).await?;
                    return Ok(None);
                }
                (_, None) => return Ok(None),
                (Some(row), Some(next)) if next <= row.day => self.delete_journal(team, row.day).await?,
                (position, Some(next)) => return Ok((next < today).then_some((position, next))),
            }
        }
    }

    /// Sets a position that is not in the past to `today`, and deletes the journal of the days before.
    async fn set_back(&self, team: TeamId, position: CountCheckRow, today: u32) -> Result<(), StoreError> {
        if position.day > today {
            let reset = CountCheckRow::unchecked(today, self.context.now_ms());
            if !self.replace(team, Some(position), reset).await? {
                return Ok(());
            }
            info!(team.id = %team, day = today, "the clock was set back: counts up to this day are not checked");
        }
        match today.checked_sub(1) {
            Some(yesterday) => self.delete_journal(team, yesterday).await,
            None => Ok(()),
        }
    }

    /// Takes the lease of the next day. Returns the position with it; `None` if another process has it, or has changed the
    /// position, or the team was removed.
    async fn take(
        &self,
        team: TeamId,
        position: Option<CountCheckRow>,
        next: u32,
    ) -> Result<Option<CountCheckRow>, StoreError> {
        let (node, now_ms) = (self.context.store.node(), self.context.now_ms());
        // After the clock was set back, more than the whole time is left.
        let is_held = |lease: &CountCheckLease| {
            lease.node != node && (1..=LEASE_MS).contains(&lease.expires_ms.saturating_sub(now_ms))
        };
        if position.and_then(|row| row.lease).as_ref().is_some_and(is_held) {
            return Ok(None);
        }
        let lease = CountCheckLease { node, expires_ms: now_ms.saturating_add(LEASE_MS) };
        let before = position.unwrap_or_else(|| CountCheckRow::unchecked(next.saturating_sub(1), now_ms));
        let leased = CountCheckRow { lease: Some(lease), ..before };
        Ok(self.replace(team, position, leased).await?.then_some(leased))
    }

    /// Replaces the position of a team. Returns `false` if another process has changed it, or the team was removed.
    async fn replace(
        &self,
        team: TeamId,
        before: Option<CountCheckRow>,
        after: CountCheckRow,
    ) -> Result<bool, StoreError> {
        let put = move |tx: &WriteTx<'_>| {
            let is_own = tx.get_valid(&EMAIL_COUNT_CHECKS, &(team,))? == before && teams::find(tx, team)?.is_some();
            if is_own {
                tx.put(&EMAIL_COUNT_CHECKS, &(team,), &after)?;
            }
            Ok::<_, StoreError>(is_own)
        };
        self.context.store.write_bulk(put).await
    }

    /// Checks a day. Returns `false` if another process has changed the position, or the team was removed.
    async fn check_day(&self, team: TeamId, position: CountCheckRow, day: u32) -> Result<bool, StoreError> {
        let (mut events, mut differences, mut is_stable) = (0, Vec::new(), true);
        let (counted, mut totals) = (self.totals(team, day).await?, DayTotals::default());
        let first = day.saturating_mul(QUARTERS_OF_DAY);
        // Counts without any event are found too: each quarter hour is compared.
        for quarter in first..first.saturating_add(QUARTERS_OF_DAY) {
            if let Some(recount) = self.recount(team, quarter).await? {
                events += recount.events;
                totals.add(&recount.totals);
                differences.append(&mut recount.differences());
            } else {
                is_stable = false;
                let at = to_iso(i64::from(quarter) * QUARTER_MS);
                warn!(team.id = %team, "the counts of the quarter hour {at} keep changing and were not compared");
            }
        }
        match day_differences(counted, self.totals(team, day).await?, totals) {
            None => warn!(team.id = %team, day, "the totals of a day changed during their check and were not compared"),
            Some(mut found) if is_stable => differences.append(&mut found),
            Some(_) => {}
        }
        let (checked_ms, number) = (self.context.now_ms(), differences.len() as u64);
        let result = CountCheckRow { day, checked_ms, events, differences: number, lease: None };
        if !self.replace(team, Some(position), result).await? {
            return Ok(false);
        }
        self.report(team, result, &differences);
        self.delete_journal(team, day).await?;
        Ok(true)
    }

    async fn totals(&self, team: TeamId, day: u32) -> Result<DayTotals, StoreError> {
        self.context.store.read(move |tx| day_totals(tx, team, day..=day)).await
    }

    /// Recounts a quarter hour in pages, with a rest after each; `None` if its counts keep changing.
    async fn recount(&self, team: TeamId, quarter: u32) -> Result<Option<Recount>, StoreError> {
        let store = &self.context.store;
        for _ in 0..RECOUNTS_MAX {
            let started = monotonic();
            let start = move |tx: &ReadTx| Recount::start(tx, team, quarter);
            let mut recount = store.read::<_, StoreError>(start).await?;
            rest_after(started).await;
            while !recount.is_complete() {
                let started = monotonic();
                recount = store.read::<_, StoreError>(move |tx| recount.read_page(tx)).await?;
                rest_after(started).await;
            }
            if recount.is_stable() {
                return Ok(Some(recount));
            }
        }
        Ok(None)
    }

    fn report(&self, team: TeamId, result: CountCheckRow, differences: &[CountDifference]) {
        let CountCheckRow { day, events, differences: number, .. } = result;
        if number == 0 {
            info!(team.id = %team, day, events, "the counts of a day agree with its {events} events");
            return;
        }
        self.differences.fetch_add(number, Ordering::Relaxed);
        error!(team.id = %team, day, events, differences = number, "{number} email counts of a day differ from its events");
        for CountDifference { span, metric, counted, of_events } in differences.iter().take(REPORTED_MAX) {
            let metric = metric.as_str();
            match span {
                CountSpan::Quarter(quarter, domain) => {
                    let at = to_iso(i64::from(*quarter) * QUARTER_MS);
                    error!(
                        team.id = %team, domain.id = %domain, metric, counted, of_events,
                        "the count of the quarter hour {at} differs from its events"
                    );
                }
                CountSpan::Day => {
                    error!(team.id = %team, day, metric, counted, of_events, "the total of a day differs from its events");
                }
            }
        }
    }

    /// Deletes the journal of a team up to a day.
    async fn delete_journal(&self, team: TeamId, day: u32) -> Result<(), StoreError> {
        let last = day.saturating_add(1).saturating_mul(QUARTERS_OF_DAY).saturating_sub(1);
        let delete = move |tx: &WriteTx<'_>| {
            tx.delete_range(&EMAIL_COUNT_JOURNAL, &(team, 0, Id::MIN), &(team, last, Id::MAX), DELETED_MAX)
        };
        while self.context.store.write_bulk::<_, StoreError>(delete).await? == DELETED_MAX {}
        Ok(())
    }
}

/// Returns the first day with a journal row, which has not been checked yet; `None` if no row is left.
pub(super) fn first_day(tx: &impl Reads, team: TeamId) -> Result<Option<u32>, StoreError> {
    let first = tx.first_key(&EMAIL_COUNT_JOURNAL, KeyOf::bounds(team), Order::Ascending)?;
    Ok(first.map(|(_, quarter, _)| quarter / QUARTERS_OF_DAY))
}
