//! `GET me`: the user, the team, and the settings of the instance.

use salvo::writing::Json;
use salvo::{Depot, Writer as _, handler};
use serde::Serialize;

use super::instance::DashboardInstance;
use crate::api_keys::Caller;
use crate::dashboard::access::session::request_session;
use crate::http::{ApiResult, State};
use crate::store::StoreKind;
use crate::users::{Accounts, TeamMembership};

#[derive(Serialize)]
struct MeResponse {
    /// Null on a development server, which has no accounts.
    user: Option<MeUser>,
    role: &'static str,
    team: MeTeam,
    teams: Vec<MeTeamRole>,
    mode: &'static str,
    delivery: &'static str,
    release: Option<String>,
    base_url: String,
    version: &'static str,
    /// A change needs a header, and no token.
    csrf: Option<String>,
    is_operator: bool,
}

#[derive(Serialize)]
struct MeUser {
    id: String,
    email: String,
}

#[derive(Serialize)]
struct MeTeam {
    id: String,
    name: String,
}

#[derive(Serialize)]
struct MeTeamRole {
    id: String,
    name: String,
    role: &'static str,
}

impl From<TeamMembership> for MeTeamRole {
    fn from(TeamMembership { team, team_name, role }: TeamMembership) -> Self {
        Self { id: team.to_string(), name: team_name, role: role.as_str() }
    }
}

/// Returns the user of the session, the team and the instance.
#[handler]
pub(super) async fn get_me(
    instance: State<DashboardInstance>,
    accounts: State<Accounts>,
    caller: Caller,
    depot: &mut Depot,
) -> ApiResult<Json<MeResponse>> {
    let signed_in = request_session(depot)?.signed_in.clone();
    let teams = accounts.teams(&signed_in).await?.into_iter().map(MeTeamRole::from).collect();
    let (team, is_operator) = (instance.team(caller).await?, instance.is_operator(caller).await?);
    Ok(Json(MeResponse {
        user: signed_in.user.map(|user| MeUser { id: user.id.to_string(), email: user.email }),
        role: signed_in.role.as_str(),
        team: MeTeam { id: team.id.to_string(), name: team.name },
        teams,
        mode: match instance.kind {
            StoreKind::Dev => "dev",
            StoreKind::Serve => "serve",
        },
        delivery: instance.delivery,
        release: instance.release.clone(),
        base_url: instance.base_url.clone(),
        version: env!("CARGO_PKG_VERSION"),
        csrf: None,
        is_operator,
    }))
}
