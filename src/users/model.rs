//! Types of users, memberships and roles.

use serde::{Deserialize, Serialize};

use crate::base::clock::TimestampMs;
use crate::base::id::UserId;

/// Permissions of a user in a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Can do everything, and receives notices.
    Owner,
    /// Can do everything except change the team itself.
    Admin,
    /// Can read and send.
    Member,
}

impl Role {
    /// Returns the name of the role.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Admin => "admin",
            Self::Member => "member",
        }
    }

    /// Parses the name of a role.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "owner" => Some(Self::Owner),
            "admin" => Some(Self::Admin),
            "member" => Some(Self::Member),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub id: UserId,
    /// Address, unique in the instance. Comparison ignores case.
    pub email: String,
    pub created_ms: TimestampMs,
}

/// A user as a member of a team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub user: User,
    pub role: Role,
    /// Time of joining the team.
    pub since_ms: TimestampMs,
}
