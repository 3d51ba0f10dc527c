//! The rows of users.

use serde::{Deserialize, Serialize};

use super::model::Role;
use crate::clock::TimestampMs;
use crate::store::Row;

/// A user on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UserRow {
    /// The address as it was given.
    pub email: String,
    /// When it was made.
    pub created_ms: TimestampMs,
}
impl Row for UserRow {}

/// Membership of a team.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MembershipRow {
    /// The role.
    pub role: Role,
    /// Since when.
    pub created_ms: TimestampMs,
}
impl Row for MembershipRow {}
