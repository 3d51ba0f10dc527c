//! The endpoint of usage: one object that clients of either shape of it read.

use salvo::Writer;
use salvo::oapi::{ToSchema, endpoint};
use salvo::writing::Json;
use serde::Serialize;

use super::model::{Sent, UsageReport};
use super::service::Usage;
use crate::api_keys::Caller;
use crate::base::clock::to_iso;
use crate::http::{ApiResult, RateLimiter, State};
use crate::segments::SEGMENTS_MAX;

/// What stands for no limit where clients read a number and nothing else: the largest that each of
/// them can hold.
const UNLIMITED: u32 = i32::MAX as u32;
/// The window that requests are counted in.
const RATE_WINDOW: &str = "1000ms";

/// Shows what the team has used.
///
/// Nothing is limited by a plan, so that `plan`, `limits` and `period` are null.
#[endpoint(tags("Usage"))]
pub async fn get_usage(
    usage: State<Usage>,
    limiter: State<RateLimiter>,
    caller: Caller,
) -> ApiResult<Json<UsageResponse>> {
    let report = usage.report(caller.team).await?;
    let rate_limit = limiter.untouched().limit;
    Ok(Json(UsageResponse::of(report, usage.dashboard_url(), rate_limit)))
}

/// What a team has used.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "Usage"))]
pub(super) struct UsageResponse {
    /// Always `usage`.
    object: &'static str,
    /// Always false: this instance is hosted by its owner.
    cloud: bool,
    /// Always null: there are no plans.
    #[salvo(schema(required = true, value_type = Option<String>))]
    plan: (),
    /// Always null: nothing is limited by a plan.
    #[salvo(schema(required = true, value_type = Option<Object>))]
    limits: (),
    /// Always null: nothing is billed.
    #[salvo(schema(required = true, value_type = Option<Object>))]
    period: (),
    /// The emails of this UTC day.
    today: TodayResponse,
    /// The team that the key belongs to.
    team: TeamResponse,
    /// Where the dashboard is.
    app_url: String,
    /// Emails by day and by month.
    emails: EmailsUsage,
    /// Contacts. The limit stands for none: 2147483647.
    contacts: RequiredLimit,
    /// Segments.
    segments: OptionalLimit,
    /// Broadcasts.
    broadcasts: OptionalLimit,
    /// Credits for a service that this server does not have: all zero.
    ai_credits: CreditsUsage,
    /// Runs of automations, which this server does not have: all zero.
    automation_runs: RunsUsage,
    /// Domains, counted up to 10000.
    domains: OptionalLimit,
    /// How many requests a key may make.
    rate_limit: RateLimitResponse,
}

/// The emails of this UTC day.
#[derive(Serialize, ToSchema)]
struct TodayResponse {
    /// Emails accepted since UTC midnight.
    emails_sent: u64,
    /// The next UTC midnight.
    resets_at: String,
}

/// A team.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "UsageTeam"))]
struct TeamResponse {
    /// The id.
    id: String,
    /// The name.
    name: String,
}

/// Emails by day and by month.
#[derive(Serialize, ToSchema)]
struct EmailsUsage {
    /// This UTC day.
    daily: EmailsOfSpan,
    /// This UTC month.
    monthly: EmailsOfSpan,
}

/// The emails of a day or a month.
#[derive(Serialize, ToSchema)]
struct EmailsOfSpan {
    /// `sent` and `received` together.
    used: u64,
    /// Always null: there is no limit.
    #[salvo(schema(required = true, value_type = Option<u32>))]
    limit: (),
    /// Emails accepted.
    sent: u64,
    /// Always 0.
    received: u64,
    /// When the next day or month begins, in UTC.
    resets_at: String,
}

/// A count beside its limit.
#[derive(Serialize, ToSchema)]
struct RequiredLimit {
    /// How many there are.
    used: u64,
    /// How many there may be.
    limit: u32,
}

/// A count beside its limit, where there is one.
#[derive(Serialize, ToSchema)]
struct OptionalLimit {
    /// How many there are.
    used: u64,
    /// How many there may be; null for no limit.
    #[salvo(schema(required = true))]
    limit: Option<u32>,
}

/// Credits for a service that this server does not have.
#[derive(Serialize, ToSchema)]
struct CreditsUsage {
    /// Always 0.
    used: u64,
    /// Always 0.
    limit: u32,
    /// Always null.
    #[salvo(schema(required = true, value_type = Option<String>))]
    next_increase_at: (),
}

/// Runs of automations, which this server does not have.
#[derive(Serialize, ToSchema)]
struct RunsUsage {
    /// Always 0.
    used: u64,
    /// Always 0.
    limit: u32,
    /// When the next month begins, in UTC.
    resets_at: String,
}

/// How many requests a key may make.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "UsageRateLimit"))]
struct RateLimitResponse {
    /// Requests in each `duration`; 2147483647 when the limit is off.
    limit: u32,
    /// Always `1000ms`.
    duration: &'static str,
}

impl UsageResponse {
    fn of(report: UsageReport, dashboard_url: &str, rate_limit: u32) -> Self {
        let UsageReport { team, today, month, contacts, segments, domains } = report;
        Self {
            object: "usage",
            cloud: false,
            plan: (),
            limits: (),
            period: (),
            today: TodayResponse { emails_sent: today.emails, resets_at: to_iso(today.resets_ms) },
            team: TeamResponse { id: team.id.to_string(), name: team.name },
            app_url: dashboard_url.to_owned(),
            emails: EmailsUsage { daily: today.into(), monthly: month.into() },
            contacts: RequiredLimit { used: contacts, limit: UNLIMITED },
            segments: OptionalLimit { used: segments as u64, limit: u32::try_from(SEGMENTS_MAX).ok() },
            broadcasts: OptionalLimit { used: 0, limit: None },
            ai_credits: CreditsUsage { used: 0, limit: 0, next_increase_at: () },
            automation_runs: RunsUsage { used: 0, limit: 0, resets_at: to_iso(month.resets_ms) },
            domains: OptionalLimit { used: domains as u64, limit: None },
            rate_limit: RateLimitResponse {
                limit: if rate_limit == 0 { UNLIMITED } else { rate_limit },
                duration: RATE_WINDOW,
            },
        }
    }
}

impl From<Sent> for EmailsOfSpan {
    fn from(sent: Sent) -> Self {
        let Sent { emails, resets_ms } = sent;
        Self { used: emails, limit: (), sent: emails, received: 0, resets_at: to_iso(resets_ms) }
    }
}
