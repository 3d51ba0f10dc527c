//! Responses of the suppression endpoints.

use salvo::oapi::ToSchema;
use serde::Serialize;

use super::request::OriginWord;
use crate::base::address::ERASED;
use crate::base::clock::to_iso;
use crate::base::id::SuppressionId;
use crate::http::id_responses;
use crate::suppressions::Suppression;

/// An address that the team does not send to.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "Suppression"))]
pub(super) struct SuppressionResponse {
    /// Always `suppression`.
    object: &'static str,
    /// The id.
    id: String,
    /// The address in lower case; `[erased]` after an erasure.
    email: String,
    /// `bounce`, `complaint`, `manual` or `unsubscribe`. The last applies only to emails under a topic.
    #[salvo(schema(value_type = OriginWord))]
    origin: &'static str,
    /// The email that bounced or that the recipient reported.
    #[salvo(schema(required = true))]
    source_id: Option<String>,
    /// Time of creation.
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

id_responses! {
    /// A suppression by its id.
    pub(super) struct SuppressionReference(SuppressionId): "suppression", "Always `suppression`.";
    /// A suppression that was removed.
    pub(super) struct DeletedSuppression(SuppressionId): "suppression", "Always `suppression`.", deleted;
}

/// The entries of a batch of added addresses.
#[derive(Serialize, ToSchema)]
pub(super) struct AddedSuppressions {
    /// One entry for each distinct address, in the order of their first occurrence.
    pub(super) data: Vec<SuppressionReference>,
}

/// The suppressions that a batch removed.
#[derive(Serialize, ToSchema)]
pub(super) struct RemovedSuppressions {
    /// The removed suppressions, in the order of the request.
    pub(super) data: Vec<DeletedSuppression>,
}
