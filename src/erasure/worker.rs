//! The worker: rounds over all erasures, one turn for each team, and the delays between retries.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use tracing::{error, info};

use super::pages::{self, StagePage, StepResult};
use super::stages::ErasureStage;
use super::store::{self, ErasureKey, ErasureRow, ErasureTarget, NextErasure};
use crate::base::id::TeamId;
use crate::base::sync;
use crate::context::Context;
use crate::logs::{PendingEntries, PendingSnapshot};
use crate::store::{ReadTx, Reads as _, StoreError, WriteTx};
use crate::tables::ERASURES;

/// Pages in one turn of a team. The position is stored at the end of the turn.
const TURN_PAGES: usize = 20;
/// Longest delay of an erasure that waits for emails, in rounds.
const WAITING_ROUNDS_MAX: u32 = 64;
/// Longest delay after a failure, in rounds.
const FAILED_ROUNDS_MAX: u32 = 1_024;
/// Longest delay of an erasure that waits for the request log, in rounds. The log is written ten times a
/// second.
const LOGGING_ROUNDS_MAX: u32 = 1;

/// The erasures of the instance.
pub struct Erasures {
    pub(super) context: Context,
    /// Delays of erasures that wait or have failed. Empty after a start: then each erasure runs once.
    delays: Mutex<HashMap<ErasureKey, Backoff>>,
    /// Requests to the API that the log does not contain yet.
    pending_entries: PendingEntries,
    /// For each erasure that waits for the request log: the requests that were in progress at the start of
    /// the wait. Empty after a start of the process, which ends all requests.
    awaited_entries: Mutex<HashMap<ErasureKey, PendingSnapshot>>,
}

/// Delay until the next turn of an erasure.
#[derive(Clone, Copy, Debug, Default)]
struct Backoff {
    /// Rounds of the whole delay.
    rounds: u32,
    /// Rounds until the end of the delay.
    left: u32,
}

/// An erasure during its turn.
#[derive(Debug)]
pub(super) struct ErasureRun {
    key: ErasureKey,
    row: ErasureRow,
    target: Arc<ErasureTarget>,
    /// Whether the position in `row` is after the stored position. No page between the two had a match.
    is_ahead: bool,
}

impl Erasures {
    /// Creates the erasures of the instance of `context`. `pending_entries` are those of its request log.
    pub fn new(context: Context, pending_entries: PendingEntries) -> Self {
        Self { context, delays: Mutex::default(), pending_entries, awaited_entries: Mutex::default() }
    }

    /// Runs one round: every erasure until it is complete or has to wait. Round-robin over teams; the erasures of a
    /// team run in the order of their requests, but the stage of the queue of each runs first. A failed erasure is
    /// logged and delayed, and the others continue. Cancel safe.
    ///
    /// # Errors
    /// [`StoreError`] if the list of erasures cannot be read or the store is closed.
    pub async fn run_round(&self) -> Result<(), StoreError> {
        self.count_round();
        loop {
            let mut has_advanced = false;
            let mut after = None;
            while let Some(team) = self.read(move |tx| store::next_team(tx, after)).await? {
                has_advanced |= self.run_team(team).await?;
                after = Some(team);
            }
            if !has_advanced {
                return Ok(());
            }
        }
    }

    /// Runs one turn of an erasure of a team that is not delayed. Returns whether there was one.
    pub(super) async fn run_team(&self, team: TeamId) -> Result<bool, StoreError> {
        let delayed = self.delayed();
        let next = self.read(move |tx| store::next_erasure(tx, team, |key| !delayed.contains(&key))).await?;
        let Some(next) = next else { return Ok(false) };
        let (NextErasure::Earliest(key) | NextErasure::QueueOnly(key)) = next;
        let (_, id) = key;
        match self.run_turn(key, next).await {
            Ok(StepResult::More) => {}
            Ok(StepResult::Waiting) => self.delay(key, WAITING_ROUNDS_MAX),
            Ok(StepResult::Logging) => self.delay(key, LOGGING_ROUNDS_MAX),
            Ok(StepResult::Done) => {
                self.delays().remove(&key);
                sync::lock(&self.awaited_entries).remove(&key);
                info!(team.id = %team, erasure.id = %id, "completed erasure {id}");
            }
            Err(StoreError::Closed) => return Err(StoreError::Closed),
            Err(failure) => {
                error!(team.id = %team, erasure.id = %id, "erasure {id} failed and will be retried: {failure}");
                self.delay(key, FAILED_ROUNDS_MAX);
            }
        }
        Ok(true)
    }

