//! Rows of indexes: each names a row of another table.

use serde::{Deserialize, Serialize};

use crate::base::id::{Id, resource};
use crate::store::Row;

/// Row of an index: the id of a row in the indexed table.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub struct IdRow<R> {
    pub id: Id<R>,
}
impl<R> Row for IdRow<R> {}

/// Row of `USER_ADDRESSES`.
pub type UserIdRow = IdRow<resource::User>;
/// Row of `SUPPRESSION_ADDRESSES`.
pub type SuppressionIdRow = IdRow<resource::Suppression>;
/// Row of `CONTACT_ADDRESSES`.
pub type ContactIdRow = IdRow<resource::Contact>;
/// Row of `CONTACT_PROPERTY_KEYS`.
pub type ContactPropertyIdRow = IdRow<resource::ContactProperty>;
/// Row of `TEMPLATE_ALIASES`.
pub type TemplateIdRow = IdRow<resource::Template>;
