//! What a team is.

use crate::base::clock::TimestampMs;
use crate::base::id::TeamId;
use crate::base::one_line::one_line;

/// The longest name of a team, in characters.
pub(super) const NAME_CHARS_MAX: usize = 80;

/// A team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Team {
    /// Its id.
    pub id: TeamId,
    /// Its name, unique in the instance.
    pub name: String,
    /// When it was made.
    pub created_ms: TimestampMs,
}

/// Why a team cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TeamNameError {
    /// The name is empty, too long or has control characters.
    Invalid,
    /// There is a team of that name.
    Taken,
}

impl std::fmt::Display for TeamNameError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Invalid => write!(f, "a team's name has 1 to {NAME_CHARS_MAX} characters and no control characters"),
            Self::Taken => f.write_str("there is a team of that name already"),
        }
    }
}

/// Checks a name and returns it without the spaces around it.
pub(super) fn name(text: &str) -> Result<String, TeamNameError> {
    one_line(text, NAME_CHARS_MAX).map(str::to_owned).ok_or(TeamNameError::Invalid)
}
