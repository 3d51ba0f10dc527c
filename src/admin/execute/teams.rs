//! Teams, and which one a request means.

use super::super::response::{AdminError, Response, Rows, TeamView};
use super::super::services::AdminServices;
use super::{Answer, NAMES_LISTED_MAX, time};
use crate::base::id::TeamId;
use crate::store::StoreError;
use crate::teams::{self, Team, TeamNameError};

/// Teams in a list, which is one line of the socket.
const TEAMS_LISTED_MAX: usize = 1_000;

pub(super) async fn create(services: &AdminServices, name: &str) -> Answer {
    match teams::create(&services.context, name).await? {
        Ok(team) => Ok(Response::Team(view(team))),
        Err(error @ TeamNameError::Invalid) => Err(AdminError::invalid(error.to_string())),
        Err(error @ TeamNameError::Taken) => Err(AdminError::conflict(error.to_string())),
    }
}

pub(super) async fn list(services: &AdminServices) -> Answer {
    let mut teams = services.context.store.read(|tx| teams::oldest(tx, TEAMS_LISTED_MAX + 1)).await?;
    let has_more = teams.len() > TEAMS_LISTED_MAX;
    teams.truncate(TEAMS_LISTED_MAX);
    Ok(Response::Teams(Rows { data: teams.into_iter().map(view).collect(), has_more }))
}

/// Returns the team of that name, or the only one there is.
pub(super) async fn chosen(services: &AdminServices, name: Option<String>) -> Result<TeamId, AdminError> {
    let teams = all(services).await?;
    let names = |teams: &[Team]| {
        let mut names: Vec<&str> = teams.iter().take(NAMES_LISTED_MAX).map(|team| team.name.as_str()).collect();
        if teams.len() > NAMES_LISTED_MAX {
            names.push("…");
        }
        names.join(", ")
    };
    match (name, teams.as_slice()) {
        (_, []) => Err(AdminError::not_found("there is no team; make one with `ringmail team create NAME`")),
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

async fn all(services: &AdminServices) -> Result<Vec<Team>, StoreError> {
    services.context.store.read(teams::list).await
}

fn view(team: Team) -> TeamView {
    let Team { id, name, created_ms } = team;
    TeamView { id, name, created_at: time(created_ms) }
}
