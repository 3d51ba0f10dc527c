//! Idempotency keys: a repeated request returns the first response and sends no further email.
//!
//! Responses are stored in a table in the order of their expiry, and in a map in memory, from which they
//! are read. The map is loaded after a start; only requests with a key wait for it. A request reserves
//! its key before it is processed, and settles the key after the commit. A rejected request releases it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use super::store::IdempotencyRow;
use crate::base::clock::{DAY_MS, TimestampMs};
use crate::base::id::{DomainId, EmailId, Id, IdempotencyId, TeamId};
use crate::base::sync::lock;
use crate::context::Context;
use crate::store::{NEXT, Order, Reads, STOP, StoreError, WriteTx};
use crate::tables::IDEMPOTENCY;

/// Maximum length of a key, in characters.
pub(super) const KEY_CHARS_MAX: usize = 256;
/// Lifetime of a caller's key.
const LIFETIME_MS: i64 = DAY_MS;
/// Rows that one transaction reads or deletes.
const PAGE_ROWS: usize = 1_000;

/// Endpoint of a request. A key is valid for one endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdempotentRoute {
    /// `POST /emails`.
    Send,
    /// `POST /emails/batch`.
    Batch,
}

/// A request with an idempotency key of a caller or of this server.
#[derive(Clone, Debug)]
pub struct IdempotentRequest {
    /// Team of the key; `None` for the team of the sender.
    team: Option<TeamId>,
    key_hash: [u8; 32],
    body_hash: [u8; 32],
    lifetime_ms: i64,
}

impl IdempotentRequest {
    /// Returns a request with a caller's key. `body_hash` is the canonical hash of the body.
    pub fn new(route: IdempotentRoute, key: &str, body_hash: [u8; 32]) -> Self {
        let route = match route {
            IdempotentRoute::Send => b"POST /emails\0".as_slice(),
            IdempotentRoute::Batch => b"POST /emails/batch\0",
        };
        Self { team: None, key_hash: key_hash(route, key), body_hash, lifetime_ms: LIFETIME_MS }
    }

    /// Returns a request for an email of this server about a team. The key belongs to the team `about`,
    /// whichever team sends, and differs from all keys of callers. The body is not compared.
    pub fn of_instance(about: TeamId, key: &str, lifetime_ms: i64) -> Self {
        Self { team: Some(about), key_hash: key_hash(b"instance\0", key), body_hash: [0; 32], lifetime_ms }
    }
}

/// Response to the first request with a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdempotentResponse {
    /// Ids of the accepted emails, in the order of the request.
    pub emails: Vec<EmailId>,
    /// Rejected items of a permissive batch: index and message.
    pub refused: Vec<(u32, String)>,
    /// Domains of the senders of the emails, each once. A key that is scoped to another domain gets no response.
    pub domains: Box<[DomainId]>,
}

/// Result of a reservation.
#[derive(Debug)]
pub enum Reserved {
    /// The request is the first with its key, or has no key.
    First(Option<Reservation>),
    /// An earlier request with the key is complete.
    Replay(IdempotentResponse),
}

/// Conflict of a request with an earlier request that has the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyConflict {
    /// The payload differs.
    OtherPayload,
    /// The earlier request is in progress.
    Running,
}

#[derive(Debug)]
enum Entry {
    Running { body_hash: [u8; 32] },
    Done { body_hash: [u8; 32], expires_ms: TimestampMs, response: IdempotentResponse },
}

type Keys = HashMap<(TeamId, [u8; 32]), Entry>;

/// The keys in use.
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

    /// Loads the stored responses, one page per transaction, and lets waiting requests continue.
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
                let IdempotencyRow { team, key_hash, body_hash, emails, refused, domains } = row;
                let expires_ms = i64::try_from(expires).unwrap_or(i64::MAX);
                let response = IdempotentResponse { emails, refused, domains };
                keys.entry((team, key_hash)).or_insert(Entry::Done { body_hash, expires_ms, response });
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

    /// Reserves the key of a request, or returns the response to an earlier request.
    ///
    /// # Errors
    /// [`KeyConflict`].
    pub async fn reserve(&self, team: TeamId, request: &IdempotentRequest) -> Result<Reserved, KeyConflict> {
        self.wait_until_loaded().await;
        let team = request.team.unwrap_or(team);
        let now_ms = self.context.now_ms();
        let mut keys = lock(&self.keys);
        if let Some(response) = find_response(&keys, team, request, now_ms)? {
            return Ok(Reserved::Replay(response));
        }
        keys.insert((team, request.key_hash), Entry::Running { body_hash: request.body_hash });
        drop(keys);
        Ok(Reserved::First(Some(Reservation {
            keys: Arc::clone(&self.keys),
            team,
            request: request.clone(),
            expires_ms: now_ms + request.lifetime_ms,
            settled: false,
        })))
    }

    async fn wait_until_loaded(&self) {
        // `wait_for` fails only if the sender is dropped, and `self` owns the sender.
        let _ = self.loaded.subscribe().wait_for(|loaded| *loaded).await;
    }

    /// Deletes the expired responses, one page per commit.
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

