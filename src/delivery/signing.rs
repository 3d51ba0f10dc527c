//! The keys that sign for a sending domain, kept ready: opening and parsing them costs more than
//! an Ed25519 signature.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::clock::TimestampMs;
use crate::context::Context;
use crate::domains::{self, SigningDomain};
use crate::id::{DomainId, TeamId};
use crate::store::{ReadTx, StoreError};

/// How long a domain is signed for without a look at its row.
const FRESH_MS: i64 = 30_000;
/// Domains kept ready; the oldest go first.
const DOMAINS_MAX: usize = 1_000;

type Ready = HashMap<DomainId, (TimestampMs, Arc<SigningDomain>)>;

/// Signing domains by id.
pub(super) struct SigningDomains {
    context: Context,
    ready: Mutex<Ready>,
}

impl SigningDomains {
    pub(super) fn new(context: Context) -> Self {
        Self { context, ready: Mutex::default() }
    }

    /// Returns the keys of a domain; `None` when it has been deleted.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn find(
        &self,
        tx: &ReadTx,
        team: TeamId,
        id: DomainId,
    ) -> Result<Option<Arc<SigningDomain>>, StoreError> {
        let now_ms = self.context.now_ms();
        if let Some((read_ms, domain)) = self.lock().get(&id)
            && now_ms - read_ms < FRESH_MS
        {
            return Ok(Some(Arc::clone(domain)));
        }
        let Some(domain) = domains::signing_domain(tx, &self.context.keyring, team, id)? else {
            self.lock().remove(&id);
            return Ok(None);
        };
        let domain = Arc::new(domain);
        let mut ready = self.lock();
        if ready.len() >= DOMAINS_MAX {
            let oldest = ready.iter().min_by_key(|(_, (read_ms, _))| *read_ms).map(|(id, _)| *id);
            if let Some(oldest) = oldest {
                ready.remove(&oldest);
            }
        }
        ready.insert(id, (now_ms, Arc::clone(&domain)));
        Ok(Some(domain))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Ready> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
