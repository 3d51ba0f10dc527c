//! Types of users, memberships and roles.

use serde::{Deserialize, Serialize};

use crate::base::clock::TimestampMs;
use crate::base::id::{TeamId, UserId};
use crate::base::words::words;

words! {
    /// Permissions of a user in a team. The role with the most permissions is the first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Role {
        /// All rights, and the notices.
        Owner = "owner",
        /// All rights except changes to the team itself.
        Admin = "admin",
        /// Rights to read and to send.
        Member = "member",
        /// Right to read.
        Viewer = "viewer",
    } with ALL, parse
}

impl Role {
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
