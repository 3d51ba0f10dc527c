//! Teams, and the choice of the team of a request.

use clap::Subcommand;
use serde::{Deserialize, Serialize};

use super::request::{AdminServices, VerbResult};
use super::response::{AdminError, Rows};
use crate::base::clock::to_iso;
use crate::base::id::TeamId;
use crate::teams::{self, Team, TeamNameError};

/// Maximum number of teams in a list. A list is one line.
const TEAMS_LISTED_MAX: usize = 1_000;
/// Maximum number of team names in an error message.
const NAMES_LISTED_MAX: usize = 10;

#[derive(Clone, Debug, Subcommand, Serialize, Deserialize)]
#[serde(tag = "verb", deny_unknown_fields)]
pub enum TeamVerb {
    /// Create a team.
    #[serde(rename = "team_create")]
    Create {
        /// Name, unique in the instance.
        name: String,
    },
    /// List the teams.
    #[serde(rename = "team_list")]
    List,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TeamView {
    pub id: TeamId,
    pub name: String,
    pub created_at: String,
}

impl From<Team> for TeamView {
    fn from(team: Team) -> Self {
        let Team { id, name, created_ms } = team;
        Self { id, name, created_at: to_iso(created_ms) }
    }
}

pub(super) async fn execute(services: &AdminServices, verb: TeamVerb) -> VerbResult {
    match verb {
        TeamVerb::Create { name } => match teams::create(&services.context, &name).await? {
            Ok(team) => Ok(TeamView::from(team).into()),
            Err(error @ TeamNameError::Invalid) => Err(AdminError::invalid(error.to_string())),
            Err(error @ TeamNameError::Taken) => Err(AdminError::conflict(error.to_string())),
        },
        TeamVerb::List => {
            let mut teams = services.context.store.read(|tx| teams::oldest(tx, TEAMS_LISTED_MAX + 1)).await?;
            let has_more = teams.len() > TEAMS_LISTED_MAX;
            teams.truncate(TEAMS_LISTED_MAX);
            Ok(Rows { data: teams.into_iter().map(TeamView::from).collect(), has_more }.into())
        }
    }
}

/// Returns the team with the given name; without a name, the only team of the instance.
pub(super) async fn resolve(services: &AdminServices, name: Option<String>) -> Result<TeamId, AdminError> {
    let teams = services.context.store.read(teams::list).await?;
    let names = |teams: &[Team]| {
        let mut names: Vec<&str> = teams.iter().take(NAMES_LISTED_MAX).map(|team| team.name.as_str()).collect();
        if teams.len() > NAMES_LISTED_MAX {
            names.push("…");
        }
        names.join(", ")
    };
    match (name, teams.as_slice()) {
        (_, []) => Err(AdminError::not_found("there is no team; create one with `ringmail team create NAME`")),
        (Some(name), teams) => teams
            .iter()
            .find(|team| team.name == name)
            .map(|team| team.id)
            .ok_or_else(|| AdminError::not_found(format!("there is no team `{name}`; there are: {}", names(teams)))),
        (None, [team]) => Ok(team.id),
        (None, teams) => {
            Err(AdminError::invalid(format!("there are several teams; choose one with --team: {}", names(teams))))
        }
    }
}
