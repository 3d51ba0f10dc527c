//! What every part of one running instance shares and none of them owns.

use crate::base::clock::{Clock, TimestampMs};
use crate::base::id::{Id, IdSource};
use crate::event_bus::EventBus;
use crate::store::{Keyring, Store};

/// The store, the time, the ids, the keys at rest and the announcer. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Context {
    /// The two doors of the store.
    pub store: Store,
    /// The time.
    pub clock: Clock,
    /// Draws ids.
    pub ids: IdSource,
    /// Seals and opens what is encrypted at rest.
    pub keyring: Keyring,
    /// Says after a commit what happened.
    pub event_bus: EventBus,
}

impl Context {
    /// Joins the parts over an open store.
    pub fn new(store: Store, clock: Clock, keyring: Keyring) -> Self {
        Self { store, ids: IdSource::new(clock.clone()), clock, keyring, event_bus: EventBus::default() }
    }

    /// Returns the parts over a store of their own, at a time that stands still. The store goes with
    /// the directory.
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

    /// Returns the present time in milliseconds since the Unix epoch.
    pub fn now_ms(&self) -> TimestampMs {
        self.clock.now_ms()
    }

    /// Draws an id.
    pub fn id<R>(&self) -> Id<R> {
        self.ids.draw()
    }
}
