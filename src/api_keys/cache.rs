//! In-memory cache of the valid keys.

use std::collections::HashMap;

use subtle::ConstantTimeEq as _;
use tokio_util::sync::CancellationToken;

use super::model::{Caller, CallerKind};
use super::store::ApiKeyRow;
use crate::base::id::{ApiKeyId, TeamId};

/// Valid keys by the first half of the token hash. The complete hash is compared in constant time.
#[derive(Default)]
pub(super) struct KeyCache(HashMap<[u8; 16], CachedKey>);

/// A valid key. Dropping it cancels the tasks that run under it.
struct CachedKey {
    token_hash: [u8; 32],
    caller: Caller,
    revoked: CancellationToken,
}

impl Drop for CachedKey {
    fn drop(&mut self) {
        self.revoked.cancel();
    }
}

impl KeyCache {
    pub(super) fn insert(&mut self, team: TeamId, id: ApiKeyId, row: &ApiKeyRow) {
        let caller = Caller { kind: CallerKind::Key, key: id, team, permission: row.permission, domain: row.domain };
        let cached = CachedKey { token_hash: row.token_hash, caller, revoked: CancellationToken::new() };
        self.0.insert(half(&row.token_hash), cached);
    }

    /// Returns the caller whose token has this hash; `None` if no valid key has it.
    pub(super) fn caller(&self, token_hash: &[u8; 32]) -> Option<Caller> {
        let cached = self.0.get(&half(token_hash))?;
        bool::from(cached.token_hash.ct_eq(token_hash)).then_some(cached.caller)
    }

    /// Removes the revoked keys and cancels the tasks that run under them.
    pub(super) fn revoke(&mut self, is_revoked: impl Fn(&Caller) -> bool) {
        self.0.retain(|_, cached| !is_revoked(&cached.caller));
    }

    /// Returns a token that is cancelled when the caller's key is revoked.
    pub(super) fn revocation(&self, caller: &Caller) -> CancellationToken {
        let is_asked = |cached: &&CachedKey| cached.caller.team == caller.team && cached.caller.key == caller.key;
        self.0.values().find(is_asked).map_or_else(cancelled, |cached| cached.revoked.clone())
    }
}

/// Returns a cancelled token, for a key that was revoked during the request.
fn cancelled() -> CancellationToken {
    let token = CancellationToken::new();
    token.cancel();
    token
}

fn half(hash: &[u8; 32]) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&hash[..16]);
    half
}
