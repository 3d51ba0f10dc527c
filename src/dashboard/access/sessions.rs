//! `/dashboard/api/sessions` and `/dashboard/api/me/team`: the sessions of the user, and the team that a session shows.

use salvo::oapi::ToSchema;
use salvo::writing::Json;
use salvo::{Depot, Writer as _, handler};
use serde::{Deserialize, Serialize};

use super::session::request_session;
use crate::base::clock::to_iso;
use crate::base::id::{SessionId, TeamId, resource};
use crate::http::{ApiError, ApiResult, Body, JsonBody, List, ListQuery, PathId, State};
use crate::store::page::page_of;
use crate::users::{Accounts, SessionClient, TeamMembership, UserSession};

/// A session of the user.
#[derive(Serialize, ToSchema)]
pub(super) struct SessionResponse {
    id: String,
    created_at: String,
    last_used_at: String,
    ip: String,
    user_agent: String,
    /// Whether it is the session of this request.
    current: bool,
}

/// Sessions that have ended.
#[derive(Serialize)]
pub(super) struct EndedSessions {
    object: &'static str,
    /// Number of the sessions.
    deleted: usize,
}

/// A session that has ended.
#[derive(Serialize)]
pub(super) struct EndedSession {
    object: &'static str,
    id: SessionId,
    deleted: bool,
}

/// The team that a session shows.
#[derive(Serialize)]
pub(super) struct ChosenTeam {
    id: TeamId,
    name: String,
    role: &'static str,
}

/// Choice of the team that the session shows.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ChooseTeamRequest {
    /// The id of a team of the user.
    team_id: Option<String>,
}

impl JsonBody for ChooseTeamRequest {}

/// Lists the sessions of the user, newest first.
#[handler]
pub(super) async fn list_sessions(
    accounts: State<Accounts>,
    depot: &mut Depot,
    query: ListQuery<resource::Session>,
) -> ApiResult<Json<List<SessionResponse>>> {
    let session = request_session(depot)?;
    let current = session.signed_in.session.id;
    let sessions = accounts.sessions_of(&session.signed_in).await?;
    let page = page_of(sessions, query.0, |session| session.id, |_| Ok(false))?;
    Ok(Json(List::of(page, |session| response(session, current))))
}

fn response(session: UserSession, current: SessionId) -> SessionResponse {
    let UserSession { id, user: _, team: _, method: _, created_ms, last_used_ms, client } = session;
    let SessionClient { ip, user_agent } = client;
    SessionResponse {
        id: id.to_string(),
        created_at: to_iso(created_ms),
        last_used_at: to_iso(last_used_ms),
        ip,
        user_agent,
        current: id == current,
    }
}

/// Ends a session of the user.
#[handler]
pub(super) async fn delete_session(
    accounts: State<Accounts>,
    depot: &mut Depot,
    id: PathId<resource::Session>,
) -> ApiResult<Json<EndedSession>> {
    let id = id.0;
    if !accounts.end_session(&request_session(depot)?.signed_in, id).await? {
        return Err(ApiError::not_found("Session"));
    }
    Ok(Json(EndedSession { object: "session", id, deleted: true }))
}

/// Ends all sessions of the user except the one of this request.
#[handler]
pub(super) async fn delete_other_sessions(
    accounts: State<Accounts>,
    depot: &mut Depot,
) -> ApiResult<Json<EndedSessions>> {
    let deleted = accounts.end_other_sessions(&request_session(depot)?.signed_in).await?;
    Ok(Json(EndedSessions { object: "session", deleted }))
}

/// Shows the data of another team in this session.
#[handler]
pub(super) async fn choose_team(
    accounts: State<Accounts>,
    depot: &mut Depot,
    body: Body<ChooseTeamRequest>,
) -> ApiResult<Json<ChosenTeam>> {
    let ChooseTeamRequest { team_id } = body.into_inner();
    let team_id = team_id.ok_or_else(|| ApiError::missing_field("team_id"))?;
    let team = TeamId::parse(&team_id).ok_or_else(|| ApiError::validation("The `team_id` must be a valid UUID."))?;
    let session = request_session(depot)?;
    let chosen = accounts.choose_team(&session.token, &session.signed_in, team).await?;
    let TeamMembership { team, team_name, role } = chosen.ok_or_else(|| ApiError::not_found("Team"))?;
    Ok(Json(ChosenTeam { id: team, name: team_name, role: role.as_str() }))
}
