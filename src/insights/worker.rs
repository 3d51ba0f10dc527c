//! The worker: checks emails some seconds after their acceptance, and broadcasts when they start.
//!
//! A page is checked on a thread for reads. Its transaction writes the rows. The worker rests after each page for a
//! multiple of the time that the page took, so that it uses a fraction of one processor.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::compute::{InsightRules, InsightSource, recipients};
use super::rows::{InsightPositionRow, InsightRow};
use super::store::{self, DayCounts};
use crate::base::clock::TimestampMs;
use crate::base::id::{BroadcastId, EmailId, TeamId};
use crate::base::sync;
use crate::context::Context;
use crate::emails::RecipientState;
use crate::preferences::PreferenceLinks;
use crate::store::{ReadTx, Reads, StoreError, WriteTx};
use crate::workers::every;
use crate::{broadcast_rows, emails, teams};

const ROUND_INTERVAL: Duration = Duration::from_secs(5);
/// Rest after a page, as a multiple of its time: a fifth of one processor at most.
const REST_FACTOR: u32 = 4;
/// Shortest and longest rest after a page.
const REST_MIN: Duration = Duration::from_millis(5);
const REST_MAX: Duration = Duration::from_secs(1);
/// Age of an email at which it is checked. The commits of older emails are complete, with few exceptions.
const SETTLE_MS: i64 = 5_000;
/// Age of an email at which emails that were committed late are looked for. A request ends long before.
const LATE_MS: i64 = 600_000;
/// Emails of a page.
pub(super) const PAGE_ROWS: usize = 64;
/// Bytes of content of a page, after which it ends.
const PAGE_BYTES: usize = 4 << 20;
/// Time between two searches for late emails.
const LATE_EVERY_MS: i64 = 60_000;
/// Ids of emails that one search for late emails compares.
const LATE_ROWS: usize = 2_000;
/// Time of the emails of a round, after which broadcasts are checked too.
const EMAILS_TIME_MAX: Duration = Duration::from_secs(30);
/// Bytes of a row, approximately.
const ROW_BYTES: usize = 256;

/// Computes the insights of an instance.
pub struct InsightWorker {
    context: Context,
    rules: InsightRules,
    /// Position of each team up to which late emails were looked for. The stored position can be lower.
    verified: Mutex<HashMap<TeamId, EmailId>>,
    /// Time of the last search for late emails.
    searched_ms: AtomicI64,
}

/// Insights of an email, ready to be stored.
struct PreparedInsight {
    email: EmailId,
    accepted_ms: TimestampMs,
    recipients: u64,
    /// Whether a recipient waited when the email was read, so that it can be canceled since.
    is_waiting: bool,
    row: InsightRow,
}

/// A page of checked emails.
struct PreparedInsights {
    /// Position from which it was prepared.
    expected: Option<InsightPositionRow>,
    /// Last email of the page.
    last: EmailId,
    insights: Vec<PreparedInsight>,
    /// Whether there can be more emails.
    is_full: bool,
}

/// A step of a broadcast.
struct PreparedBroadcast {
    /// Its insights, if they were not stored yet.
    row: Option<InsightRow>,
    /// Whether it is over: its recipients can be counted.
    is_over: bool,
}

impl InsightWorker {
    /// Returns the worker of an instance.
    pub fn new(context: Context, links: &PreferenceLinks) -> Self {
        Self { context, rules: InsightRules::new(links), verified: Mutex::default(), searched_ms: AtomicI64::new(0) }
    }

