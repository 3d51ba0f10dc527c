//! Idempotency keys: a repeated request returns the first response and sends no further email.
//!
//! The transaction that accepts an email reads and writes the row of its key, so that the store alone decides whether
//! the key is new. Memory holds only the keys whose first request is in progress, and a filter of fixed size that
//! recognizes most new keys. A request reserves its key before it is processed. A rejected request releases it.
//!
//! Files, in reading order: `keys.rs` (the rows), `filter.rs` (the filter), this file (reservations).

mod filter;
mod keys;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex};

use super::store::IdempotencyRow;
use crate::base::clock::{DAY_MS, TimestampMs, utc_day};
use crate::base::id::{DomainId, EmailId, TeamId};
use crate::base::sync::lock;
use crate::context::Context;
use crate::store::{ReadTx, StoreError, from_store_error};

use filter::KeyFilter;
use keys::{KeyHash, LIFETIME_MAX_MS, PayloadHash, StoredKey};

pub(super) use keys::KeyClaim;

const HOUR_MS: i64 = 60 * 60 * 1_000;
/// Maximum length of a key, in characters.
pub(super) const KEY_CHARS_MAX: usize = 256;
/// Default lifetime of a caller's key.
const LIFETIME_MS: i64 = DAY_MS;

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
    key: KeyHash,
    payload: PayloadHash,
    /// Lifetime of a key of this server; `None` for a key of a caller.
    lifetime_ms: Option<i64>,
}

impl IdempotentRequest {
    /// Returns a request with a caller's key. `body_hash` is the canonical hash of the body.
    pub fn new(route: IdempotentRoute, key: &str, body_hash: [u8; 32]) -> Self {
        let route = match route {
            IdempotentRoute::Send => b"POST /emails\0".as_slice(),
            IdempotentRoute::Batch => b"POST /emails/batch\0",
        };
        let payload = std::array::from_fn(|index| body_hash[index]);
        Self { team: None, key: keys::hash(&[route, key.as_bytes()]), payload, lifetime_ms: None }
    }

