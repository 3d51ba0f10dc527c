//! Values that all users of a key share, such as the semaphore of a team.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

use super::sync;

/// Values by key. An entry exists while the value has users.
#[derive(Debug)]
pub struct KeyedValues<K, V> {
    entries: Entries<K, V>,
}

type Entries<K, V> = Arc<Mutex<HashMap<K, Entry<V>>>>;

#[derive(Debug)]
struct Entry<V> {
    value: Arc<V>,
    users: usize,
}

/// The value of a key. Drop of the last one deletes the entry.
#[derive(Debug)]
pub struct SharedValue<K: Eq + Hash, V> {
    key: K,
    value: Arc<V>,
    entries: Entries<K, V>,
}

impl<K, V> Default for KeyedValues<K, V> {
    fn default() -> Self {
        Self { entries: Entries::default() }
    }
}

impl<K: Copy + Eq + Hash, V> KeyedValues<K, V> {
    /// Returns the value of a key, which `make` creates for its first user.
    pub fn get_or_insert_with(&self, key: K, make: impl FnOnce() -> V) -> SharedValue<K, V> {
        let mut entries = sync::lock(&self.entries);
        let entry = entries.entry(key).or_insert_with(|| Entry { value: Arc::new(make()), users: 0 });
        entry.users += 1;
        SharedValue { key, value: Arc::clone(&entry.value), entries: Arc::clone(&self.entries) }
    }

    /// Returns the number of keys with users.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        sync::lock(&self.entries).len()
    }
}

impl<K: Eq + Hash, V> Deref for SharedValue<K, V> {
    type Target = V;

    fn deref(&self) -> &V {
        &self.value
    }
}

impl<K: Eq + Hash, V> Drop for SharedValue<K, V> {
    fn drop(&mut self) {
        let mut entries = sync::lock(&self.entries);
        if let Some(entry) = entries.get_mut(&self.key) {
            entry.users -= 1;
            if entry.users == 0 {
                entries.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_of_a_key_share_a_value_until_the_last_one_is_dropped() {
        let values = KeyedValues::default();
        let (first, second) = (values.get_or_insert_with(1, || "a"), values.get_or_insert_with(1, || "b"));
        let other = values.get_or_insert_with(2, || "c");
        assert_eq!((*first, *second, *other, values.len()), ("a", "a", "c", 2));

        drop((first, other));
        assert_eq!((*values.get_or_insert_with(1, || "b"), values.len()), ("a", 1));
        drop(second);

        assert_eq!((values.len(), *values.get_or_insert_with(1, || "b")), (0, "b"));
    }
}
