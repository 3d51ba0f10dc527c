//! `GET overview`: what needs attention, and the last emails.

use std::sync::Arc;

use salvo::writing::Json;
use salvo::{Writer as _, handler};
use serde::Serialize;

use super::attention::{
    Attention, QueueSummary, is_disabled_for_failures, is_verified, of_checks, of_domains, of_problems, of_queue,
    of_refusals, of_sites, of_webhooks,
};
use super::health::{CheckedHealth, HealthReports};
use super::instance::DashboardInstance;
use super::reply::ListedEmail;
use crate::api_keys::Caller;
use crate::delivery::{Engine, QueueControl};
use crate::domains::Domains;
use crate::emails::Emails;
use crate::http::{ApiResult, State};
use crate::store::page::{Cursor, PageQuery};
use crate::webhooks::{WEBHOOKS_MAX, Webhook, WebhookStatus, Webhooks};

/// Number of emails.
const EMAILS: usize = 8;
/// Domains that are looked at.
const DOMAINS_MAX: usize = 200;
/// Age of the checks above which they say nothing about the server.
const CHECKS_MAX_MS: i64 = 3_600_000;

#[derive(Serialize)]
struct OverviewResponse {
    attention: Vec<Attention>,
    queue: QueueSummary,
    webhooks: WebhookSummary,
    domains: DomainSummary,
    /// `ok`, `warning` or `failing`; `None` without checks of the last hour, and for other teams than that of the operator.
    health: Option<&'static str>,
    last: Vec<ListedEmail>,
}

#[derive(Serialize)]
struct WebhookSummary {
    /// Endpoints that were disabled for their failures.
    disabled: usize,
    /// Enabled endpoints that fail.
    failing: usize,
}

#[derive(Serialize)]
struct DomainSummary {
    unverified: usize,
}

/// Returns the state of the team, and for the operator's team that of the instance.
#[handler]
pub(super) async fn get_overview(
    instance: State<DashboardInstance>,
    emails: State<Emails>,
    domains: State<Domains>,
    webhooks: State<Webhooks>,
    control: State<QueueControl>,
    reports: State<HealthReports>,
    caller: Caller,
) -> ApiResult<Json<OverviewResponse>> {
    let newest = PageQuery { limit: EMAILS, cursor: Cursor::Newest };
    let last = emails.list(caller.team, newest).await?.rows;
    let page = PageQuery { limit: DOMAINS_MAX, cursor: Cursor::Newest };
    let domains = domains.list(caller.team, page).await?.rows;
    let page = PageQuery { limit: WEBHOOKS_MAX, cursor: Cursor::Newest };
    let mut failing = webhooks.failing(caller.team).await?;
    let webhooks = webhooks.list(caller.team, page).await?.rows;
    let is_enabled = |webhook: &Webhook| webhook.status == WebhookStatus::Enabled;
    failing.retain(|failing| webhooks.iter().any(|webhook| webhook.id == failing.webhook && is_enabled(webhook)));
    let disabled = webhooks.iter().filter(|webhook| is_disabled_for_failures(webhook)).count();
    let is_operator = instance.is_operator(caller).await?;
    let engine = control.engine().filter(|_| is_operator);
    let depth = engine.and_then(Engine::queue_depth);
    let is_paused = is_operator && control.is_paused().await?;
    let queue = QueueSummary::of(depth.as_deref(), is_paused);
    let sites =
        depth.as_deref().zip(engine).map(|(depth, engine)| of_sites(depth, &engine.sites())).unwrap_or_default();
    let problems = if is_operator { reports.problems() } else { Vec::new() };
    let is_recent = |known: &Arc<CheckedHealth>| instance.now_ms() - known.at_ms <= CHECKS_MAX_MS;
    let known = if is_operator { reports.known().filter(is_recent) } else { None };
    if is_operator && known.is_none() {
        reports.request();
    }
    let health = match problems.is_empty() {
        false => Some("failing"),
        true => known.as_ref().map(|known| known.status()),
    };
    let mut attention = of_problems(&problems);
    if sites.is_empty() || is_paused {
        attention.extend(of_queue(queue));
    }
    attention.extend(sites);
    attention.extend(of_webhooks(&webhooks, &failing, instance.now_ms()));
    attention.extend(of_domains(&domains));
    attention.extend(of_refusals(&domains));
    // The sentences of the failing parts are newer than the checks.
    if problems.is_empty() {
        attention.extend(known.iter().flat_map(|known| of_checks(&known.report.checks)));
    }
    attention.sort_by_key(|attention| attention.severity != "red");
    Ok(Json(OverviewResponse {
        attention,
        queue,
        webhooks: WebhookSummary { disabled, failing: failing.len() },
        domains: DomainSummary { unverified: domains.iter().filter(|domain| !is_verified(domain)).count() },
        health,
        last: last.iter().map(ListedEmail::of).collect(),
    }))
}
