//! `GET connect`: the settings of client libraries, and the libraries that the team has used.

use salvo::http::header::USER_AGENT;
use salvo::writing::Json;
use salvo::{Depot, Request, Writer as _, handler};
use serde::Serialize;

use super::instance::DashboardInstance;
use crate::api_keys::{ApiKeyToken, Caller};
use crate::base::clock::to_iso;
use crate::dashboard::access::session::request_session;
use crate::http::{ApiResult, State, service};
use crate::usage::SdkUses;
use crate::users::Role;

#[derive(Serialize)]
struct ConnectResponse {
    base_url: String,
    /// The server accepts no email over SMTP.
    smtp: Option<String>,
    /// Key of a development server, for an admin. Its permissions are those of an admin.
    first_key: Option<String>,
    sdks: Vec<SdkView>,
}

#[derive(Serialize)]
struct SdkView {
    name: &'static str,
    /// Time of the first request of the library.
    seen_at: String,
}

/// Stores the first request of each client library of a team, after the request has been authenticated.
#[handler]
pub(crate) async fn note_sdk(req: &mut Request, depot: &mut Depot) {
    let agent = req.headers().get(USER_AGENT).and_then(|agent| agent.to_str().ok());
    if let (Some(agent), Ok(caller)) = (agent, depot.get_typed::<Caller>())
        && let Ok(uses) = service::<SdkUses>(depot)
    {
        uses.note(caller.team, agent);
    }
}

/// Returns the values that a client library needs, and the libraries that have sent a request.
#[handler]
pub(super) async fn get_connect(
    instance: State<DashboardInstance>,
    uses: State<SdkUses>,
    caller: Caller,
    depot: &mut Depot,
) -> ApiResult<Json<ConnectResponse>> {
    let sdks = uses.list(caller.team).await?.into_iter();
    let is_admin = request_session(depot)?.signed_in.role.includes(Role::Admin);
    let shows_key = is_admin && instance.is_operator(caller).await?;
    let first_key = instance.first_key.as_ref().filter(|_| shows_key).map(ApiKeyToken::reveal);
    Ok(Json(ConnectResponse {
        base_url: instance.base_url.clone(),
        smtp: None,
        first_key: first_key.map(str::to_owned),
        sdks: sdks
            .filter_map(|(sdk, first_ms)| Some(SdkView { name: sdk.as_str(), seen_at: to_iso(first_ms?) }))
            .collect(),
    }))
}
