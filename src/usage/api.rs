//! The endpoint of usage. The response has the fields of both known response formats, for clients of either.

use salvo::Writer;
use salvo::oapi::{ToSchema, endpoint};
use salvo::writing::Json;
use serde::Serialize;

use super::model::{SentEmails, UsageReport};
use super::service::Usage;
use crate::api_keys::Caller;
use crate::base::clock::to_iso;
use crate::contacts;
use crate::http::auth::revoked_key;
use crate::http::{ApiResult, RateLimiter, State};
use crate::segments::{self, SEGMENTS_MAX};
use crate::store::ReadTx;

/// The value of a limit that does not exist, in fields that clients read as a required number. It is the largest number
/// that each client can represent.
const UNLIMITED: u32 = i32::MAX as u32;
/// Period of the rate limit.
const RATE_WINDOW: &str = "1000ms";

/// Shows the usage of the team.
///
/// No plan limits a team: `plan`, `limits` and `period` are null.
#[endpoint(tags("Usage"))]
pub async fn get_usage(
    usage: State<Usage>,
    limiter: State<RateLimiter>,
    caller: Caller,
) -> ApiResult<Json<UsageResponse>> {
    let team = caller.team;
    let read_audience = move |tx: &ReadTx| {
        let contacts = contacts::audience(tx, team)?.contacts;
        Ok(AudienceUsage { contacts, segments: segments::count(tx, team)? })
    };
    let (report, audience) = usage.report(team, read_audience).await?.ok_or_else(revoked_key)?;
    let rate_limit = limiter.unused().limit;
    Ok(Json(UsageResponse::of(report, audience, usage.dashboard_url(), rate_limit)))
}

/// The numbers of contacts and segments of a team.
struct AudienceUsage {
    contacts: u64,
    segments: usize,
}

/// The usage of a team.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "Usage"))]
pub(super) struct UsageResponse {
    /// Always `usage`.
    object: &'static str,
    /// Always false: the instance is self-hosted.
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
    /// Emails of this UTC day.
    today: TodayResponse,
    /// The team of the API key.
    team: TeamResponse,
    /// URL of the dashboard.
    app_url: String,
    /// Emails by day and by month.
    emails: EmailsUsage,
    /// Contacts. The limit is 2147483647, which means no limit.
    contacts: RequiredLimit,
    /// Segments.
    segments: OptionalLimit,
    /// Broadcasts that were sent or scheduled in this UTC month.
    broadcasts: OptionalLimit,
    /// Credits of a service that this server does not have. Always zero.
    ai_credits: CreditsUsage,
    /// Runs of automations, which this server does not have. Always zero.
    automation_runs: RunsUsage,
    /// Domains. The count stops at 10000.
    domains: OptionalLimit,
    /// Rate limit of an API key.
    rate_limit: RateLimitResponse,
}

/// Emails of this UTC day.
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

/// Emails of a day or a month.
#[derive(Serialize, ToSchema)]
struct EmailsOfSpan {
    /// Sum of `sent` and `received`.
    used: u64,
    /// Always null: no limit.
    #[salvo(schema(required = true, value_type = Option<u32>))]
    limit: (),
    /// Emails accepted.
    sent: u64,
    /// Always 0.
    received: u64,
    /// Start of the next day or month, in UTC.
    resets_at: String,
}

/// A count and its limit.
#[derive(Serialize, ToSchema)]
struct RequiredLimit {
    /// Current count.
    used: u64,
    /// Largest allowed count.
    limit: u32,
}

/// A count and its limit, if any.
#[derive(Serialize, ToSchema)]
struct OptionalLimit {
    /// Current count.
    used: u64,
    /// Largest allowed count; null for no limit.
    #[salvo(schema(required = true))]
    limit: Option<u32>,
}

/// Credits of a service that this server does not have.
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
    /// Start of the next month, in UTC.
    resets_at: String,
}

/// Rate limit of an API key.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "UsageRateLimit"))]
struct RateLimitResponse {
    /// Requests in each `duration`; 2147483647 if the limit is off.
    limit: u32,
    /// Always `1000ms`.
    duration: &'static str,
}

impl UsageResponse {
    fn of(report: UsageReport, audience: AudienceUsage, dashboard_url: &str, rate_limit: u32) -> Self {
        let UsageReport { team, today, month, broadcasts, domains } = report;
        let AudienceUsage { contacts, segments } = audience;
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
            broadcasts: OptionalLimit { used: broadcasts, limit: None },
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

impl From<SentEmails> for EmailsOfSpan {
    fn from(sent: SentEmails) -> Self {
        let SentEmails { emails, resets_ms } = sent;
        Self { used: emails, limit: (), sent: emails, received: 0, resets_at: to_iso(resets_ms) }
    }
}