    /// Returns a request for an email of this server about a team. The key belongs to the team `about`,
    /// whichever team sends, and differs from all keys of callers. The body is not compared. The lifetime is at most 720
    /// hours.
    pub fn of_instance(about: TeamId, key: &str, lifetime_ms: i64) -> Self {
        let key = keys::hash(&[b"instance\0", key.as_bytes()]);
        Self { team: Some(about), key, payload: PayloadHash::default(), lifetime_ms: Some(lifetime_ms) }
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
pub enum ReserveResult {
    /// The request is the first with its key as far as this process knows, or has no key.
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

/// Failure to reserve a key.
#[derive(Debug)]
pub(super) enum ReserveError {
    Conflict(KeyConflict),
    Store(StoreError),
}

from_store_error!(ReserveError);

impl From<KeyConflict> for ReserveError {
    fn from(conflict: KeyConflict) -> Self {
        Self::Conflict(conflict)
    }
}

/// The keys that this process uses.
pub struct Idempotency {
    context: Context,
    /// Lifetime of callers' keys.
    lifetime_ms: i64,
    keys: Arc<Mutex<Keys>>,
}

#[derive(Debug, Default)]
struct Keys {
    /// Keys whose first request is in progress. Bounded by the number of connections.
    running: HashMap<KeyHash, PayloadHash>,
    filter: KeyFilter,
}

impl Keys {
    /// Reserves a key, or returns the conflict with the request that has reserved it.
    fn start(&mut self, key: &StoredKey, payload: PayloadHash) -> Result<(), KeyConflict> {
        match self.running.entry(key.hash()) {
            Entry::Occupied(running) if *running.get() != payload => Err(KeyConflict::OtherPayload),
            Entry::Occupied(_) => Err(KeyConflict::Running),
            Entry::Vacant(free) => {
                free.insert(payload);
                self.filter.insert(key);
                Ok(())
            }
        }
    }
}

impl Idempotency {
    /// Returns the keys of a process that has used none. [`Idempotency::load`] makes them faster.
    pub fn new(context: Context) -> Self {
        Self { context, lifetime_ms: LIFETIME_MS, keys: Arc::default() }
    }

    /// Sets the lifetime of callers' keys, at most 720 hours. A stored key keeps the lifetime that it was stored with.
    #[must_use]
    pub fn with_lifetime(self, hours: u32) -> Self {
        let lifetime_ms = i64::from(hours) * HOUR_MS;
        Self { lifetime_ms: lifetime_ms.min(LIFETIME_MAX_MS), ..self }
    }

    fn stored_key(&self, sender: TeamId, request: &IdempotentRequest, now_ms: TimestampMs) -> StoredKey {
        let team = request.team.unwrap_or(sender);
        match request.lifetime_ms {
            Some(lifetime_ms) => StoredKey::new(team, &request.key, now_ms, lifetime_ms).of_server(),
            None => StoredKey::new(team, &request.key, now_ms, self.lifetime_ms),
        }
    }

    /// Fills the filter with the stored keys, one page per transaction. Until then, each request with a key reads the
    /// store.
    pub async fn load(&self) -> Result<(), StoreError> {
        let now_ms = self.context.now_ms();
        let mut after = None;
        loop {
            let page = self.context.store.read(move |tx| keys::read_page(tx, after, now_ms)).await?;
            let mut keys = lock(&self.keys);
            let Some(last) = page.last() else {
                keys.filter.set_complete();
                return Ok(());
            };
            after = Some(*last);
            for key in &page {
                keys.filter.insert_stored(*key);
            }
        }
    }

    /// Reserves the key of a request, or returns the response to an earlier request. Another process can use the key at
    /// the same time: [`KeyClaim::find`] decides.
    pub(super) async fn reserve(
        &self,
        sender: TeamId,
        request: &IdempotentRequest,
    ) -> Result<ReserveResult, ReserveError> {
        let now_ms = self.context.now_ms();
        let key = self.stored_key(sender, request, now_ms);
        let is_stored = {
            let mut keys = lock(&self.keys);
            if keys.running.contains_key(&key.hash()) || !keys.filter.may_contain(&key) {
                keys.start(&key, request.payload)?;
                false
            } else {
                true
            }
        };
        if is_stored {
            let reading = key.clone();
            let row = self.context.store.read::<_, StoreError>(move |tx: &ReadTx| reading.find(tx, now_ms)).await?;
            if let Some(row) = row {
                return Ok(ReserveResult::Replay(response_to(row, request.payload)?));
            }
            lock(&self.keys).start(&key, request.payload)?;
        }
        let keys = Arc::clone(&self.keys);
        Ok(ReserveResult::First(Some(Reservation { keys, claim: KeyClaim::new(key, request.payload, now_ms) })))
    }

    /// Deletes the expired rows, one page per commit.
    pub async fn purge(&self) -> Result<(), StoreError> {
        let now_ms = self.context.now_ms();
        lock(&self.keys).filter.forget_before(utc_day(now_ms));
        while self.context.store.write_bulk(move |tx| keys::delete_expired(tx, now_ms)).await? {}
        Ok(())
    }
}

/// Returns the response of a row to a request with its key.
fn response_to(row: IdempotencyRow, payload: PayloadHash) -> Result<IdempotentResponse, KeyConflict> {
    let IdempotencyRow { expires_ms: _, payload: first, emails, refused, domains } = row;
    if first != payload {
        return Err(KeyConflict::OtherPayload);
    }
    Ok(IdempotentResponse { emails, refused, domains })
}

/// Reservation of a key by its first request. Dropping it releases the key: without a row, or after the commit of the
/// row.
#[derive(Debug)]
pub struct Reservation {
    keys: Arc<Mutex<Keys>>,
    claim: KeyClaim,
}

impl Reservation {
    /// Returns the claim, for the transaction of the emails.
    pub(super) fn claim(&self) -> KeyClaim {
        self.claim.clone()
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        lock(&self.keys).running.remove(&self.claim.hash());
    }
}
