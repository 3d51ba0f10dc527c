//! `POST broadcasts/ID/check`.

use salvo::oapi::ToSchema;
use salvo::writing::Json;
use salvo::{Writer as _, handler};
use serde::{Deserialize, Serialize};

use super::not_found;
use crate::api_keys::Caller;
use crate::base::clock::to_iso;
use crate::base::id::{BroadcastId, resource};
use crate::broadcasts::Broadcasts;
use crate::broadcasts::api::BroadcastWarning;
use crate::broadcasts::check::{
    AudienceFunnel, BroadcastCheck, BroadcastChecks, BroadcastFinding, CheckBroadcastError, HTML_BYTES_CLIPPED,
    LinkRequests, LinkSummary,
};
use crate::broadcasts::planner::SendPlan;
use crate::http::{ApiError, ApiResult, Body, JsonBody, PathId, State};

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckRequest {
    /// Whether to request the links of the content.
    links: Option<bool>,
}

impl JsonBody for CheckRequest {}

#[derive(Serialize)]
pub(super) struct CheckView {
    object: &'static str,
    id: String,
    audience: AudienceFunnel,
    findings: Vec<FindingView>,
    html_bytes: usize,
    html_bytes_max: usize,
    links: Option<LinkSummary>,
    /// Estimated time of the last email if the broadcast were sent now.
    finishes_at: Option<String>,
    /// Reason why it would not be sent at once.
    warning: Option<BroadcastWarning>,
}

#[derive(Serialize)]
struct FindingView {
    kind: &'static str,
    severity: &'static str,
    message: String,
    part: Option<&'static str>,
    /// Start in the part, in UTF-16 code units.
    at: Option<usize>,
    length: Option<usize>,
    line: Option<usize>,
    name: Option<String>,
    url: Option<String>,
    contacts: Option<u64>,
}

impl CheckView {
    fn of(id: BroadcastId, check: BroadcastCheck, plan: Option<SendPlan>) -> Self {
        let (finishes_ms, warning) = plan.map_or((None, None), |plan| (plan.finishes_ms, plan.warning));
        let BroadcastCheck { audience, findings, html_bytes, links } = check;
        Self {
            object: "broadcast_check",
            id: id.to_string(),
            audience,
            findings: findings.into_iter().map(FindingView::from).collect(),
            html_bytes,
            html_bytes_max: HTML_BYTES_CLIPPED,
            links,
            finishes_at: finishes_ms.map(to_iso),
            warning: warning.map(BroadcastWarning::from),
        }
    }
}

impl From<BroadcastFinding> for FindingView {
    fn from(finding: BroadcastFinding) -> Self {
        let BroadcastFinding { kind, message, part, place, name, url, contacts } = finding;
        Self {
            kind: kind.as_str(),
            severity: kind.severity().as_str(),
            message,
            part: part.map(|part| part.as_str()),
            at: place.map(|place| place.at),
            length: place.map(|place| place.length),
            line: place.map(|place| place.line),
            name,
            url,
            contacts,
        }
    }
}

/// Checks a broadcast before it is sent. Changes nothing.
#[handler]
pub(super) async fn check_broadcast(
    checks: State<BroadcastChecks>,
    broadcasts: State<Broadcasts>,
    caller: Caller,
    id: PathId<resource::Broadcast>,
    body: Body<CheckRequest>,
) -> ApiResult<Json<CheckView>> {
    let links = if body.into_inner().links == Some(true) { LinkRequests::Send } else { LinkRequests::Skip };
    let check = checks.check(caller.team, id.0, links).await.map_err(|error| match error {
        CheckBroadcastError::NotFound => not_found(),
        CheckBroadcastError::Busy => {
            ApiError::unavailable("The server is busy with other checks, and could not begin this one. Try again.")
        }
        CheckBroadcastError::Store(error) => error.into(),
    })?;
    let plan = broadcasts.plan_now(check.audience.will_receive).await?;
    Ok(Json(CheckView::of(id.0, check, plan)))
}