    async fn run_turn(&self, key: ErasureKey, turn: NextErasure) -> Result<StepResult, StoreError> {
        let Some(mut run) = self.begin(key).await? else { return Ok(StepResult::Done) };
        for _ in 0..TURN_PAGES {
            // After the queue, the erasures that wait for the earliest can share a run.
            if turn == NextErasure::QueueOnly(key) && !run.row.stage.is_queue() {
                break;
            }
            let result = self.step(&mut run).await?;
            if result != StepResult::More {
                return Ok(result);
            }
        }
        if run.is_ahead {
            self.context.store.write_bulk::<_, StoreError>(move |tx| tx.put(&ERASURES, &run.key, &run.row)).await?;
        }
        Ok(StepResult::More)
    }

    /// Loads an erasure and joins later requests of its team to it; `None` if it is complete.
    pub(super) async fn begin(&self, key: ErasureKey) -> Result<Option<ErasureRun>, StoreError> {
        let keyring = self.context.keyring.clone();
        let others = self.read(move |tx| match tx.get(&ERASURES, &key)? {
            Some(row) => store::joinable(tx, &keyring, key, &row),
            None => Ok(Vec::new()),
        });
        let others = others.await?;
        if !others.is_empty() {
            let joining = others.clone();
            self.context.store.write_bulk(move |tx| store::join(tx, key, &joining)).await?;
            let (team, _) = key;
            self.delays().retain(|(other_team, id), _| *other_team != team || !others.contains(id));
        }
        let keyring = self.context.keyring.clone();
        self.read(move |tx| {
            let Some(row) = tx.get(&ERASURES, &key)? else { return Ok(None) };
            let target = Arc::new(store::target(&keyring, key, &row)?);
            Ok(Some(ErasureRun { key, row, target, is_ahead: false }))
        })
        .await
    }

    /// Scans and erases one page. Writes nothing for a page without a match: a repeated scan of it would
    /// find nothing either.
    pub(super) async fn step(&self, run: &mut ErasureRun) -> Result<StepResult, StoreError> {
        let key = run.key;
        if matches!(run.row.stage, ErasureStage::RequestLog { until: None, .. }) && !self.entries_are_written(key) {
            return Ok(StepResult::Logging);
        }
        let (row, target, keyring) = (run.row.clone(), Arc::clone(&run.target), self.context.keyring.clone());
        let scan = self.read(move |tx| pages::scan_page(tx, &keyring, &row, &target)).await?;
        let page = match scan {
            StagePage::StillPending => return Ok(StepResult::Waiting),
            StagePage::NoMatch(stage) => {
                run.row.stage = stage;
                run.is_ahead = true;
                return Ok(StepResult::More);
            }
            StagePage::Matches(page) => page,
        };
        let (row, target, context) = (run.row.clone(), Arc::clone(&run.target), self.context.clone());
        let erase = move |tx: &WriteTx<'_>| pages::erase_page(tx, &context, key, row.clone(), &target, &page);
        let (result, row) = self.context.store.write_bulk(erase).await?;
        run.row = row;
        run.is_ahead = false;
        Ok(result)
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ReadTx) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.context.store.read(work).await
    }

    /// Subtracts one round from every delay.
    fn count_round(&self) {
        for delay in self.delays().values_mut() {
            delay.left = delay.left.saturating_sub(1);
        }
    }

    /// Returns whether the log contains every request that was in progress at the first call for this
    /// erasure. Does not wait, so that other erasures can run.
    fn entries_are_written(&self, key: ErasureKey) -> bool {
        let mut awaited = sync::lock(&self.awaited_entries);
        let is_written = awaited.entry(key).or_insert_with(|| self.pending_entries.snapshot()).is_written();
        if is_written {
            awaited.remove(&key);
        }
        is_written
    }

    fn delayed(&self) -> HashSet<ErasureKey> {
        self.delays().iter().filter(|(_, delay)| delay.left > 0).map(|(key, _)| *key).collect()
    }

    /// Delays an erasure by twice as many rounds as the last time.
    fn delay(&self, key: ErasureKey, rounds_max: u32) {
        let mut delays = self.delays();
        let delay = delays.entry(key).or_default();
        delay.rounds = (delay.rounds * 2).clamp(1, rounds_max);
        delay.left = delay.rounds;
    }

    fn delays(&self) -> MutexGuard<'_, HashMap<ErasureKey, Backoff>> {
        sync::lock(&self.delays)
    }
}
