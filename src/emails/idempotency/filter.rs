//! A Bloom filter of the stored keys for each day of expiry. Most requests have a new key, which it recognizes without a
//! read of the store.
//!
//! A day has 2 MiB, however many keys there are. With a million keys of one day, it does not recognize one new key of
//! 500, with four million one of six. The pages of a filter are resident once a key uses them.

use std::collections::BTreeMap;

use super::keys::{KeyHash, RowKey, StoredKey, expiry_day};

/// Number of bits of a day. A power of two.
const BITS: usize = 1 << 24;
const WORD_BITS: usize = u64::BITS as usize;

/// The filters by day.
#[derive(Debug, Default)]
pub(super) struct KeyFilter {
    days: BTreeMap<u32, Vec<u64>>,
    /// Whether all stored keys have been inserted.
    is_complete: bool,
}

impl KeyFilter {
    /// Inserts the row that the first request with a key writes.
    pub(super) fn insert(&mut self, key: &StoredKey) {
        self.insert_stored(key.new_row());
    }

    pub(super) fn insert_stored(&mut self, (day, hash): RowKey) {
        let words = self.days.entry(day).or_insert_with(|| vec![0; BITS / WORD_BITS]);
        for bit in bits(&hash) {
            words[bit / WORD_BITS] |= 1 << (bit % WORD_BITS);
        }
    }

    /// Records that all stored keys have been inserted.
    pub(super) fn set_complete(&mut self) {
        self.is_complete = true;
    }

    /// Returns `false` if this process has seen no row of the key.
    pub(super) fn may_contain(&self, key: &StoredKey) -> bool {
        let is_set = |words: &Vec<u64>, bit: usize| words[bit / WORD_BITS] & (1 << (bit % WORD_BITS)) != 0;
        let bits = bits(&key.hash());
        let mut days = self.days.range(key.possible_days());
        !self.is_complete || days.any(|(_, words)| bits.iter().all(|bit| is_set(words, *bit)))
    }

    /// Returns the size of the filters.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.days.values().map(|words| words.len() * size_of::<u64>()).sum()
    }

    /// Forgets the keys that expire before `day`.
    pub(super) fn forget_before(&mut self, day: u32) {
        self.days.retain(|row_day, _| expiry_day(*row_day) >= day);
    }
}

fn bits(hash: &KeyHash) -> [usize; 4] {
    let (words, _) = hash.as_chunks::<4>();
    std::array::from_fn(|index| u32::from_le_bytes(words[index]) as usize % BITS)
}
