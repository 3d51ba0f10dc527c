//! Idempotency keys: the same request twice is one send.
//!
//! What was answered lies in a table ordered by expiry and, for the reading, in a map in memory
//! that is filled after a start; only requests with a key wait for that. A request reserves its
//! key before it is looked at and settles it after the commit; one that is refused frees it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use super::store::IdempotencyRow;
use crate::base::clock::{DAY_MS, TimestampMs};
use crate::base::id::{EmailId, Id, IdempotencyId, TeamId};
use crate::base::sync::lock;
use crate::context::Context;
use crate::store::{NEXT, Order, Reads, STOP, StoreError, WriteTx};
use crate::tables::IDEMPOTENCY;

/// The longest key, in characters.
pub(super) const KEY_CHARS_MAX: usize = 256;
/// How long the answer to a caller is remembered.
const LIFETIME_MS: i64 = DAY_MS;
/// Rows read or removed in one transaction.
const PAGE_ROWS: usize = 1_000;

/// The calls that take a key; a key used with one means nothing to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdempotentRoute {
    /// `POST /emails`.
    Send,
    /// `POST /emails/batch`.
    Batch,
}

/// A key of a caller or of the instance, with what the request says.
#[derive(Clone, Debug)]
pub struct IdempotentRequest {
    /// Whose key it is; the sender's when it says nothing.
    team: Option<TeamId>,
    key_hash: [u8; 32],
    body_hash: [u8; 32],
    lifetime_ms: i64,
}

impl IdempotentRequest {
    /// Joins a key with the canonical hash of the request's body.
    pub fn new(route: IdempotentRoute, key: &str, body_hash: [u8; 32]) -> Self {
        let route = match route {
            IdempotentRoute::Send => b"POST /emails\0".as_slice(),
            IdempotentRoute::Batch => b"POST /emails/batch\0",
        };
        Self { team: None, key_hash: key_hash(route, key), body_hash, lifetime_ms: LIFETIME_MS }
    }

    /// Returns the request for an email of the instance itself about a team. Its key is that team's, whichever team
    /// sends, and is met by no caller's; it alone says whether two requests are the same, whatever their words.
    pub fn of_instance(about: TeamId, key: &str, lifetime_ms: i64) -> Self {
        Self { team: Some(about), key_hash: key_hash(b"instance\0", key), body_hash: [0; 32], lifetime_ms }
    }
}

/// What was answered to the first request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdempotentResponse {
    /// The emails, in the order of the request.
    pub emails: Vec<EmailId>,
    /// The items a permissive batch refused: index and message.
    pub refused: Vec<(u32, String)>,
}

/// What a key says about a request.
#[derive(Debug)]
pub enum Reserved {
    /// It is the first; go on, and settle.
    First(Reservation),
    /// It was answered before.
    Replay(IdempotentResponse),
}

/// Why a key refuses a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyConflict {
    /// The key came with another payload.
    OtherPayload,
    /// The first request is still running.
    Running,
}

#[derive(Debug)]
enum Entry {
    Running { body_hash: [u8; 32] },
    Done { body_hash: [u8; 32], expires_ms: TimestampMs, answer: IdempotentResponse },
}

type Keys = HashMap<(TeamId, [u8; 32]), Entry>;

/// The keys that are remembered.
pub struct Idempotency {
    context: Context,
    keys: Arc<Mutex<Keys>>,
    loaded: watch::Sender<bool>,
}

impl Idempotency {
    /// Returns an empty set of keys; [`Idempotency::load`] fills it.
    pub fn new(context: Context) -> Self {
        Self { context, keys: Arc::default(), loaded: watch::Sender::new(false) }
    }

