//! Rows of the audit log.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::model::{Actor, AuditAction, AuditEntry, AuditTarget, TeamActor};
use crate::base::id::AuditId;
use crate::context::Context;
use crate::store::{Reads, Row, StoreError, WriteTx};
use crate::tables::{API_KEYS, AUDIT_LOG, USERS};

/// An entry on disk. Its id contains the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditRow {
    pub(super) actor: Actor,
    /// Address of the user or name of the key at the time of the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) actor_name: Option<String>,
    pub(super) action: AuditAction,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) target: Option<AuditTarget>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(super) detail: Map<String, Json>,
}
impl Row for AuditRow {}

/// Writes an entry to the log of the team of `by`. Call it once for an action, in the transaction of the action, before
/// the transaction deletes the row of the actor.
pub fn record(tx: &WriteTx<'_>, context: &Context, by: TeamActor, entry: AuditEntry) -> Result<(), StoreError> {
    let AuditEntry { action, target, detail } = entry;
    let TeamActor { team, actor } = by;
    // A corrupt row of the actor must not refuse the action.
    let actor_name = match actor {
        Actor::User(id) => tx.get_valid(&USERS, &(id,))?.map(|user| user.email),
        Actor::ApiKey(id) => tx.get_valid(&API_KEYS, &(team, id))?.map(|key| key.name),
        Actor::CommandLine | Actor::Server => None,
    };
    let id: AuditId = context.id();
    tx.put(&AUDIT_LOG, &(team, id), &AuditRow { actor, actor_name, action, target, detail })
}
