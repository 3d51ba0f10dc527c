//! The rows of API keys.

use serde::{Deserialize, Serialize};

use super::model::{ApiKey, Permission};
use crate::base::clock::TimestampMs;
use crate::base::id::{ApiKeyId, DomainId, TeamId};
use crate::store::Row;

/// A key on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ApiKeyRow {
    pub(crate) name: String,
    pub(super) permission: Permission,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) domain: Option<DomainId>,
    #[serde(with = "serde_bytes")]
    pub(super) token_hash: [u8; 32],
    pub(super) last_four: String,
    pub(super) created_ms: TimestampMs,
}
impl Row for ApiKeyRow {}

/// Time of the last use of a key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ApiKeyUseRow {
    pub(super) used_ms: TimestampMs,
}
impl Row for ApiKeyUseRow {}

impl ApiKeyRow {
    /// Converts the row to a key.
    pub(super) fn key(self, team: TeamId, id: ApiKeyId, last_used_ms: Option<TimestampMs>) -> ApiKey {
        let Self { name, permission, domain, token_hash: _, last_four: _, created_ms } = self;
        // The time of a use is rounded down, which can be before the creation.
        let last_used_ms = last_used_ms.map(|used_ms| used_ms.max(created_ms));
        ApiKey { id, team, name, permission, domain, created_ms, last_used_ms }
    }
}
