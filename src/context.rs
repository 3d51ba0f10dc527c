//! Shared basis of all modules of one instance.

use std::sync::Arc;

use crate::base::clock::{Clock, TimestampMs};
use crate::base::confirmed_clock::{ConfirmedClock, ConfirmedTime};
use crate::base::id::{Id, IdSource};
use crate::event_bus::EventBus;
use crate::store::{Keyring, Store};

/// Store, clock, id source, keyring and event bus. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Context {
    pub store: Store,
    pub clock: Clock,
    pub(crate) confirmed: Arc<ConfirmedClock>,
    pub ids: IdSource,
    /// Seals and opens encrypted values.
    pub keyring: Keyring,
    /// Publishes events after their commit.
    pub event_bus: EventBus,
}

impl Context {
    /// Returns the context of an open store.
    pub fn new(store: Store, clock: Clock, keyring: Keyring) -> Self {
        Self {
            store,
            ids: IdSource::new(clock.clone()),
            confirmed: Arc::new(ConfirmedClock::new(&clock)),
            clock,
            keyring,
            event_bus: EventBus::default(),
        }
    }

    /// Returns the current time in milliseconds since the Unix epoch.
    pub fn now_ms(&self) -> TimestampMs {
        self.clock.now_ms()
    }

    /// Returns the time for what cannot be undone: the current time, but not that of a step forward that has not lasted
    /// yet.
    pub(crate) fn confirmed_time(&self) -> ConfirmedTime {
        self.confirmed.now(&self.clock)
    }

    /// Returns a new id.
    pub fn id<R>(&self) -> Id<R> {
        self.ids.draw()
    }
}

#[cfg(test)]
mod testing {
    use super::*;
    use crate::store::{Encoded, Key, OpenOptions, ReadTx, Reads as _, StoreError, StoreKind, Table, Value, WriteTx};

    impl Context {
        /// Returns a context with a temporary store and a manual clock. Drop of the directory deletes the
        /// store.
        pub(crate) fn temporary() -> (tempfile::TempDir, Self) {
            let directory = tempfile::tempdir().unwrap();
            let clock = Clock::manual(1_767_604_353_456);
            let options =
                OpenOptions { directory: directory.path().into(), kind: StoreKind::Dev, cache_bytes: 1 << 20 };
            let store = Store::open(&options).unwrap();
            let keyring = Keyring::open(&directory.path().join("master.key")).unwrap();
            (directory, Self::new(store, clock, keyring))
        }

        /// Returns a context over a simulated disk, with a manual clock.
        pub(crate) fn on_disk(disk: &crate::store::tests::disk::Disk) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let keyring = Keyring::open(&directory.path().join("master.key")).unwrap();
            Self::new(disk.open_store().unwrap(), Clock::manual(1_767_604_353_456), keyring)
        }

        /// Commits a change and returns its result.
        pub(crate) async fn commit<T: Send + 'static>(
            &self,
            change: impl Fn(&WriteTx<'_>) -> Result<T, StoreError> + Send + 'static,
        ) -> T {
            self.store.write(change).await.unwrap()
        }

        /// Stores a row that cannot be decoded.
        pub(crate) async fn corrupt<K: Key + Send + 'static, V: 'static>(&self, table: &'static Table<K, V>, key: K) {
            self.commit(move |tx| tx.put_encoded(table, &key, &Encoded::unreadable())).await;
        }

        /// Returns the result of a read of the store.
        pub(crate) fn read<T>(&self, read: impl FnOnce(&ReadTx) -> Result<T, StoreError>) -> T {
            self.store.read_now(read).unwrap()
        }

        /// Returns the keys of all rows of a table, in their order.
        pub(crate) fn keys<K: Key, V>(&self, table: &Table<K, V>) -> Vec<K> {
            self.read(|tx| tx.keys(table))
        }

        /// Returns all rows of a table, in the order of their keys.
        pub(crate) fn rows<K: Key, V: Value>(&self, table: &Table<K, V>) -> Vec<(K, V)> {
            self.read(|tx| tx.rows(table))
        }
    }
}
