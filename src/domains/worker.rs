//! The checks in the background: what was asked for at once, everything else in sweeps.
//!
//! A check reads, asks the DNS, and writes what it found in one transaction; a kill in between
//! loses nothing but the look. The queue is in memory: after a start the first sweep finds
//! whatever was waiting.

use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::decide::{self, Change};
use super::records;
use super::service::Domains;
use super::store::{self, DomainRow};
use super::verify;
use crate::base::clock::TimestampMs;
use crate::base::id::{DomainId, Id, TeamId};
use crate::store::{NEXT, Order, Reads, STOP, StoreError};
use crate::tables::DOMAINS;

/// How often the queue and the time of the next sweep are looked at when nothing rings. It costs a
/// lock and a comparison.
const TICK: Duration = Duration::from_secs(1);
/// The time between two sweeps.
const SWEEP_EVERY_MS: i64 = 15 * 60 * 1000;
/// Domains that a sweep checks, the stalest first.
const SWEEP_DOMAINS_MAX: usize = 100;
/// Checks at once. Each asks up to six questions, and delivery needs the resolver too.
const CHECKS_MAX: usize = 8;
/// Rows read in one transaction.
const PAGE_ROWS: usize = 500;

type DomainKey = (TeamId, DomainId);

impl Domains {
    /// Checks domains until it is told to stop. What a failure leaves unchecked, a later sweep finds.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn run(self: Arc<Self>, stop: CancellationToken) -> Result<(), StoreError> {
        loop {
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                checked = self.check_due() => checked?,
            }
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = self.queue.notified() => {}
                () = tokio::time::sleep(TICK) => {}
            }
        }
    }

    /// Checks every domain that waits, and those of a sweep when one is due. Requests that come
    /// meanwhile go first.
    ///
    /// # Errors
    /// [`StoreError`], after the checks under way have been given up.
    pub async fn check_due(self: &Arc<Self>) -> Result<(), StoreError> {
        let mut sweep = self.sweep().await?;
        let mut checks = JoinSet::new();
        loop {
            while checks.len() < CHECKS_MAX {
                let Some((team, id)) = self.queue.pop(self.context.now_ms()).or_else(|| sweep.pop()) else { break };
                let domains = Arc::clone(self);
                checks.spawn(async move { domains.check(team, id).await });
            }
            if checks.is_empty() {
                return Ok(());
            }
            let has_room = checks.len() < CHECKS_MAX;
            tokio::select! {
                Some(checked) = checks.join_next() => match checked {
                    Ok(checked) => checked?,
                    Err(error) => match error.try_into_panic() {
                        Ok(panic) => std::panic::resume_unwind(panic),
                        // Only this loop gives checks up.
                        Err(_) => return Ok(()),
                    },
                },
                () = self.queue.notified(), if has_room => {}
            }
        }
    }

    /// Returns the domains of a sweep when one is due, the stalest last.
    async fn sweep(&self) -> Result<Vec<DomainKey>, StoreError> {
        let now_ms = self.context.now_ms();
        if now_ms < self.sweep_ms.load(Ordering::SeqCst) {
            return Ok(Vec::new());
        }
        let mut stalest: BinaryHeap<(TimestampMs, DomainKey)> = BinaryHeap::new();
        let mut after: Option<DomainKey> = None;
        loop {
            let page = self.context.store.read(move |tx| sweep_page(tx, after, now_ms)).await?;
            stalest.extend(page.due);
            while stalest.len() > SWEEP_DOMAINS_MAX {
                stalest.pop();
            }
            after = page.last;
            if after.is_none() {
                break;
            }
        }
        self.sweep_ms.store(now_ms + SWEEP_EVERY_MS, Ordering::SeqCst);
        Ok(stalest.into_sorted_vec().into_iter().rev().map(|(_, key)| key).collect())
    }

    /// Looks for the records of one domain and writes what it found.
    async fn check(&self, team: TeamId, id: DomainId) -> Result<(), StoreError> {
        let row = self.context.store.read(move |tx| store::find(tx, team, id)).await?;
        let Some(row) = row.filter(|row| !row.assumed) else { return Ok(()) };
        let findings = verify::check_records(&self.resolver, &row, &self.settings).await;
        let now_ms = self.context.now_ms();
        let settings = Arc::clone(&self.settings);
        let checked = self
            .context
            .store
            .write_bulk::<_, StoreError>(move |tx| {
                // Deleted or declared verified while the DNS was asked.
                let Some(mut row) = store::find(tx, team, id)?.filter(|row| !row.assumed) else { return Ok(None) };
                let current = records::all(&row, &settings);
                let change = decide::apply(&mut row, &current, &findings, now_ms);
                store::put(tx, team, id, &row)?;
                Ok(Some((row, change)))
            })
            .await?;
        if let Some((row, change)) = checked {
            log_change(id, &row, change);
            if let Some(next_ms) = decide::next_eager_ms(&row, now_ms) {
                self.queue.push(team, id, next_ms);
            }
        }
        Ok(())
    }
}

fn log_change(id: DomainId, row: &DomainRow, change: Change) {
    let name = &row.name;
    match change {
        Change::Verified => info!(domain.id = %id, domain.name = %name, "{name} is verified and may be sent from"),
        Change::Lost => {
            warn!(domain.id = %id, domain.name = %name, "{name} may not be sent from: a record it needs is gone or wrong");
        }
        Change::Failed => {
            info!(domain.id = %id, domain.name = %name, "{name} is not verified: a record it needs is wrong or was not found");
        }
        Change::None => {}
    }
}

/// What one transaction of a sweep saw.
struct SweepPage {
    due: Vec<(TimestampMs, DomainKey)>,
    /// Where the next page begins; none after the last.
    last: Option<DomainKey>,
}

fn sweep_page(tx: &impl Reads, after: Option<DomainKey>, now_ms: TimestampMs) -> Result<SweepPage, StoreError> {
    let mut page = SweepPage { due: Vec::new(), last: None };
    let mut seen = 0;
    let (from, to) = (after.unwrap_or((Id::MIN, Id::MIN)), (Id::MAX, Id::MAX));
    tx.scan(&DOMAINS, &from, &to, Order::Ascending, |key, row| {
        if after == Some(key) {
            return NEXT;
        }
        let row = row.decode()?;
        if decide::is_due(&row, now_ms) {
            page.due.push((row.checked_ms.unwrap_or(TimestampMs::MIN), key));
        }
        seen += 1;
        if seen < PAGE_ROWS {
            return NEXT;
        }
        page.last = Some(key);
        STOP
    })?;
    Ok(page)
}
