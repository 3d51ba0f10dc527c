//! Going through the places: read a page, take the addresses out of it, write down how far that is.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::{error, info};

use super::stages::{self, StageMatches, StepResult};
use super::store::{self, ErasureKey, ErasureRow, ErasureTarget};
use crate::base::id::TeamId;
use crate::context::Context;
use crate::logs::{Barrier, PendingEntries};
use crate::store::{ReadTx, Reads as _, StoreError, WriteTx};
use crate::tables::ERASURES;

/// Pages of a turn, after which another team has its turn. What is kept in memory of how far an
/// erasure has come is written at its end.
const TURN_PAGES: usize = 20;
/// The longest pause between two looks at an erasure that waits for emails, in rounds.
const WAITING_ROUNDS_MAX: u32 = 64;
/// The longest pause after a failure, in rounds.
const FAILED_ROUNDS_MAX: u32 = 1_024;
/// The longest pause of one that waits for requests, in rounds: the log is written ten times a second.
const LOGGING_ROUNDS_MAX: u32 = 1;

/// The erasures of the instance.
pub struct Erasures {
    pub(super) context: Context,
    /// Those that wait for emails to settle or for requests to be logged, or have failed. A cache: after a start each is looked at
    /// once.
    pauses: Mutex<HashMap<ErasureKey, Backoff>>,
    /// Requests that the log does not hold yet.
    unwritten: PendingEntries,
    /// Those that erasures wait for. A start has none: what was under way before it is gone.
    barriers: Mutex<HashMap<ErasureKey, Barrier>>,
}

/// How long an erasure is left alone.
#[derive(Clone, Copy, Debug, Default)]
struct Backoff {
    /// Rounds it has been given.
    rounds: u32,
    /// Rounds that are left of them.
    left: u32,
}

/// An erasure that has its turn.
#[derive(Debug)]
pub(super) struct ErasureRun {
    key: ErasureKey,
    row: ErasureRow,
    target: Arc<ErasureTarget>,
    /// Whether it has come further than the row in the store says: past pages without a hit.
    is_ahead: bool,
}

impl Erasures {
    /// Returns the erasures of the instance that `context` belongs to, whose log lacks the requests of
    /// `unwritten`.
    pub fn new(context: Context, unwritten: PendingEntries) -> Self {
        Self { context, pauses: Mutex::default(), unwritten, barriers: Mutex::default() }
    }

    /// Brings every erasure as far as it can go: a round, to be made again and again. It may be cut
    /// off anywhere. Teams take turns, and so do the erasures of a team, the earliest first. One that
    /// fails is reported and left alone for a while; the others go on.
    ///
    /// # Errors
    /// [`StoreError`], where none of them could go on.
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

    /// Brings the earliest erasure of a team that does not pause on by some pages. Returns whether there
    /// was one.
    pub(super) async fn run_team(&self, team: TeamId) -> Result<bool, StoreError> {
        let paused = self.paused();
        let earliest = self.read(move |tx| store::earliest(tx, team, |key| !paused.contains(&key))).await?;
        let Some(key) = earliest else { return Ok(false) };
        let (_, id) = key;
        match self.take_turn(key).await {
            Ok(StepResult::More) => {}
            Ok(StepResult::Waiting) => self.pause(key, WAITING_ROUNDS_MAX),
            Ok(StepResult::Logging) => self.pause(key, LOGGING_ROUNDS_MAX),
            Ok(StepResult::Done) => {
                self.lock().remove(&key);
                info!(team.id = %team, erasure.id = %id, "erasure {id} is done");
            }
            Err(StoreError::Closed) => return Err(StoreError::Closed),
            Err(failure) => {
                error!(team.id = %team, erasure.id = %id, "erasure {id} failed, and is tried again: {failure}");
                self.pause(key, FAILED_ROUNDS_MAX);
            }
        }
        Ok(true)
    }

    async fn take_turn(&self, key: ErasureKey) -> Result<StepResult, StoreError> {
        let Some(mut walk) = self.begin(key).await? else { return Ok(StepResult::Done) };
        for _ in 0..TURN_PAGES {
            let progress = self.step(&mut walk).await?;
            if progress != StepResult::More {
                return Ok(progress);
            }
        }
        if walk.is_ahead {
            self.context.store.write_bulk::<_, StoreError>(move |tx| tx.put(&ERASURES, &walk.key, &walk.row)).await?;
        }
        Ok(StepResult::More)
    }

    /// Takes an erasure up, with the later ones of its team that can go along; `None` when it is done.
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
            self.lock().retain(|(of, id), _| *of != team || !others.contains(id));
        }
        let keyring = self.context.keyring.clone();
        self.read(move |tx| {
            let Some(row) = tx.get(&ERASURES, &key)? else { return Ok(None) };
            let target = Arc::new(store::target(&keyring, key, &row)?);
            Ok(Some(ErasureRun { key, row, target, is_ahead: false }))
        })
        .await
    }

    /// Goes through one page of the place that an erasure has come to. Nothing is written for a page
    /// without a hit: going through it again would change nothing.
    pub(super) async fn step(&self, walk: &mut ErasureRun) -> Result<StepResult, StoreError> {
        let ErasureRun { key, row, target, .. } = walk;
        let (key, row, target) = (*key, row.clone(), Arc::clone(target));
        let (looked_for, keyring) = (Arc::clone(&target), self.context.keyring.clone());
        let look = self.read(move |tx| stages::scan_stage(tx, &keyring, &row, &looked_for).map(|found| (found, row)));
        let (found, row) = look.await?;
        match found {
            StageMatches::StillPending => return Ok(StepResult::Waiting),
            StageMatches::RequestLogAhead if !self.requests_are_written(key) => return Ok(StepResult::Logging),
            _ => {}
        }
        if let Some(stage) = found.skip_to(row.stage) {
            walk.row.stage = stage;
            walk.is_ahead = true;
            return Ok(StepResult::More);
        }
        let announcer = self.context.event_bus.clone();
        let erase = move |tx: &WriteTx<'_>| stages::erase_matches(tx, &announcer, key, row.clone(), &target, &found);
        let (progress, row) = self.context.store.write_bulk(erase).await?;
        walk.row = row;
        walk.is_ahead = false;
        Ok(progress)
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ReadTx) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.context.store.read(work).await
    }

    /// Counts a round of every pause.
    fn count_round(&self) {
        for pause in self.lock().values_mut() {
            pause.left = pause.left.saturating_sub(1);
        }
    }

    /// Returns whether every request has been written that was under way when this was first asked. It
    /// does not wait: other erasures would wait too.
    fn requests_are_written(&self, key: ErasureKey) -> bool {
        let mut barriers = self.barriers.lock().unwrap_or_else(PoisonError::into_inner);
        let is_passed = barriers.entry(key).or_insert_with(|| self.unwritten.barrier()).is_passed();
        if is_passed {
            barriers.remove(&key);
        }
        is_passed
    }

    fn paused(&self) -> HashSet<ErasureKey> {
        self.lock().iter().filter(|(_, pause)| pause.left > 0).map(|(key, _)| *key).collect()
    }

    /// Leaves an erasure alone for twice as many rounds as the last time.
    fn pause(&self, key: ErasureKey, rounds_max: u32) {
        let mut pauses = self.lock();
        let pause = pauses.entry(key).or_default();
        pause.rounds = (pause.rounds * 2).clamp(1, rounds_max);
        pause.left = pause.rounds;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ErasureKey, Backoff>> {
        self.pauses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
