//! What a user is and which roles there are.

use serde::{Deserialize, Serialize};

use crate::base::clock::TimestampMs;
use crate::base::id::UserId;

/// What a user may do in a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Everything, and is told when something goes wrong.
    Owner,
    /// Everything but the team itself.
    Admin,
    /// Reads and sends.
    Member,
}

impl Role {
    /// Returns the word the API uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Admin => "admin",
            Self::Member => "member",
        }
    }

    /// Reads the word the API uses.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "owner" => Some(Self::Owner),
            "admin" => Some(Self::Admin),
            "member" => Some(Self::Member),
            _ => None,
        }
    }
}

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Its id.
    pub id: UserId,
    /// The address it signs in with, unique in the instance without regard to case.
    pub email: String,
    /// When it was made.
    pub created_ms: TimestampMs,
}

/// A user as a member of a team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The user.
    pub user: User,
    /// What it may do in the team.
    pub role: Role,
    /// Since when it belongs to the team.
    pub since_ms: TimestampMs,
}
