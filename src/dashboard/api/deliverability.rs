//! `GET deliverability`: the guardrail with its figures, the score, the last 30 days, and the failing checks.

use salvo::writing::Json;
use salvo::{Writer as _, handler};
use serde::Serialize;

use crate::api_keys::Caller;
use crate::base::clock::{DAY_MS, to_iso};
use crate::deliverability::api::DeliverabilityResponse;
use crate::deliverability::{
    DeliverabilityOverview, RateLimitLine, SENT_MIN, ScoreFactor, TeamDeliverability, UtcDayTotals, WindowCounts,
    fraction,
};
use crate::events::RateMetric;
use crate::http::{ApiResult, State};

/// Characters of a date in a time.
const DATE_CHARS: usize = 10;

#[derive(Serialize)]
struct OverviewView {
    guardrail: GuardrailView,
    score: DeliverabilityResponse,
    days: Vec<DayView>,
    factors: Vec<FactorView>,
}

#[derive(Serialize)]
struct GuardrailView {
    status: &'static str,
    /// Whether sends are refused and broadcasts slowed down.
    enforced: bool,
    bounce: GuardrailRate,
    complaint: GuardrailRate,
    region_paused: bool,
}

/// A rate of 30 days, and its limits.
#[derive(Serialize)]
struct GuardrailRate {
    #[serde(flatten)]
    figures: RateFigures,
    warning: LimitView,
    pause: LimitView,
}

#[derive(Serialize)]
struct LimitView {
    limit: f64,
    window_days: u32,
    min_count: u64,
    /// Recipients below which the limit does not apply.
    min_sent: u64,
    #[serde(flatten)]
    figures: RateFigures,
}

#[derive(Serialize)]
struct RateFigures {
    rate: f64,
    count: u64,
    sent: u64,
}

/// Figures of a UTC day. Permanent bounces and complaints belong to the day of the send, as in the guardrail. The other
/// figures belong to the day of the event.
#[derive(Serialize)]
struct DayView {
    date: String,
    sent: u64,
    delivered: u64,
    sent_and_bounced: u64,
    sent_and_complained: u64,
    opened: u64,
    clicked: u64,
}

#[derive(Serialize)]
struct FactorView {
    check: &'static str,
    severity: &'static str,
    weight: f64,
    failed_recipients: u64,
    gain: f64,
}

/// Returns the deliverability of the team.
#[handler]
pub(super) async fn get_deliverability(
    deliverability: State<TeamDeliverability>,
    caller: Caller,
) -> ApiResult<Json<OverviewView>> {
    Ok(Json(deliverability.overview(caller.team).await?.into()))
}

impl From<DeliverabilityOverview> for OverviewView {
    fn from(overview: DeliverabilityOverview) -> Self {
        let rate = |metric| GuardrailRate::of(metric, &overview);
        let guardrail = GuardrailView {
            status: overview.report.status.as_str(),
            enforced: overview.is_enforced,
            bounce: rate(RateMetric::Bounce),
            complaint: rate(RateMetric::Complaint),
            region_paused: overview.is_region_paused,
        };
        Self {
            guardrail,
            days: overview.days.into_iter().map(DayView::from).collect(),
            factors: overview.factors.into_iter().map(FactorView::from).collect(),
            score: overview.report.into(),
        }
    }
}

impl GuardrailRate {
    fn of(metric: RateMetric, overview: &DeliverabilityOverview) -> Self {
        let DeliverabilityOverview { report, windows, .. } = overview;
        let limit = |line: RateLimitLine, window: &WindowCounts| LimitView {
            limit: line.fraction(),
            window_days: line.window_days,
            min_count: line.events_min,
            min_sent: SENT_MIN,
            figures: RateFigures::of(metric, window),
        };
        Self {
            figures: RateFigures::of(metric, &report.totals.into()),
            warning: limit(RateLimitLine::of_warning(metric), &windows.warning),
            pause: limit(RateLimitLine::of_pause(metric), &windows.pause),
        }
    }
}

impl RateFigures {
    fn of(metric: RateMetric, window: &WindowCounts) -> Self {
        let (count, sent) = (window.count(metric), window.sent);
        Self { rate: fraction(count, sent), count, sent }
    }
}

impl From<UtcDayTotals> for DayView {
    fn from(UtcDayTotals { day, totals }: UtcDayTotals) -> Self {
        let mut date = to_iso(i64::from(day) * DAY_MS);
        date.truncate(DATE_CHARS);
        Self {
            date,
            sent: totals.sent,
            delivered: totals.delivered,
            sent_and_bounced: totals.sent_and_bounced,
            sent_and_complained: totals.sent_and_complained,
            opened: totals.unique_opened,
            clicked: totals.unique_clicked,
        }
    }
}

impl From<ScoreFactor> for FactorView {
    fn from(ScoreFactor { check, gain }: ScoreFactor) -> Self {
        Self {
            check: check.check,
            severity: check.severity,
            weight: f64::from(check.weight_hundredths) / 100.0,
            failed_recipients: check.recipients,
            // In hundredths: most checks cost less than a tenth.
            gain: (gain * 100.0).round() / 100.0,
        }
    }
}