    /// Returns the worker with other checks.
    #[cfg(test)]
    pub(super) fn with_checks(mut self, evaluate: fn(super::InsightInput<'_>) -> Vec<super::InsightResult>) -> Self {
        self.rules.evaluate = evaluate;
        self
    }

    /// Computes insights until `stop`.
    pub async fn run(&self, stop: CancellationToken) -> Result<(), StoreError> {
        for team in self.context.store.read(teams::ids).await? {
            self.reset_ahead(team).await?;
        }
        every(ROUND_INTERVAL, stop, || self.run_round()).await
    }

    /// Checks the new emails and broadcasts of all teams, page by page in turn.
    pub async fn run_round(&self) -> Result<(), StoreError> {
        let teams = self.context.store.read(teams::ids).await?;
        sync::lock(&self.verified).retain(|team, _| teams.contains(team));
        let mut busy = teams.clone();
        let begun = Instant::now();
        while !busy.is_empty() && begun.elapsed() < EMAILS_TIME_MAX {
            let mut left = Vec::new();
            for team in busy {
                let started = Instant::now();
                if self.check_page(team).await? {
                    left.push(team);
                    rest(started).await;
                }
            }
            busy = left;
        }
        let now_ms = self.context.now_ms();
        let is_search_due = self.searched_ms.load(Ordering::Relaxed).abs_diff(now_ms) >= LATE_EVERY_MS.unsigned_abs();
        for team in teams {
            self.check_broadcasts(team).await?;
            if !is_search_due {
                continue;
            }
            // A bound that followed the clock would make the search endless.
            let until = EmailId::first_at(now_ms - LATE_MS);
            while self.check_late(team, until).await? {
                tokio::time::sleep(REST_MIN).await;
            }
        }
        if is_search_due {
            self.searched_ms.store(now_ms, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Checks the next emails of a team. Returns whether there can be more.
    pub(super) async fn check_page(&self, team: TeamId) -> Result<bool, StoreError> {
        let now_ms = self.context.now_ms();
        let until = EmailId::first_at(now_ms - SETTLE_MS);
        let (keyring, rules) = (self.context.keyring.clone(), self.rules.clone());
        let prepare = move |tx: &ReadTx| {
            let expected = store::position(tx, team)?;
            let after = expected.unwrap_or_default().done;
            let page = emails::emails_after(tx, team, (after, until), PAGE_ROWS)?;
            let mut source = InsightSource::new(tx, &keyring, team, now_ms, &rules);
            let (mut insights, mut last, mut bytes_read) = (Vec::new(), None, 0);
            let mut is_full = page.len() == PAGE_ROWS;
            for (id, row) in page {
                if bytes_read > PAGE_BYTES {
                    is_full = true;
                    break;
                }
                last = Some(id);
                let Some(row) = row.filter(|row| !row.hidden) else { continue };
                if store::has_email(tx, team, id)? {
                    continue;
                }
                if let Some((insight, bytes)) = source.of_email(id, &row)? {
                    bytes_read += bytes;
                    insights.push(PreparedInsight::new(id, &row, insight));
                }
            }
            Ok::<_, StoreError>(last.map(|last| PreparedInsights { expected, last, insights, is_full }))
        };
        let Some(page) = self.context.store.read(prepare).await? else { return Ok(false) };
        let verified = sync::lock(&self.verified).get(&team).copied().unwrap_or(EmailId::MIN);
        let (bytes, is_full) = (page.insights.len() * ROW_BYTES, page.is_full);
        let put = move |tx: &WriteTx<'_>| page.put(tx, team, verified);
        // A page that is not valid any more is prepared again in the next round.
        Ok(self.context.store.write_bulk_sized::<_, StoreError>(bytes, put).await? && is_full)
    }

    /// Checks the emails that were committed after the page that their id belongs to: the id of an email is drawn before
    /// its commit. Returns whether there can be more.
    pub(super) async fn check_late(&self, team: TeamId, until: EmailId) -> Result<bool, StoreError> {
        let known = sync::lock(&self.verified).get(&team).copied();
        let find = move |tx: &ReadTx| {
            let position = store::position(tx, team)?.unwrap_or_default();
            let from = known.map_or(position.verified, |known| known.max(position.verified));
            let end = position.done.min(until);
            if end <= from {
                return Ok(None);
            }
            let ids = emails::email_ids_after(tx, team, (from, end), LATE_ROWS)?;
            let last = if ids.len() == LATE_ROWS { ids.last().copied().unwrap_or(end) } else { end };
            let checked: HashSet<EmailId> = store::ids_between(tx, team, (from, last))?.into_iter().collect();
            let missing: Vec<EmailId> = ids.into_iter().filter(|id| !checked.contains(id)).collect();
            Ok::<_, StoreError>(Some((last, missing)))
        };
        let Some((last, missing)) = self.context.store.read(find).await? else { return Ok(false) };
        for ids in missing.chunks(PAGE_ROWS) {
            self.check_ids(team, ids.to_vec()).await?;
        }
        sync::lock(&self.verified).insert(team, last);
        Ok(true)
    }

    async fn check_ids(&self, team: TeamId, ids: Vec<EmailId>) -> Result<(), StoreError> {
        let started = Instant::now();
        let (keyring, rules, now_ms) = (self.context.keyring.clone(), self.rules.clone(), self.context.now_ms());
        let prepare = move |tx: &ReadTx| {
            let mut source = InsightSource::new(tx, &keyring, team, now_ms, &rules);
            let mut insights = Vec::new();
            for id in ids {
                let row = emails::find_valid_row(tx, team, id)?.filter(|row| !row.hidden);
                let Some(row) = row else { continue };
                if let Some((insight, _)) = source.of_email(id, &row)? {
                    insights.push(PreparedInsight::new(id, &row, insight));
                }
            }
            Ok::<_, StoreError>(insights)
        };
        let insights = self.context.store.read(prepare).await?;
        if insights.is_empty() {
            return Ok(());
        }
        let put = move |tx: &WriteTx<'_>| match teams::find(tx, team)? {
            Some(_) => put_new(tx, team, &insights),
            None => Ok(()),
        };
        self.context.store.write_bulk::<_, StoreError>(put).await?;
        rest(started).await;
        Ok(())
    }

    /// Checks the started broadcasts of a team, and counts the recipients of those that are over.
    pub(super) async fn check_broadcasts(&self, team: TeamId) -> Result<(), StoreError> {
        let mut after = BroadcastId::MIN;
        loop {
            let list = move |tx: &ReadTx| store::pending(tx, team, after, PAGE_ROWS);
            let page = self.context.store.read::<_, StoreError>(list).await?;
            let Some(last) = page.last().copied() else { return Ok(()) };
            for id in page {
                self.check_broadcast(team, id).await?;
            }
            after = last;
        }
    }

    async fn check_broadcast(&self, team: TeamId, id: BroadcastId) -> Result<(), StoreError> {
        let (keyring, rules, now_ms) = (self.context.keyring.clone(), self.rules.clone(), self.context.now_ms());
        let prepare = move |tx: &ReadTx| {
            let Some(broadcast) = broadcast_rows::find_valid(tx, team, id)? else {
                return Ok(PreparedBroadcast { row: None, is_over: true });
            };
            let is_over = !broadcast.status.is_active();
            let row = match store::of_broadcast(tx, team, id)? {
                Some(_) => None,
                None => Some(InsightSource::new(tx, &keyring, team, now_ms, &rules).of_broadcast(id, &broadcast)?),
            };
            Ok::<_, StoreError>(PreparedBroadcast { row, is_over })
        };
        let prepared = self.context.store.read(prepare).await?;
        if prepared.row.is_none() && !prepared.is_over {
            return Ok(());
        }
        let put = move |tx: &WriteTx<'_>| prepared.put(tx, team, id, now_ms);
        self.context.store.write_bulk::<_, StoreError>(put).await
    }

    /// Moves a position in the future back. A process calls it at its start, because its clock may show an earlier time
    /// than that of the process before it. Its new emails then have lower ids. An email that has a row is not checked
    /// again.
    async fn reset_ahead(&self, team: TeamId) -> Result<(), StoreError> {
        let bound = EmailId::first_at(self.context.now_ms() - SETTLE_MS);
        let is_ahead = move |tx: &ReadTx| Ok(store::position(tx, team)?.is_some_and(|position| position.done > bound));
        if !self.context.store.read::<_, StoreError>(is_ahead).await? {
            return Ok(());
        }
        let reset = move |tx: &WriteTx<'_>| match store::position(tx, team)? {
            Some(InsightPositionRow { done, verified }) if done > bound => {
                store::put_position(tx, team, InsightPositionRow { done: bound, verified: verified.min(bound) })
            }
            _ => Ok(()),
        };
        sync::lock(&self.verified).remove(&team);
        self.context.store.write_bulk::<_, StoreError>(reset).await
    }
}

impl PreparedInsight {
    fn new(email: EmailId, email_row: &emails::EmailRow, row: InsightRow) -> Self {
        let is_waiting =
            email_row.recipients.iter().any(|recipient| matches!(recipient.state, RecipientState::Waiting { .. }));
        Self { email, accepted_ms: email_row.created_ms, recipients: recipients(email_row), is_waiting, row }
    }

    /// Returns the recipients that are sent to: recipients that waited can be canceled since.
    fn recipients_now(&self, tx: &impl Reads, team: TeamId) -> Result<u64, StoreError> {
        if !self.is_waiting {
            return Ok(self.recipients);
        }
        Ok(emails::find_valid_row(tx, team, self.email)?.as_ref().map_or(0, recipients))
    }
}

impl PreparedInsights {
    /// Stores a page and moves the position. Returns `false` if the position has changed since, or the team was removed.
    fn put(&self, tx: &WriteTx<'_>, team: TeamId, verified: EmailId) -> Result<bool, StoreError> {
        if store::position(tx, team)? != self.expected || teams::find(tx, team)?.is_none() {
            return Ok(false);
        }
        put_new(tx, team, &self.insights)?;
        let before = self.expected.unwrap_or_default();
        let position = InsightPositionRow { done: self.last, verified: before.verified.max(verified) };
        store::put_position(tx, team, position)?;
        Ok(true)
    }
}

/// Stores the insights of emails that exist and have none, and counts their recipients in the same transaction: an email is
/// counted once.
fn put_new(tx: &WriteTx<'_>, team: TeamId, insights: &[PreparedInsight]) -> Result<(), StoreError> {
    let mut counts = DayCounts::default();
    for insight in insights {
        let PreparedInsight { email, accepted_ms, row, .. } = insight;
        if store::has_email(tx, team, *email)? || !emails::has_row(tx, team, *email)? {
            continue;
        }
        store::put_email(tx, team, *email, row)?;
        counts.add(*accepted_ms, insight.recipients_now(tx, team)?, row);
    }
    counts.store(tx, team)
}

impl PreparedBroadcast {
    /// Stores the insights of a broadcast. Of one that is over, also counts its recipients, once.
    fn put(&self, tx: &WriteTx<'_>, team: TeamId, id: BroadcastId, now_ms: TimestampMs) -> Result<(), StoreError> {
        if !store::is_pending(tx, team, id)? || teams::find(tx, team)?.is_none() {
            return Ok(());
        }
        let stored = store::of_broadcast(tx, team, id)?;
        if let (None, Some(row)) = (&stored, &self.row) {
            store::put_broadcast(tx, team, id, row)?;
        }
        if !self.is_over {
            return Ok(());
        }
        if let Some(row) = stored.as_ref().or(self.row.as_ref()) {
            let mut counts = DayCounts::default();
            counts.add(now_ms, broadcast_rows::read_counts(tx, id)?.attempted_real(), row);
            counts.store(tx, team)?;
        }
        store::forget_pending(tx, team, id)
    }
}

/// Rests after a page that began at `started`.
async fn rest(started: Instant) {
    tokio::time::sleep((started.elapsed() * REST_FACTOR).clamp(REST_MIN, REST_MAX)).await;
}
