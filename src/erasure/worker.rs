//! Going through the places: read a page, take the addresses out of it, write down how far that is.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::{error, info};

use super::places::{self, Found, Progress};
use super::store::{self, ErasureKey, Target};
use crate::context::Context;
use crate::store::Reads as _;
use crate::store::StoreError;
use crate::store::tables::ERASURES;

/// Names of erasures read at once.
const PAGE_ROWS: usize = 1_000;
/// The longest pause between two looks at an erasure that waits for emails, in rounds.
const WAITING_ROUNDS_MAX: u32 = 64;
/// The longest pause after a failure, in rounds.
const FAILED_ROUNDS_MAX: u32 = 1_024;

/// The erasures of the instance.
pub struct Erasures {
    context: Context,
    /// Those that wait for emails to settle, or have failed. A cache: after a start each is looked at
    /// once.
    pauses: Mutex<HashMap<ErasureKey, Pause>>,
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
    /// Returns the erasures of the instance that `context` belongs to.
    pub fn new(context: Context) -> Self {
        Self { context, pauses: Mutex::default() }
    }

    /// Brings every erasure as far as it can go: a round, to be made again and again. It may be cut
    /// off anywhere. One that fails is reported and left alone for a while; the others go on.
    ///
    /// # Errors
    /// [`StoreError`], where none of them could go on.
    pub async fn advance(&self) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let page = self.context.store.read(move |tx| store::pending(tx, after, PAGE_ROWS)).await?;
            for key in &page {
                if !self.is_its_turn(*key) {
                    continue;
                }
                match self.advance_one(*key).await {
                    Ok(()) => {}
                    Err(StoreError::Closed) => return Err(StoreError::Closed),
                    Err(failure) => {
                        let (team, id) = *key;
                        error!(team.id = %team, erasure.id = %id, "erasure {id} failed, and is tried again: {failure}");
                        self.pause(*key, FAILED_ROUNDS_MAX);
                    }
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
                    self.pause(key, WAITING_ROUNDS_MAX);
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
        let looking = Arc::clone(target);
        let found = self
            .context
            .store
            .read::<_, StoreError>(move |tx| {
                let Some(row) = tx.get(&ERASURES, &key)? else { return Ok(None) };
                places::look(tx, &row, &looking).map(Some)
            })
            .await?;
        let found = match found {
            None => return Ok(Progress::Done),
            Some(Found::Nothing) => return Ok(Progress::Waiting),
            Some(found) => found,
        };
        let target = Arc::clone(target);
        self.context.store.write_bulk(move |tx| places::erase(tx, key, &target, &found)).await
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
    fn pause(&self, key: ErasureKey, rounds_max: u32) {
        let mut pauses = self.lock();
        let pause = pauses.entry(key).or_default();
        pause.rounds = (pause.rounds * 2).clamp(1, rounds_max);
        pause.left = pause.rounds;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ErasureKey, Pause>> {
        self.pauses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
