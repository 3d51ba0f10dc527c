//! Cursors of deleted rows: the id of a row stays a valid cursor of its list for 24 hours after the deletion.
//!
//! The transaction that removes a row from a list stores the key of the row here, under the UTC day of the removal.
//! A page checks its cursor in the list first, and then here. The order of a list is the order of its ids, so that
//! the key is all that a page needs. Retention deletes whole days.

use super::Store;
use super::error::StoreError;
use super::key::Key;
use super::meta::DELETED_CURSORS;
use super::reads::{Order, Reads, STOP};
use super::table::Table;
use super::transaction::WriteTx;
use super::value::Value;
use crate::base::clock::{TimestampMs, utc_day};

/// Bytes of the longest key of a list. Shorter keys are padded with zeros.
pub(super) const LIST_KEY_BYTES: usize = 48;
/// Rows that retention deletes in one transaction.
const PAGE_ROWS: usize = 1_000;

impl WriteTx<'_> {
    /// Deletes the row of a list; returns whether there was one. Its id stays a cursor of the list for 24 hours.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn delete_listed<K: Key, V: Value>(
        &self,
        list: &Table<K, V>,
        key: &K,
        now_ms: TimestampMs,
    ) -> Result<bool, StoreError> {
        let existed = self.delete(list, key)?;
        if existed {
            self.keep_cursor(list, key, now_ms)?;
        }
        Ok(existed)
    }

    /// Does the same as [`WriteTx::delete_range`], for the rows of a list. Their ids stay cursors of the list for 24
    /// hours.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn delete_listed_range<K: Key, V: Value>(
        &self,
        list: &Table<K, V>,
        from: &K,
        to: &K,
        rows_max: usize,
        now_ms: TimestampMs,
    ) -> Result<usize, StoreError> {
        let mut keys = Vec::new();
        if rows_max > 0 {
            self.scan(list, from, to, Order::Ascending, |key, _| {
                keys.push(key);
                if keys.len() < rows_max { super::NEXT } else { STOP }
            })?;
        }
        for key in &keys {
            self.delete_listed(list, key, now_ms)?;
        }
        Ok(keys.len())
    }

    /// Keeps the id of a row as a cursor of its list for 24 hours, for a row that is hidden and not deleted.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn keep_cursor<K: Key, V>(&self, list: &Table<K, V>, key: &K, now_ms: TimestampMs) -> Result<(), StoreError> {
        let (number, bytes) = list_key(list, key);
        self.put(&DELETED_CURSORS, &(utc_day(now_ms), number, bytes), &())
    }
}

/// Returns whether the row of a list was deleted in the last 24 hours. Reads two rows for each stored day, of which
/// there are three at most.
pub fn was_listed<K: Key, V>(tx: &impl Reads, list: &Table<K, V>, key: &K) -> Result<bool, StoreError> {
    let (number, bytes) = list_key(list, key);
    let mut from = Some(0);
    while let Some(first) = from {
        let stored = tx.first_key(&DELETED_CURSORS, (first_of(first), last_of(u32::MAX)), Order::Ascending)?;
        let Some((day, _, _)) = stored else { return Ok(false) };
        if tx.contains(&DELETED_CURSORS, &(day, number, bytes))? {
            return Ok(true);
        }
        from = day.checked_add(1);
    }
    Ok(false)
}

/// Deletes the cursors of rows that were deleted more than 24 hours ago. The rows of a day are deleted together, so
/// that a cursor stays valid for two days at most.
pub async fn purge_deleted_cursors(store: &Store, now_ms: TimestampMs) -> Result<(), StoreError> {
    // A row that was deleted yesterday may be younger than 24 hours.
    let Some(until) = utc_day(now_ms).checked_sub(2) else { return Ok(()) };
    let purge = move |tx: &WriteTx<'_>| tx.delete_range(&DELETED_CURSORS, &first_of(0), &last_of(until), PAGE_ROWS);
    while store.write_bulk::<_, StoreError>(purge).await? == PAGE_ROWS {}
    Ok(())
}

type CursorKey = (u32, u8, [u8; LIST_KEY_BYTES]);

fn first_of(day: u32) -> CursorKey {
    (day, 0, [0; LIST_KEY_BYTES])
}

fn last_of(day: u32) -> CursorKey {
    (day, u8::MAX, [u8::MAX; LIST_KEY_BYTES])
}

/// Returns the number of a list and the padded key of its row.
fn list_key<K: Key, V>(list: &Table<K, V>, key: &K) -> (u8, [u8; LIST_KEY_BYTES]) {
    let key = key.to_bytes();
    let mut bytes = [0; LIST_KEY_BYTES];
    bytes[..key.as_ref().len()].copy_from_slice(key.as_ref());
    (list.list_number(), bytes)
}
