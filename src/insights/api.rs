//! `GET /emails/{id}/insights`, an extension of the API.

use salvo::Writer;
use salvo::oapi::{ToSchema, endpoint};
use salvo::writing::Json;
use serde::Serialize;

use super::model::{InsightDetail, InsightResult};
use super::rows::InsightRow;
use super::service::{FindInsightsError, Insights};
use crate::api_keys::Caller;
use crate::base::clock::to_iso;
use crate::base::id::{EmailId, resource};
use crate::http::{ApiError, ApiResult, ErrorCode, PathId, State, api_error};

/// The results of the checks of an email.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "EmailInsights"))]
pub(super) struct EmailInsightsResponse {
    /// Always `email_insights`.
    object: &'static str,
    /// The id of the email.
    #[salvo(schema(value_type = String))]
    email_id: EmailId,
    /// The score from 0 to 10, with one decimal.
    score: f64,
    /// The version of the checks and their weights.
    score_version: u8,
    /// The time of the checks.
    created_at: String,
    /// The checks.
    checks: Vec<EmailInsightResponse>,
}

/// The result of one check.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "EmailInsight"))]
struct EmailInsightResponse {
    /// The id of the check, such as `plain_text`. Later versions can add further ones.
    id: &'static str,
    /// `critical`, `major`, `minor`, or `info`.
    severity: &'static str,
    /// The part of the score that the check subtracts if it fails.
    weight: f64,
    /// `pass`, `fail`, `passed_by_design`, `not_applicable`, or `unknown`.
    status: &'static str,
    /// The facts of the result. A fact that the check does not need is absent.
    detail: EmailInsightDetail,
}

/// The facts of a result.
#[derive(Serialize, ToSchema)]
struct EmailInsightDetail {
    /// The hosts that the check names, at most 5.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[salvo(schema(required = false))]
    hosts: Vec<String>,
    /// The number of links, images, or attachments.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u32>,
    /// The number of them that fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    failing: Option<u32>,
    /// The size of the HTML part.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    /// The number of characters of the text part or of the visible text, or of letters of the subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    characters: Option<u32>,
    /// The number of capital letters of the subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    capitals: Option<u32>,
    /// The age of the last lookup of the DNS record, in hours.
    #[serde(skip_serializing_if = "Option::is_none")]
    hours: Option<u32>,
    /// Whether the email has `List-Unsubscribe`.
    #[serde(skip_serializing_if = "Option::is_none")]
    list_unsubscribe: Option<bool>,
    /// Whether the email has `List-Unsubscribe-Post`.
    #[serde(skip_serializing_if = "Option::is_none")]
    one_click: Option<bool>,
    /// Whether each unsubscribe link is hidden.
    #[serde(skip_serializing_if = "Option::is_none")]
    hidden: Option<bool>,
    /// Whether each visible unsubscribe link is behind the end of the part that Gmail shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    clipped: Option<bool>,
    /// Whether opens or clicks are tracked.
    #[serde(skip_serializing_if = "Option::is_none")]
    tracked: Option<bool>,
    /// Whether the tracking host is a name of the sender's domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    own_host: Option<bool>,
}

impl EmailInsightsResponse {
    fn new(email: EmailId, row: &InsightRow) -> Self {
        Self {
            object: "email_insights",
            email_id: email,
            score: f64::from(row.score_tenths) / 10.0,
            score_version: row.version,
            created_at: to_iso(row.created_ms),
            checks: row.results().map(EmailInsightResponse::from).collect(),
        }
    }
}

impl From<InsightResult> for EmailInsightResponse {
    fn from(InsightResult { check, status, detail }: InsightResult) -> Self {
        Self {
            id: check.as_str(),
            severity: check.severity().as_str(),
            weight: f64::from(check.weight_hundredths()) / 100.0,
            status: status.as_str(),
            detail: detail.into(),
        }
    }
}

impl From<InsightDetail> for EmailInsightDetail {
    fn from(detail: InsightDetail) -> Self {
        let InsightDetail { hosts, count, failing, bytes, characters, capitals, hours, .. } = detail;
        let InsightDetail { list_unsubscribe, one_click, hidden, clipped, tracked, own_host, .. } = detail;
        Self {
            hosts,
            count,
            failing,
            bytes,
            characters,
            capitals,
            hours,
            list_unsubscribe,
            one_click,
            hidden,
            clipped,
            tracked,
            own_host,
        }
    }
}

/// Shows the content checks of an email and their score.
///
/// An extension of the API. The checks run some seconds after the email was accepted; until then the response is 404. All
/// emails of a broadcast have the checks of the broadcast.
#[endpoint(tags("Emails"), responses(FindInsightsError))]
pub async fn get_email_insights(
    insights: State<Insights>,
    caller: Caller,
    id: PathId<resource::Email>,
) -> ApiResult<Json<EmailInsightsResponse>> {
    let row = insights.find(caller.team, id.0).await?;
    Ok(Json(EmailInsightsResponse::new(id.0, &row)))
}

api_error!(FindInsightsError: NotFound {
    FindInsightsError::EmailNotFound => ApiError::not_found("Email"),
    FindInsightsError::NotComputed => {
        let message = "The insights of this email are not computed yet. Try again some seconds after it was sent.";
        ApiError::new(ErrorCode::NotFound, message)
    },
});