    /// Reads the stored answers, a page at a time, and lets waiting requests go on.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn load(&self) -> Result<(), StoreError> {
        let mut from = (u64::try_from(self.context.now_ms()).unwrap_or(0), Id::MIN);
        loop {
            let page = self.context.store.read::<_, StoreError>(move |tx| read_page(tx, from)).await?;
            let full = page.len() == PAGE_ROWS;
            let Some(last) = page.last().map(|(key, _)| *key) else { break };
            let mut keys = lock(&self.keys);
            for ((expires, _), row) in page {
                let IdempotencyRow { team, key_hash, body_hash, answer, refused } = row;
                let expires_ms = i64::try_from(expires).unwrap_or(i64::MAX);
                let answer = IdempotentResponse { emails: answer, refused };
                keys.entry((team, key_hash)).or_insert(Entry::Done { body_hash, expires_ms, answer });
            }
            drop(keys);
            if !full {
                break;
            }
            from = (last.0, next_id(last.1));
        }
        self.loaded.send_replace(true);
        Ok(())
    }

    /// Returns what was answered to an earlier request with the same key and payload.
    ///
    /// # Errors
    /// [`KeyConflict`].
    pub async fn replay(
        &self,
        team: TeamId,
        request: &IdempotentRequest,
    ) -> Result<Option<IdempotentResponse>, KeyConflict> {
        self.wait_until_loaded().await;
        answered(&lock(&self.keys), request.team.unwrap_or(team), request, self.context.now_ms())
    }

    /// Reserves the key of a request, or says what became of an earlier one.
    ///
    /// # Errors
    /// [`KeyConflict`].
    pub async fn reserve(&self, team: TeamId, request: &IdempotentRequest) -> Result<Reserved, KeyConflict> {
        self.wait_until_loaded().await;
        let team = request.team.unwrap_or(team);
        let now_ms = self.context.now_ms();
        let mut keys = lock(&self.keys);
        if let Some(answer) = answered(&keys, team, request, now_ms)? {
            return Ok(Reserved::Replay(answer));
        }
        keys.insert((team, request.key_hash), Entry::Running { body_hash: request.body_hash });
        drop(keys);
        Ok(Reserved::First(Reservation {
            keys: Arc::clone(&self.keys),
            team,
            request: request.clone(),
            expires_ms: now_ms + request.lifetime_ms,
            settled: false,
        }))
    }

    async fn wait_until_loaded(&self) {
        // The sender lives as long as this value, so that waiting ends only with the load.
        let _ = self.loaded.subscribe().wait_for(|loaded| *loaded).await;
    }

    /// Forgets the answers that have expired. Repeats until nothing is left, a page a commit.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn purge(&self) -> Result<(), StoreError> {
        let now = self.context.now_ms();
        lock(&self.keys).retain(|_, entry| !matches!(entry, Entry::Done { expires_ms, .. } if *expires_ms <= now));
        let until = u64::try_from(now).unwrap_or(0);
        loop {
            let removed = self
                .context
                .store
                .write_bulk::<_, StoreError>(move |tx| {
                    tx.delete_range(&IDEMPOTENCY, &(0, Id::MIN), &(until, Id::MAX), PAGE_ROWS)
                })
                .await?;
            if removed < PAGE_ROWS {
                return Ok(());
            }
        }
    }
}

/// A key that is being used for the first time. Dropping it unsettled frees the key.
#[derive(Debug)]
pub struct Reservation {
    keys: Arc<Mutex<Keys>>,
    team: TeamId,
    request: IdempotentRequest,
    expires_ms: TimestampMs,
    settled: bool,
}

/// What a reservation writes in the transaction of its emails.
#[derive(Clone, Debug)]
pub(super) struct ReservationRow {
    key: (u64, IdempotencyId),
    row: IdempotencyRow,
}

impl Reservation {
    /// Returns the row that remembers `answer`.
    pub(super) fn row(&self, id: IdempotencyId, answer: &IdempotentResponse) -> ReservationRow {
        let row = IdempotencyRow {
            team: self.team,
            key_hash: self.request.key_hash,
            body_hash: self.request.body_hash,
            answer: answer.emails.clone(),
            refused: answer.refused.clone(),
        };
        ReservationRow { key: (u64::try_from(self.expires_ms).unwrap_or(0), id), row }
    }

    /// Remembers the answer, whose row has been committed.
    pub(super) fn settle(mut self, answer: IdempotentResponse) {
        let entry = Entry::Done { body_hash: self.request.body_hash, expires_ms: self.expires_ms, answer };
        lock(&self.keys).insert((self.team, self.request.key_hash), entry);
        self.settled = true;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if !self.settled {
            lock(&self.keys).remove(&(self.team, self.request.key_hash));
        }
    }
}

