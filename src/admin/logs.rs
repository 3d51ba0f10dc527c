//! The request log of a team.

use clap::Subcommand;
use serde::{Deserialize, Serialize};

use super::pages::{page_after, unknown};
use super::request::{AdminServices, VerbResult};
use super::response::Rows;
use crate::base::clock::to_iso;
use crate::base::id::{ApiKeyId, LogId, TeamId};
use crate::logs::{LogBodies, LogRow};

#[derive(Clone, Debug, Subcommand, Serialize, Deserialize)]
#[serde(tag = "verb", deny_unknown_fields)]
pub enum LogVerb {
    /// List the requests to the API, newest first.
    #[serde(rename = "log_list")]
    List {
        /// Maximum number of requests.
        #[arg(long, value_name = "N", default_value_t = super::LISTED_DEFAULT, value_parser = super::listed_max())]
        #[serde(skip)]
        limit: usize,
        #[arg(skip)]
        after: Option<LogId>,
    },
    /// Show a request with the redacted copies of its bodies.
    #[serde(rename = "log_show")]
    Show {
        /// Id of the request: the `x-request-id` header of its response.
        id: String,
    },
}

/// A request to the API.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogView {
    pub id: LogId,
    pub created_at: String,
    pub method: String,
    pub endpoint: String,
    pub response_status: u16,
    pub duration_ms: u32,
    pub user_agent: Option<String>,
    pub api_key_id: ApiKeyId,
}

/// A request to the API with the copies of its bodies.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogDetailsView {
    #[serde(flatten)]
    pub request: LogView,
    pub request_body: serde_json::Value,
    pub response_body: serde_json::Value,
    /// Cause of an error that the response does not contain.
    pub detail: Option<String>,
}

impl From<(LogId, LogRow)> for LogView {
    fn from((id, row): (LogId, LogRow)) -> Self {
        let LogRow { method, endpoint, status, key, duration_ms, user_agent } = row;
        Self {
            id,
            created_at: to_iso(id.created_ms()),
            method,
            endpoint,
            response_status: status,
            duration_ms,
            user_agent,
            api_key_id: key,
        }
    }
}

pub(super) async fn execute(services: &AdminServices, team: TeamId, verb: LogVerb) -> VerbResult {
    match verb {
        LogVerb::List { limit: _, after } => {
            Ok(Rows::of(services.logs.list(team, page_after(after)).await?, LogView::from).into())
        }
        LogVerb::Show { id: text } => {
            let id = LogId::parse(&text).ok_or_else(|| unknown("log", &text))?;
            let (row, bodies) = services.logs.find(team, id).await?.ok_or_else(|| unknown("log", &text))?;
            let LogBodies { request, response, detail } = bodies;
            let body =
                |copy: Option<String>| copy.and_then(|copy| serde_json::from_str(&copy).ok()).unwrap_or_default();
            let request_body = body(request);
            let response_body = body(response);
            Ok(LogDetailsView { request: (id, row).into(), request_body, response_body, detail }.into())
        }
    }
}
