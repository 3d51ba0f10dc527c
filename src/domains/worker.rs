//! Checks in the background: requested ones immediately, all others in sweeps.
//!
//! A check reads the row, queries the DNS and stores the result in one transaction. If the process is killed, only the
//! result of the check is lost. The queue is in memory. After a start, the first sweep finds the requested checks.

use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::decide::{self, DomainStatusChange};
use super::records;
use super::service::Domains;
use super::store::{self, DomainRow};
use super::verify;
use crate::base::clock::TimestampMs;
use crate::base::id::{DomainId, Id, TeamId};
use crate::store::{Reads, StoreError, match_page};
use crate::tables::DOMAINS;
use crate::workers::repeat;

/// Interval for polling the queue and the time of the next sweep. A poll costs one lock and one comparison.
const TICK: Duration = Duration::from_secs(1);
/// Time between two sweeps.
const SWEEP_EVERY_MS: i64 = 15 * 60 * 1000;
/// Maximum number of domains that one sweep checks. The domains with the oldest check are first.
const SWEEP_DOMAINS_MAX: usize = 100;
/// Maximum number of concurrent checks. Each makes up to six concurrent lookups, and delivery uses the same resolver.
const CHECKS_MAX: usize = 8;
/// Maximum number of rows that one read transaction of a sweep reads.
const PAGE_ROWS: usize = 500;

type DomainKey = (TeamId, DomainId);

impl Domains {
    /// Checks domains until `stop` is cancelled. A later sweep checks the domains that an error left unchecked.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) -> Result<(), StoreError> {
        repeat(stop, || self.check_due(), || self.queue.added.notified_within(TICK)).await
    }

    /// Checks all due domains of the queue and, if a sweep is due, its domains. Domains that are queued during this
    /// call precede those of the sweep.
    ///
    /// # Errors
    /// Returns [`StoreError`]. The checks in progress are aborted.
    pub async fn check_due(self: &Arc<Self>) -> Result<(), StoreError> {
        let mut sweep = self.sweep().await?;
        let mut checks = JoinSet::new();
        loop {
            while checks.len() < CHECKS_MAX {
                let Some((team, id)) = self.queue.pop(self.context.clock.elapsed_ms()).or_else(|| sweep.pop()) else {
                    break;
                };
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
                        // A check is aborted only when this function returns.
                        Err(_) => return Ok(()),
                    },
                },
                _ = self.queue.added.notified(), if has_room => {}
            }
        }
    }

    /// Returns the domains of a sweep, the one with the oldest check last; nothing if no sweep is due.
    async fn sweep(&self) -> Result<Vec<DomainKey>, StoreError> {
        let (now_ms, elapsed_ms) = (self.context.now_ms(), self.context.clock.elapsed_ms());
        if elapsed_ms < self.next_sweep_ms.load(Ordering::SeqCst) {
            return Ok(Vec::new());
        }
        let mut oldest: BinaryHeap<(TimestampMs, DomainKey)> = BinaryHeap::new();
        let mut next = Some((Id::MIN, Id::MIN));
        while let Some(after) = next {
            let page = self.context.store.read(move |tx| sweep_page(tx, after, now_ms)).await?;
            oldest.extend(page.due);
            next = page.next;
            while oldest.len() > SWEEP_DOMAINS_MAX {
                oldest.pop();
            }
        }
        self.next_sweep_ms.store(elapsed_ms + SWEEP_EVERY_MS, Ordering::SeqCst);
        Ok(oldest.into_sorted_vec().into_iter().rev().map(|(_, key)| key).collect())
    }

    /// Checks the records of one domain and stores the result.
    async fn check(&self, team: TeamId, id: DomainId) -> Result<(), StoreError> {
        let row = self.context.store.read::<_, StoreError>(move |tx| tx.get_valid(&DOMAINS, &(team, id))).await?;
        let Some(row) = row.filter(|row| !row.assumed) else { return Ok(()) };
        let record_checks = verify::check_records(&self.resolver, &row, &self.settings).await;
        // Read together, so that a step of the clock during the commit does not change the pause.
        let (now_ms, elapsed_ms) = (self.context.now_ms(), self.context.clock.elapsed_ms());
        let settings = Arc::clone(&self.settings);
        let checked = self
            .context
            .store
            .write_bulk::<_, StoreError>(move |tx| {
                // `None` if the domain was deleted or declared verified during the check.
                let Some(mut row) = store::find(tx, team, id)?.filter(|row| !row.assumed) else { return Ok(None) };
                let current = records::all(&row, &settings);
                let change = decide::apply(&mut row, &current, &record_checks, now_ms);
                store::put(tx, team, id, &row)?;
                Ok(Some((row, change)))
            })
            .await?;
        if let Some((row, change)) = checked {
            log_change(id, &row, change);
            if let Some(next_ms) = decide::next_fast_recheck_ms(&row, now_ms) {
                self.queue.push(team, id, elapsed_ms + next_ms - now_ms);
            }
        }
        Ok(())
    }
}

fn log_change(id: DomainId, row: &DomainRow, change: DomainStatusChange) {
    let name = &row.name;
    match change {
        DomainStatusChange::Verified => info!(domain.id = %id, domain.name = %name, "verified {name}"),
        DomainStatusChange::Lost => {
            warn!(domain.id = %id, domain.name = %name, "{name} is no longer verified: a required record is missing or wrong");
        }
        DomainStatusChange::Failed => {
            info!(domain.id = %id, domain.name = %name, "verification of {name} failed: a required record is wrong or was not found");
        }
        DomainStatusChange::None => {}
    }
}

/// Due domains of one read transaction of a sweep.
struct SweepPage {
    due: Vec<(TimestampMs, DomainKey)>,
    /// Key after which the next page starts; `None` if no page follows.
    next: Option<DomainKey>,
}

fn sweep_page(tx: &impl Reads, after: DomainKey, now_ms: TimestampMs) -> Result<SweepPage, StoreError> {
    let mut due = Vec::new();
    let page = match_page(tx, &DOMAINS, after, (Id::MAX, Id::MAX), PAGE_ROWS, |key, row: Option<DomainRow>| {
        let row = row.filter(|row| decide::is_due(row, now_ms));
        due.extend(row.map(|row| (row.checked_ms.unwrap_or(TimestampMs::MIN), key)));
        Ok(false)
    })?;
    Ok(SweepPage { due, next: page.next })
}
