//! The endpoint of deliverability.

use salvo::Writer;
use salvo::oapi::{ToSchema, endpoint};
use salvo::writing::Json;
use serde::Serialize;

use super::guardrail::fraction;
use super::score::{SCORE_DAYS, SCORE_VERSION, ScoreBand, tenths};
use super::service::{DeliverabilityReport, TeamDeliverability};
use crate::api_keys::Caller;
use crate::http::{ApiResult, State};

/// Shows the deliverability of the team.
///
/// The score and the rates are those of the last 30 UTC days. Simulated recipients do not count.
#[endpoint(tags("Deliverability"))]
pub async fn get_deliverability(
    deliverability: State<TeamDeliverability>,
    caller: Caller,
) -> ApiResult<Json<DeliverabilityResponse>> {
    Ok(Json(deliverability.report(caller.team).await?.into()))
}

/// The deliverability of a team.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "Deliverability"))]
pub(crate) struct DeliverabilityResponse {
    /// Always `deliverability`.
    object: &'static str,
    /// Score from 0 to 10 with one decimal; null without a content score and an outcome score.
    #[salvo(schema(required = true))]
    score: Option<f64>,
    /// `excellent` from 9, `good` from 7, `needs_attention` from 5, `at_risk` below; null without a score.
    #[salvo(schema(required = true))]
    band: Option<&'static str>,
    /// Mean score of the content of the emails, weighted by their recipients; null without a scored email.
    #[salvo(schema(required = true))]
    content_score: Option<f64>,
    /// Score of the bounces and complaints; null with fewer than 100 recipients.
    #[salvo(schema(required = true))]
    outcome_score: Option<f64>,
    /// Recipients who reported an email as spam, as a fraction of `emails_sent`.
    complaint_rate: f64,
    /// Permanent bounces, as a fraction of `emails_sent`.
    hard_bounce_rate: f64,
    /// Emails that were sent, one for each recipient.
    emails_sent: u64,
    /// Recipients of emails with a content score.
    scored_recipients: u64,
    /// Number of days that the figures cover. Always 30.
    window_days: u32,
    /// Whether there are fewer than 100 recipients, which is too few for `outcome_score`.
    insufficient_outcome_data: bool,
    /// `ok`; `warning` if a rate is high; `paused` while new sends are refused.
    guardrail_status: &'static str,
    /// Version of the formula of the scores. Always 1.
    score_version: u32,
}

impl From<DeliverabilityReport> for DeliverabilityResponse {
    fn from(report: DeliverabilityReport) -> Self {
        let DeliverabilityReport { totals, score, status } = report;
        Self {
            object: "deliverability",
            score: score.headline.map(tenths),
            band: score.band().map(ScoreBand::as_str),
            content_score: score.content.map(tenths),
            outcome_score: score.outcome.map(tenths),
            complaint_rate: fraction(totals.complained, totals.sent),
            hard_bounce_rate: fraction(totals.bounced_permanent, totals.sent),
            emails_sent: totals.sent,
            scored_recipients: totals.scored_recipients,
            window_days: SCORE_DAYS,
            insufficient_outcome_data: score.outcome.is_none(),
            guardrail_status: status.as_str(),
            score_version: SCORE_VERSION,
        }
    }
}
