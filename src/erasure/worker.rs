//! Going through the places: read a page, take the addresses out of it, write down how far that is.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tracing::info;

use super::places::{self, Found, Progress};
use super::store::{self, ErasureKey, Target};
use crate::context::Context;
use crate::logs::{Barrier, Unwritten};
use crate::store::Reads as _;
use crate::store::StoreError;
use crate::store::tables::ERASURES;

/// Names of erasures read at once.
const PAGE_ROWS: usize = 1_000;
/// The longest pause between two looks at an erasure that waits for emails, in rounds.
const PAUSE_ROUNDS_MAX: u32 = 64;
/// How long a round waits for requests that are under way: the log is written ten times a second.
const REQUESTS_WITHIN: Duration = Duration::from_millis(500);

/// The erasures of the instance.
pub struct Erasures {
    context: Context,
    /// Those that wait for emails to settle. A cache: after a start each is looked at once.
    pauses: Mutex<HashMap<ErasureKey, Pause>>,
    /// Requests that the log does not hold yet.
    unwritten: Unwritten,
    /// Those that erasures wait for. A start has none: what was under way before it is gone.
    barriers: Mutex<HashMap<ErasureKey, Barrier>>,
}

/// How long an erasure is left alone.
#[derive(Clone, Copy, Debug, Default)]
struct Pause {
    /// Rounds it has been given.
    rounds: u32,
    /// Rounds that are left of them.
    left: u32,
}

impl Erasures {
    /// Returns the erasures of the instance that `context` belongs to, whose log lacks the requests of
    /// `unwritten`.
    pub fn new(context: Context, unwritten: Unwritten) -> Self {
        Self { context, pauses: Mutex::default(), unwritten, barriers: Mutex::default() }
    }

    /// Brings every erasure as far as it can go: a round, to be made again and again. It may be cut
    /// off anywhere.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn advance(&self) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let page = self.context.store.read(move |tx| store::pending(tx, after, PAGE_ROWS)).await?;
            for key in &page {
                if self.is_its_turn(*key) {
                    self.advance_one(*key).await?;
                }
            }
            after = page.last().copied();
            if page.len() < PAGE_ROWS {
                return Ok(());
            }
        }
    }

    async fn advance_one(&self, key: ErasureKey) -> Result<(), StoreError> {
        let keyring = self.context.keyring.clone();
        let target = self.context.store.read::<_, StoreError>(move |tx| store::target(tx, &keyring, key)).await?;
        let Some(target) = target.map(Arc::new) else { return Ok(()) };
        loop {
            match self.step(key, &target).await? {
                Progress::More => {}
                Progress::Waiting => {
                    self.pause(key);
                    return Ok(());
                }
                Progress::Done => {
                    self.lock().remove(&key);
                    let (team, id) = key;
                    info!(team.id = %team, erasure.id = %id, "erasure {id} is done");
                    return Ok(());
                }
            }
        }
    }

    /// Goes through one page of the place that an erasure has come to.
    pub(super) async fn step(&self, key: ErasureKey, target: &Arc<Target>) -> Result<Progress, StoreError> {
        let (looking, keyring) = (Arc::clone(target), self.context.keyring.clone());
        let found = self
            .context
            .store
            .read::<_, StoreError>(move |tx| {
                let Some(row) = tx.get(&ERASURES, &key)? else { return Ok(None) };
                places::look(tx, &keyring, &row, &looking).map(Some)
            })
            .await?;
        let found = match found {
            None => return Ok(Progress::Done),
            Some(Found::Nothing) => return Ok(Progress::Waiting),
            Some(Found::RequestLogAhead) if !self.requests_are_written(key).await => return Ok(Progress::Waiting),
            Some(found) => found,
        };
        let target = Arc::clone(target);
        self.context.store.write_bulk(move |tx| places::erase(tx, key, &target, &found)).await
    }

    /// Waits a moment for the requests that were under way when it was first asked; returns whether
    /// each of them has been written.
    async fn requests_are_written(&self, key: ErasureKey) -> bool {
        let barrier = {
            let mut barriers = self.barriers.lock().unwrap_or_else(PoisonError::into_inner);
            barriers.entry(key).or_insert_with(|| self.unwritten.barrier()).clone()
        };
        if tokio::time::timeout(REQUESTS_WITHIN, barrier.passed()).await.is_err() {
            return false;
        }
        self.barriers.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
        true
    }

    fn is_its_turn(&self, key: ErasureKey) -> bool {
        match self.lock().get_mut(&key) {
            Some(pause) if pause.left > 0 => {
                pause.left -= 1;
                false
            }
            _ => true,
        }
    }

    /// Leaves an erasure alone for twice as many rounds as the last time.
    fn pause(&self, key: ErasureKey) {
        let mut pauses = self.lock();
        let pause = pauses.entry(key).or_default();
        pause.rounds = (pause.rounds * 2).clamp(1, PAUSE_ROUNDS_MAX);
        pause.left = pause.rounds;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ErasureKey, Pause>> {
        self.pauses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
