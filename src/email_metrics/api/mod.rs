//! The endpoint of email metrics. `request.rs`: the query parameters. `response.rs`: the metrics and the wire types.

mod request;
mod response;

use salvo::Writer;
use salvo::oapi::endpoint;
use salvo::writing::Json;

use self::request::MetricsParameters;
use self::response::MetricsResponse;
use super::report::{EmailMetrics, MetricsReportError};
use crate::api_keys::Caller;
use crate::http::{ApiError, ApiResult, State, api_error};

api_error!(MetricsReportError {
    MetricsReportError::TooManyPeriods => {
        ApiError::validation("The range has more than 10000 periods: use a shorter range or a longer `granularity`.")
    },
    MetricsReportError::TooManyRows => ApiError::validation(
        "The response would have more than 10000 rows: use a shorter range, fewer `dimensions`, or a filter.",
    ),
    MetricsReportError::TooManyCounts => {
        ApiError::validation("The range has too many counts to add up: use a shorter range.")
    },
});

/// Counts the recipients of emails.
///
/// Opens and clicks are those of people. Counts are kept for quarter hours, to which times are rounded.
#[endpoint(tags("Emails"))]
pub async fn get_email_metrics(
    metrics: State<EmailMetrics>,
    caller: Caller,
    parameters: MetricsParameters,
) -> ApiResult<Json<MetricsResponse>> {
    let (query, shown) = parameters.parse(caller.team, metrics.now_ms())?;
    let report = metrics.report(query.clone()).await?;
    Ok(Json(MetricsResponse::of(report, &query, shown)))
}
