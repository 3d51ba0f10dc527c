//! The rows of keys: found by the hash of the key, deleted by the day of their expiry.

use std::ops::{Range, RangeInclusive};

use sha2::{Digest as _, Sha256};

use super::{IdempotentResponse, KeyConflict, response_to};
use crate::base::clock::{DAY_MS, TimestampMs, utc_day};
use crate::base::id::TeamId;
use crate::emails::store::IdempotencyRow;
use crate::store::{Order, Reads, StoreError, WriteTx, match_keys};
use crate::tables::IDEMPOTENCY;

/// First half of the SHA-256 of a key with its team and route. A caller cannot find a key with the hash of another one.
pub(super) type KeyHash = [u8; 16];
/// First half of the canonical hash of a body.
pub(super) type PayloadHash = [u8; 16];
/// Key of a row: UTC day of the expiry (days since the epoch, after [`SERVER_DAYS`] for a key of this server), hash of the
/// key.
pub(super) type RowKey = (u32, KeyHash);

/// First day of the keys of this server, which are stored after all days of callers' keys. A key of a notice lives longer
/// than most of callers, and must not extend their look-ups.
const SERVER_DAYS: u32 = 1 << 31;
/// Longest lifetime of a key.
pub(super) const LIFETIME_MAX_MS: i64 = 30 * DAY_MS;
/// Step of the wall clock back to an earlier time after which a key is still found.
const CLOCK_STEP_MS: i64 = DAY_MS;
/// Rows that one transaction deletes.
const PURGED_ROWS: usize = 1_000;
/// Keys that one transaction reads.
const READ_KEYS: usize = 10_000;

/// Returns the first half of the SHA-256 of `parts`.
pub(super) fn hash(parts: &[&[u8]]) -> KeyHash {
    let hash = parts.iter().fold(Sha256::new(), |hash, part| hash.chain_update(part)).finalize();
    std::array::from_fn(|index| hash[index])
}

/// Returns the UTC day of the expiry of the rows of a day.
pub(super) fn expiry_day(row_day: u32) -> u32 {
    row_day % SERVER_DAYS
}

/// A key and the days under which its row can be stored.
#[derive(Clone, Debug)]
pub(super) struct StoredKey {
    hash: KeyHash,
    expires_ms: TimestampMs,
    /// Day of the row that a first request writes.
    new_day: u32,
    /// Days under which an earlier request, also of a process with another setting, can have written the row.
    possible_days: RangeInclusive<u32>,
}

impl StoredKey {
    /// Returns the key of a team that a caller uses at `now_ms`.
    pub(super) fn new(team: TeamId, key: &KeyHash, now_ms: TimestampMs, lifetime_ms: i64) -> Self {
        let expires_ms = now_ms + lifetime_ms;
        Self {
            hash: hash(&[team.as_bytes(), key]),
            expires_ms,
            new_day: utc_day(expires_ms),
            possible_days: utc_day(now_ms)..=utc_day(now_ms + LIFETIME_MAX_MS + CLOCK_STEP_MS),
        }
    }

    /// Returns the key as one of this server.
    pub(super) fn of_server(self) -> Self {
        let (first, last) = self.possible_days.into_inner();
        Self { new_day: SERVER_DAYS + self.new_day, possible_days: SERVER_DAYS + first..=SERVER_DAYS + last, ..self }
    }

    pub(super) fn hash(&self) -> KeyHash {
        self.hash
    }

    /// Returns the key of the row that a first request writes.
    pub(super) fn new_row(&self) -> RowKey {
        (self.new_day, self.hash)
    }

    pub(super) fn possible_days(&self) -> RangeInclusive<u32> {
        self.possible_days.clone()
    }

    /// Returns the row of an earlier request; `None` if it does not exist, has expired, or is corrupt, which is
    /// logged. The only place that decides whether a key is new.
    ///
    /// Reads the last stored day, and one row for each day from today until then. That is two days with a lifetime of
    /// 24 hours, and 31 with 720 hours.
    pub(super) fn find(&self, tx: &impl Reads, now_ms: TimestampMs) -> Result<Option<IdempotencyRow>, StoreError> {
        for day in self.stored_days(tx)? {
            let row = tx.get_valid(&IDEMPOTENCY, &(day, self.hash))?;
            if let Some(row) = row.filter(|row| row.expires_ms > now_ms) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// Returns the possible days up to the last one that has a row of any key; an empty range if none has one. The last day
    /// is read from the store, because another process can have a longer lifetime of keys.
    pub(super) fn stored_days(&self, tx: &impl Reads) -> Result<Range<u32>, StoreError> {
        let (first, last) = (*self.possible_days.start(), *self.possible_days.end());
        let newest = tx.first_key(&IDEMPOTENCY, ((first, [0; 16]), (last, [u8::MAX; 16])), Order::Descending)?;
        Ok(first..newest.map_or(first, |(day, _)| day + 1))
    }
}

/// The use of a key by a request, for the transaction of its emails.
#[derive(Clone, Debug)]
pub(in crate::emails) struct KeyClaim {
    key: StoredKey,
    payload: PayloadHash,
    now_ms: TimestampMs,
}

impl KeyClaim {
    pub(super) fn new(key: StoredKey, payload: PayloadHash, now_ms: TimestampMs) -> Self {
        Self { key, payload, now_ms }
    }

    pub(super) fn hash(&self) -> KeyHash {
        self.key.hash
    }

    /// Returns the response to an earlier request; `None` if this request is the first.
    ///
    /// # Errors
    /// [`StoreError`]. The inner result is the conflict with the earlier request.
    pub(in crate::emails) fn find(
        &self,
        tx: &WriteTx<'_>,
    ) -> Result<Option<Result<IdempotentResponse, KeyConflict>>, StoreError> {
        Ok(self.key.find(tx, self.now_ms)?.map(|row| response_to(row, self.payload)))
    }

    /// Stores the response to the first request.
    pub(in crate::emails) fn put(&self, tx: &WriteTx<'_>, response: &IdempotentResponse) -> Result<(), StoreError> {
        let IdempotentResponse { emails, refused, domains } = response.clone();
        let row = IdempotencyRow { expires_ms: self.key.expires_ms, payload: self.payload, emails, refused, domains };
        tx.put(&IDEMPOTENCY, &self.key.new_row(), &row)
    }
}

/// Returns a page of the keys after `after`, without those of callers that have expired.
pub(super) fn read_page(
    tx: &impl Reads,
    after: Option<RowKey>,
    now_ms: TimestampMs,
) -> Result<Vec<RowKey>, StoreError> {
    let after = after.unwrap_or((utc_day(now_ms), [0; 16]));
    Ok(match_keys(tx, &IDEMPOTENCY, after, (u32::MAX, [u8::MAX; 16]), READ_KEYS, |_| true)?.hits)
}

/// Deletes rows whose day of expiry has ended; returns whether there may be more.
pub(super) fn delete_expired(tx: &WriteTx<'_>, now_ms: TimestampMs) -> Result<bool, StoreError> {
    let Some(last_day) = utc_day(now_ms).checked_sub(1) else { return Ok(false) };
    let mut left = PURGED_ROWS;
    for first in [0, SERVER_DAYS] {
        left -= tx.delete_range(&IDEMPOTENCY, &(first, [0; 16]), &(first + last_day, [u8::MAX; 16]), left)?;
    }
    Ok(left == 0)
}