impl ReservationRow {
    pub(super) fn put(&self, tx: &WriteTx<'_>) -> Result<(), StoreError> {
        tx.put(&IDEMPOTENCY, &self.key, &self.row)
    }
}

fn key_hash(route: &[u8], key: &str) -> [u8; 32] {
    Sha256::new().chain_update(route).chain_update(key.as_bytes()).finalize().into()
}

/// Returns the answer that is remembered for a request, unless it has expired.
fn answered(
    keys: &Keys,
    team: TeamId,
    request: &IdempotentRequest,
    now_ms: TimestampMs,
) -> Result<Option<IdempotentResponse>, KeyConflict> {
    match keys.get(&(team, request.key_hash)) {
        None => Ok(None),
        Some(Entry::Done { expires_ms, .. }) if *expires_ms <= now_ms => Ok(None),
        Some(Entry::Running { body_hash } | Entry::Done { body_hash, .. }) if *body_hash != request.body_hash => {
            Err(KeyConflict::OtherPayload)
        }
        Some(Entry::Running { .. }) => Err(KeyConflict::Running),
        Some(Entry::Done { answer, .. }) => Ok(Some(answer.clone())),
    }
}

type StoredKey = (u64, IdempotencyId);

fn read_page(tx: &impl Reads, from: StoredKey) -> Result<Vec<(StoredKey, IdempotencyRow)>, StoreError> {
    let mut page = Vec::new();
    tx.scan(&IDEMPOTENCY, &from, &(u64::MAX, Id::MAX), Order::Ascending, |key, row| {
        page.push((key, row.decode()?));
        if page.len() == PAGE_ROWS { STOP } else { NEXT }
    })?;
    Ok(page)
}

/// Returns the lowest id above `id`.
fn next_id<R>(id: Id<R>) -> Id<R> {
    let above = u128::from_be_bytes(*id.as_bytes()).saturating_add(1);
    Id::from_bytes(above.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const TEAM: TeamId = TeamId::MIN;
    const OTHER: TeamId = TeamId::MAX;

    /// Uses a key for the first time, as a send does.
    async fn settle(context: &Context, keys: &Idempotency, sender: TeamId, request: &IdempotentRequest) {
        let Ok(Reserved::First(reservation)) = keys.reserve(sender, request).await else { panic!("it is the first") };
        let row = reservation.row(context.id(), &IdempotentResponse::default());
        context.store.write::<_, StoreError>(move |tx| row.put(tx)).await.unwrap();
        reservation.settle(IdempotentResponse::default());
    }

    #[tokio::test]
    async fn a_key_lives_for_a_day_and_one_of_the_instance_for_as_long_as_it_says() {
        let (_directory, context) = Context::temporary();
        let keys = Idempotency::new(context.clone());
        keys.load().await.unwrap();
        let callers = IdempotentRequest::new(IdempotentRoute::Send, "key", [0; 32]);
        let instances = IdempotentRequest::of_instance(TEAM, "key", 8 * DAY_MS);
        settle(&context, &keys, TEAM, &callers).await;
        settle(&context, &keys, OTHER, &instances).await;

        for (hours, callers_lives, instances_lives) in [(23, true, true), (2, false, true), (8 * 24, false, false)] {
            context.clock.advance(Duration::from_secs(hours * 60 * 60));
            keys.purge().await.unwrap();
            let restarted = Idempotency::new(context.clone());
            restarted.load().await.unwrap();

            for keys in [&keys, &restarted] {
                assert_eq!(keys.replay(TEAM, &callers).await.unwrap().is_some(), callers_lives, "{hours} hours later");
                for sender in [TEAM, OTHER] {
                    let answer = keys.replay(sender, &instances).await.unwrap();
                    assert_eq!(answer.is_some(), instances_lives, "{hours} hours later");
                }
                assert!(keys.replay(OTHER, &callers).await.unwrap().is_none(), "a caller's key is of its team");
            }
        }
    }
}
