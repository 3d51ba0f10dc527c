//! What every part of one running instance shares and none of them owns.

use crate::clock::{Clock, TimestampMs};
use crate::id::{Id, IdSource};
use crate::store::{Keyring, Store};

/// The store, the time, the ids and the keys at rest. Cheap to clone.
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
}

impl Context {
    /// Returns the present time in milliseconds since the Unix epoch.
    pub fn now_ms(&self) -> TimestampMs {
        self.clock.now_ms()
    }

    /// Draws an id.
    pub fn id<R>(&self) -> Id<R> {
        self.ids.draw()
    }
}
