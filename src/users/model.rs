//! Types of users, memberships and roles.

use serde::{Deserialize, Serialize};

use crate::base::clock::TimestampMs;
use crate::base::id::{TeamId, UserId};

/// Permissions of a user in a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// All rights, and the notices.
    Owner,
    /// All rights except changes to the team itself.
    Admin,
    /// Rights to read and to send.
    Member,
    /// Right to read.
    Viewer,
}

impl Role {
    /// Every role, the one with the most permissions first.
    pub const ALL: [Self; 4] = [Self::Owner, Self::Admin, Self::Member, Self::Viewer];

    /// Returns whether the role has the permissions of `other`.
    pub const fn includes(self, other: Self) -> bool {
        self.rank() >= other.rank()
    }

    const fn rank(self) -> u8 {
        match self {
            Self::Owner => 3,
            Self::Admin => 2,
            Self::Member => 1,
            Self::Viewer => 0,
        }
    }

    /// Returns the name of the role.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Admin => "admin",
            Self::Member => "member",
            Self::Viewer => "viewer",
        }
    }

    /// Parses the name of a role.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == text)
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

/// A team of a user, with the role of the user in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamMembership {
    pub team: TeamId,
    pub team_name: String,
    pub role: Role,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_includes_the_roles_after_it() {
        for (at, role) in Role::ALL.into_iter().enumerate() {
            assert_eq!(Role::parse(role.as_str()), Some(role));
            for (other_at, other) in Role::ALL.into_iter().enumerate() {
                assert_eq!(role.includes(other), at <= other_at, "{role:?} {other:?}");
            }
        }
        assert_eq!(Role::parse("root"), None);
    }
}
