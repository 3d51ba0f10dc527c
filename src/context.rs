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

    /// Returns a context with a temporary store and a manual clock. Drop of the directory deletes the
    /// store.
    #[cfg(test)]
    pub(crate) fn temporary() -> (tempfile::TempDir, Self) {
        use crate::store::{OpenOptions, StoreKind};

        let directory = tempfile::tempdir().unwrap();
        let clock = Clock::manual(1_767_604_353_456);
        let options = OpenOptions { directory: directory.path().into(), kind: StoreKind::Dev, cache_bytes: 1 << 20 };
        let store = Store::open(&options).unwrap();
        let keyring = Keyring::open(&directory.path().join("master.key")).unwrap();
        (directory, Self::new(store, clock, keyring))
    }

    /// Returns a context over a simulated disk, with a manual clock.
    #[cfg(test)]
    pub(crate) fn on_disk(disk: &crate::store::tests::disk::Disk) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let keyring = Keyring::open(&directory.path().join("master.key")).unwrap();
        Self::new(disk.open_store().unwrap(), Clock::manual(1_767_604_353_456), keyring)
    }

    /// Returns the current time in milliseconds since the Unix epoch.
    pub fn now_ms(&self) -> TimestampMs {
        self.clock.now_ms()
    }

    /// Returns the time up to which scheduled mail is due: the current time, but not that of a step forward that has not
    /// lasted yet.
    pub(crate) fn confirmed_time(&self) -> ConfirmedTime {
        self.confirmed.now(&self.clock)
    }

    /// Returns a new id.
    pub fn id<R>(&self) -> Id<R> {
        self.ids.draw()
    }
}
