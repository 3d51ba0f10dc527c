//! Teams, and the choice of the team of a request.

use clap::Subcommand;
use serde::{Deserialize, Serialize};

use super::request::{AdminServices, VerbResult};
use super::response::{AdminError, Rows};
use crate::base::clock::to_iso;
use crate::base::id::TeamId;
use crate::store::StoreError;
use crate::team_removal::{RemoveTeamError, UnsentEmails};
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
    /// List the teams, oldest first. The first one is the default of the other verbs.
    #[serde(rename = "team_list")]
    List,
    /// Rename a team.
    #[serde(rename = "team_rename")]
    Rename {
        // The name `team` is that of the field of every request.
        /// Name or id of the team.
        #[arg(value_name = "TEAM")]
        current: String,
        /// New name, unique in the instance.
        name: String,
    },
    /// Remove a team with all its data. Its API keys stop working immediately.
    #[serde(rename = "team_remove")]
    Remove {
        /// Name or id of the team.
        #[arg(value_name = "TEAM")]
        current: String,
        /// Cancel the emails of the team that are queued, scheduled or in flight.
        #[arg(long)]
        force: bool,
    },
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
            Err(error) => Err(error.into()),
        },
        TeamVerb::List => {
            let mut teams = services.context.store.read(|tx| teams::oldest(tx, TEAMS_LISTED_MAX + 1)).await?;
            let has_more = teams.len() > TEAMS_LISTED_MAX;
            teams.truncate(TEAMS_LISTED_MAX);
            Ok(Rows { data: teams.into_iter().map(TeamView::from).collect(), has_more }.into())
        }
        TeamVerb::Rename { current, name } => {
            let found = find(services, &current).await?;
            match teams::rename(&services.context, found.id, &name).await? {
                Ok(Some(team)) => Ok(TeamView::from(team).into()),
                Ok(None) => Err(unknown_team(&current)),
                Err(error) => Err(error.into()),
            }
        }
        TeamVerb::Remove { current, force } => {
            let unsent = if force { UnsentEmails::Cancel } else { UnsentEmails::Refuse };
            remove(services, &current, unsent).await
        }
    }
}

async fn remove(services: &AdminServices, team: &str, unsent: UnsentEmails) -> VerbResult {
    let found = find(services, team).await?;
    match services.team_removals.remove(found.id, unsent).await {
        Ok(()) => {
            services.accounts.memberships_changed();
            Ok(TeamView::from(found).into())
        }
        Err(RemoveTeamError::NotFound) => Err(unknown_team(team)),
        Err(error @ (RemoveTeamError::OnlyTeam | RemoveTeamError::HasUnsentEmails)) => {
            Err(AdminError::conflict(error.to_string()))
        }
        Err(RemoveTeamError::Store(error)) => Err(error.into()),
    }
}

/// Returns the team with the given id, or else with the given name.
pub(super) async fn find(services: &AdminServices, text: &str) -> Result<Team, AdminError> {
    let (id, name) = (TeamId::parse(text), text.to_owned());
    let found = services.context.store.read::<_, StoreError>(move |tx| {
        let by_id = id.map(|id| teams::find(tx, id)).transpose()?.flatten();
        by_id.map_or_else(|| teams::find_by_name(tx, &name), |team| Ok(Some(team)))
    });
    found.await?.ok_or_else(|| unknown_team(text))
}

fn unknown_team(text: &str) -> AdminError {
    AdminError::not_found(format!("there is no team `{text}`; `ringmail team list` shows all of them"))
}

impl From<TeamNameError> for AdminError {
    fn from(error: TeamNameError) -> Self {
        match error {
            TeamNameError::Invalid => Self::invalid(error.to_string()),
            TeamNameError::Taken => Self::conflict(error.to_string()),
        }
    }
}

/// Returns the team with the given name; without a name, the first team of the instance.
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
        // The list is oldest first.
        (None, [first, ..]) => Ok(first.id),
    }
}
