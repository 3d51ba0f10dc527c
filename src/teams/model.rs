//! Types of teams.

use crate::base::clock::TimestampMs;
use crate::base::id::TeamId;
use crate::base::one_line::one_line;

/// Maximum length of a team name, in characters.
pub(super) const NAME_CHARS_MAX: usize = 80;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Team {
    pub id: TeamId,
    /// Unique in the instance.
    pub name: String,
    pub created_ms: TimestampMs,
}

/// A team that was removed, and whose data is being deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemovedTeam {
    pub id: TeamId,
    pub removed_ms: TimestampMs,
}

/// Error in the name of a new team.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TeamNameError {
    #[error("the name of a team must have 1 to {NAME_CHARS_MAX} characters and no control characters")]
    Invalid,
    #[error("there is already a team with that name")]
    Taken,
}

/// Checks a name and removes leading and trailing spaces.
pub(super) fn name(text: &str) -> Result<String, TeamNameError> {
    one_line(text, NAME_CHARS_MAX).map(str::to_owned).ok_or(TeamNameError::Invalid)
}
