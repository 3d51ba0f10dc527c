//! JSON of actors and targets, for the dashboard and the command line.

use serde::{Deserialize, Serialize};

use super::model::{Actor, AuditTarget};

/// An actor as the dashboard and the command line show it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AuditActorView {
    /// `user`, `api_key`, `command_line` or `server`.
    #[serde(rename = "type")]
    pub kind: String,
    pub id: Option<String>,
    /// Address of the user or name of the key at the time of the action.
    pub name: Option<String>,
}

/// A target as the dashboard and the command line show it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AuditTargetView {
    #[serde(rename = "type")]
    pub kind: String,
    pub id: String,
    pub name: Option<String>,
}

impl AuditActorView {
    pub(crate) fn new(actor: Actor, name: Option<String>) -> Self {
        Self { kind: actor.kind().to_owned(), id: actor.id(), name }
    }
}

impl From<AuditTarget> for AuditTargetView {
    fn from(AuditTarget { kind, id, name }: AuditTarget) -> Self {
        Self { kind: kind.as_str().to_owned(), id, name }
    }
}