/// Reservation of a key by its first request. Dropping it before [`Reservation::settle`] releases the key.
#[derive(Debug)]
pub struct Reservation {
    keys: Arc<Mutex<Keys>>,
    team: TeamId,
    request: IdempotentRequest,
    expires_ms: TimestampMs,
    settled: bool,
}

/// Row of a response, for the transaction of its emails.
#[derive(Clone, Debug)]
pub(super) struct ReservationRow {
    key: (u64, IdempotencyId),
    team: TeamId,
    key_hash: [u8; 32],
    body_hash: [u8; 32],
}

impl Reservation {
    /// Returns the row of the response to come.
    pub(super) fn row(&self, id: IdempotencyId) -> ReservationRow {
        ReservationRow {
            key: (u64::try_from(self.expires_ms).unwrap_or(0), id),
            team: self.team,
            key_hash: self.request.key_hash,
            body_hash: self.request.body_hash,
        }
    }

    /// Adds a response to the map. Call it after the commit of its row.
    pub(super) fn settle(mut self, response: IdempotentResponse) {
        let entry = Entry::Done { body_hash: self.request.body_hash, expires_ms: self.expires_ms, response };
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
    pub(super) fn put(&self, tx: &WriteTx<'_>, response: &IdempotentResponse) -> Result<(), StoreError> {
        let Self { key, team, key_hash, body_hash } = *self;
        let IdempotentResponse { emails, refused, domains } = response.clone();
        tx.put(&IDEMPOTENCY, &key, &IdempotencyRow { team, key_hash, body_hash, emails, refused, domains })
    }
}

fn key_hash(route: &[u8], key: &str) -> [u8; 32] {
    Sha256::new().chain_update(route).chain_update(key.as_bytes()).finalize().into()
}

/// Returns the response to an earlier request; `None` without a response or after its expiry.
fn find_response(
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
        Some(Entry::Done { response, .. }) => Ok(Some(response.clone())),
    }
}

type StoredKey = (u64, IdempotencyId);

fn read_page(tx: &impl Reads, from: StoredKey) -> Result<Vec<(StoredKey, IdempotencyRow)>, StoreError> {
    let mut page = Vec::new();
    tx.scan_valid(&IDEMPOTENCY, &from, &(u64::MAX, Id::MAX), Order::Ascending, |key, row| {
        page.push((key, row));
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
    use crate::store::Encoded;

    const TEAM: TeamId = TeamId::MIN;
    const OTHER: TeamId = TeamId::MAX;

    /// Uses a key for the first time.
    async fn settle(context: &Context, keys: &Idempotency, sender: TeamId, request: &IdempotentRequest) {
        let Ok(Reserved::First(Some(reservation))) = keys.reserve(sender, request).await else {
            panic!("the key is in use")
        };
        let row = reservation.row(context.id());
        context.store.write::<_, StoreError>(move |tx| row.put(tx, &IdempotentResponse::default())).await.unwrap();
        reservation.settle(IdempotentResponse::default());
    }

    /// Returns whether a request gets the response to an earlier one. Otherwise its key is released again.
    async fn is_replayed(keys: &Idempotency, sender: TeamId, request: &IdempotentRequest) -> bool {
        matches!(keys.reserve(sender, request).await.unwrap(), Reserved::Replay(_))
    }

    #[tokio::test]
    async fn a_caller_key_lives_one_day_and_a_server_key_its_given_lifetime() {
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
                assert_eq!(is_replayed(keys, TEAM, &callers).await, callers_lives, "{hours} hours later");
                for sender in [TEAM, OTHER] {
                    assert_eq!(is_replayed(keys, sender, &instances).await, instances_lives, "{hours} hours later");
                }
                assert!(!is_replayed(keys, OTHER, &callers).await, "a key of a caller is valid for its team only");
            }
        }
    }

    #[tokio::test]
    async fn a_corrupt_row_is_skipped_and_the_other_keys_are_loaded() {
        let (_directory, context) = Context::temporary();
        let keys = Idempotency::new(context.clone());
        keys.load().await.unwrap();
        let request = IdempotentRequest::new(IdempotentRoute::Send, "key", [0; 32]);
        let before = (u64::try_from(context.now_ms()).unwrap() + 1, context.id());
        let put = move |tx: &WriteTx<'_>| tx.put_encoded(&IDEMPOTENCY, &before, &Encoded::unreadable());
        context.store.write::<_, StoreError>(put).await.unwrap();
        settle(&context, &keys, TEAM, &request).await;

        let restarted = Idempotency::new(context.clone());
        restarted.load().await.unwrap();

        assert!(is_replayed(&restarted, TEAM, &request).await);
    }
}
