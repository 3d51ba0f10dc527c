//! Deduplication keys of applied requests.

use sha2::{Digest as _, Sha256};

use crate::base::clock::{TimestampMs, utc_day};
use crate::context::Context;
use crate::store::{Reads, StoreError, WriteTx};
use crate::tables::INGESTED;

/// Days for which a key is stored. Relays retry a request for up to three days, and mail servers a message for up to
/// five days.
const DAYS: u32 = 7;
/// Keys deleted in one transaction.
const PAGE_ROWS: usize = 1_000;
const FIRST: [u8; 32] = [0; 32];
const LAST: [u8; 32] = [0xff; 32];

/// Key that identifies a repeated request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DedupKey([u8; 32]);

impl DedupKey {
    /// Returns the key of a request with an id.
    pub(super) fn of_id(id: &str) -> Self {
        Self::of(b"id", id.as_bytes())
    }

    /// Returns the key of a message. It does not depend on the request that contains it.
    pub(super) fn of_message(message: &[u8]) -> Self {
        Self::of(b"message", message)
    }

    fn of(kind: &[u8], value: &[u8]) -> Self {
        Self(Sha256::new().chain_update(kind).chain_update([0]).chain_update(value).finalize().into())
    }
}

/// Stores a key; returns `false` if it is stored already.
pub(super) fn insert_dedup_key(tx: &WriteTx<'_>, key: DedupKey, now_ms: TimestampMs) -> Result<bool, StoreError> {
    let today = utc_day(now_ms);
    for earlier in today.saturating_sub(DAYS - 1)..=today {
        if tx.contains(&INGESTED, &(earlier, key.0))? {
            return Ok(false);
        }
    }
    tx.put(&INGESTED, &(today, key.0), &())?;
    Ok(true)
}

/// Deletes expired keys. The cost grows with the number of deleted keys.
pub async fn purge(context: &Context) -> Result<(), StoreError> {
    let Some(until) = utc_day(context.now_ms()).checked_sub(DAYS) else { return Ok(()) };
    let remove = move |tx: &WriteTx<'_>| tx.delete_range(&INGESTED, &(0, FIRST), &(until, LAST), PAGE_ROWS);
    while context.store.write_bulk::<_, StoreError>(remove).await? == PAGE_ROWS {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_key_is_stored_for_a_week() {
        let (_directory, context) = Context::temporary();
        let day = Duration::from_secs(24 * 3600);
        let is_first = |key: DedupKey| {
            let now_ms = context.now_ms();
            context.commit(move |tx| insert_dedup_key(tx, key, now_ms))
        };
        let (one, other) = (DedupKey::of_id("msg_1"), DedupKey::of_message(b"msg_1"));

        assert!(is_first(one).await);
        assert!(is_first(other).await, "the keys of an id and a message differ");
        context.clock.advance(day * 6);
        purge(&context).await.unwrap();
        assert!(!is_first(one).await);
        context.clock.advance(day);
        purge(&context).await.unwrap();

        assert_eq!(context.keys(&INGESTED).len(), 0);
        assert!(is_first(one).await);
    }
}
