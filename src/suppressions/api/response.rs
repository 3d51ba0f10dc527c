//! What the suppression endpoints answer.

use salvo::oapi::ToSchema;
use serde::Serialize;

use crate::base::clock::to_iso;
use crate::base::id::SuppressionId;
use crate::events::ERASED;
use crate::suppressions::Suppression;

/// An address that the team does not write to.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "Suppression"))]
pub(super) struct SuppressionResponse {
    /// Always `suppression`.
    object: &'static str,
    /// The id.
    id: String,
    /// The address in lower case; `[erased]` once it has been erased.
    email: String,
    /// `bounce`, `complaint`, `manual` or `unsubscribe`. The last counts only for emails under a
    /// topic.
    origin: &'static str,
    /// The email that brought it here.
    #[salvo(schema(required = true))]
    source_id: Option<String>,
    /// When it was listed.
    created_at: String,
}

impl From<Suppression> for SuppressionResponse {
    fn from(suppression: Suppression) -> Self {
        let Suppression { id, email, origin, email_id, created_ms } = suppression;
        Self {
            object: "suppression",
            id: id.to_string(),
            email: email.unwrap_or_else(|| ERASED.to_owned()),
            origin: origin.as_str(),
            source_id: email_id.map(|id| id.to_string()),
            created_at: to_iso(created_ms),
        }
    }
}

/// A suppression by its id.
#[derive(Serialize, ToSchema)]
pub(super) struct SuppressionReference {
    /// Always `suppression`.
    object: &'static str,
    /// The id.
    id: String,
}

impl SuppressionReference {
    pub(super) fn of(id: SuppressionId) -> Self {
        Self { object: "suppression", id: id.to_string() }
    }
}

/// A suppression that was removed.
#[derive(Serialize, ToSchema)]
pub(super) struct DeletedSuppression {
    /// Always `suppression`.
    object: &'static str,
    /// The id.
    id: String,
    /// Always true.
    deleted: bool,
}

impl DeletedSuppression {
    pub(super) fn of(id: SuppressionId) -> Self {
        Self { object: "suppression", id: id.to_string(), deleted: true }
    }
}

/// What a batch listed.
#[derive(Serialize, ToSchema)]
pub(super) struct AddedSuppressions {
    /// One entry for each address, in the order they are first named.
    pub(super) data: Vec<SuppressionReference>,
}

/// What a batch removed.
#[derive(Serialize, ToSchema)]
pub(super) struct RemovedSuppressions {
    /// The entries that were removed, in the order they are named.
    pub(super) data: Vec<DeletedSuppression>,
}
