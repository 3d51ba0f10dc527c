//! Parts of the queue that an operator can name, and the keys of their holds.

use super::key::destination_hash;
use crate::base::clock::TimestampMs;
use crate::base::id::{ApiKeyId, EmailId, TeamId};
use crate::base::words::words;

/// Key of a hold: the number of its kind, and the hash of the name or the id.
pub(crate) type HoldKey = (u8, [u8; 16]);

words! {
    /// Kind of a hold, with its word of the command line. The numbers are part of stored keys and must not change.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum HoldKind {
        /// A receiving site.
        Site = "site",
        /// A recipient domain.
        Domain = "domain",
        Email = "email",
        /// An API key: the emails that it sent.
        Key = "key",
        Team = "team",
        /// The whole queue.
        Queue = "queue",
    } with ALL
}

impl HoldKind {
    /// Returns the number in the key.
    pub(super) const fn number(self) -> u8 {
        match self {
            Self::Site => 0,
            Self::Domain => 1,
            Self::Email => 2,
            Self::Key => 3,
            Self::Team => 4,
            Self::Queue => 5,
        }
    }
}

/// A part of the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueSelector {
    /// Name of a receiving site.
    Site(String),
    /// Destination: a recipient domain in lower-case A-labels, an address that `--deliver-only` selects, or the released
    /// messages to a domain.
    Domain(String),
    Email {
        team: TeamId,
        id: EmailId,
    },
    Key(ApiKeyId),
    Team(TeamId),
    /// The whole queue.
    Queue,
}

impl QueueSelector {
    pub const fn kind(&self) -> HoldKind {
        match self {
            Self::Site(_) => HoldKind::Site,
            Self::Domain(_) => HoldKind::Domain,
            Self::Email { .. } => HoldKind::Email,
            Self::Key(_) => HoldKind::Key,
            Self::Team(_) => HoldKind::Team,
            Self::Queue => HoldKind::Queue,
        }
    }

    /// Returns the name or the id; empty for the whole queue.
    pub fn name(&self) -> String {
        match self {
            Self::Site(name) | Self::Domain(name) => name.clone(),
            Self::Email { id, .. } => id.to_string(),
            Self::Key(id) => id.to_string(),
            Self::Team(id) => id.to_string(),
            Self::Queue => String::new(),
        }
    }

    /// Returns the team that the rows of the hold are deleted with.
    pub(in crate::delivery) fn team(&self) -> Option<TeamId> {
        match self {
            Self::Email { team, .. } | Self::Team(team) => Some(*team),
            Self::Site(_) | Self::Domain(_) | Self::Key(_) | Self::Queue => None,
        }
    }

    pub(in crate::delivery) fn hold_key(&self) -> HoldKey {
        let part = match self {
            Self::Site(name) | Self::Domain(name) => destination_hash(name),
            Self::Email { id, .. } => *id.as_bytes(),
            Self::Key(id) => *id.as_bytes(),
            Self::Team(id) => *id.as_bytes(),
            Self::Queue => [0; 16],
        };
        (self.kind().number(), part)
    }
}

/// A stored hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    pub kind: HoldKind,
    /// Name or id; empty for the whole queue.
    pub name: String,
    pub since_ms: TimestampMs,
}
