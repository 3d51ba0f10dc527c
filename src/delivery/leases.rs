//! The leases of this boot: who holds them, so that none is forgotten when its holder fails.
//!
//! A lease of an earlier boot is found in the table at the start. One of this boot whose session
//! panicked, or whose outcome could not be stored, is found here and put back.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::queue::Claimed;
use crate::base::id::EmailId;

type LeaseKey = (EmailId, u16);

/// Whether somebody still works on a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    /// The session of this number.
    Session(u64),
    /// Nobody.
    Nobody,
}

/// The leases of this boot.
#[derive(Debug, Default)]
pub(super) struct LeaseTracker(Mutex<Leases>);

#[derive(Debug, Default)]
struct Leases {
    sessions: u64,
    by_key: HashMap<LeaseKey, (Holder, Arc<Claimed>)>,
}

impl LeaseTracker {
    /// Returns a number for a session that is about to hold leases.
    pub(super) fn begin_session(&self) -> u64 {
        let mut leases = self.lock();
        leases.sessions += 1;
        leases.sessions
    }

    /// Notes the leases a session has taken.
    pub(super) fn take(&self, session: u64, claimed: &[Arc<Claimed>]) {
        let mut leases = self.lock();
        for group in claimed {
            leases.by_key.insert(lease_key(group), (Holder::Session(session), Arc::clone(group)));
        }
    }

    /// Notes that a lease has been settled.
    pub(super) fn settled(&self, claimed: &Claimed) {
        self.lock().by_key.remove(&lease_key(claimed));
    }

    /// Notes that the outcome of a lease could not be stored.
    pub(super) fn abandon(&self, claimed: &Claimed) {
        if let Some((holder, _)) = self.lock().by_key.get_mut(&lease_key(claimed)) {
            *holder = Holder::Nobody;
        }
    }

    /// Notes that a session has ended: what it still holds, nobody does.
    pub(super) fn end_session(&self, session: u64) {
        for (holder, _) in self.lock().by_key.values_mut() {
            if *holder == Holder::Session(session) {
                *holder = Holder::Nobody;
            }
        }
    }

    /// Returns the leases that nobody holds.
    pub(super) fn abandoned(&self) -> Vec<Arc<Claimed>> {
        let leases = self.lock();
        let abandoned = leases.by_key.values().filter(|(holder, _)| *holder == Holder::Nobody);
        abandoned.map(|(_, claimed)| Arc::clone(claimed)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Leases> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn lease_key(claimed: &Claimed) -> LeaseKey {
    (claimed.key.email, claimed.key.group)
}
