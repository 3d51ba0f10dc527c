//! API keys, domains and webhooks as the API shows them, with further fields for their pages.

use salvo::writing::Json;
use salvo::{Writer as _, handler};
use serde::Serialize;

use super::reply::DataList;
use crate::api_keys::api::ApiKeyResponse;
use crate::api_keys::{ApiKey, ApiKeys, Caller};
use crate::base::clock::to_iso;
use crate::base::id::resource;
use crate::domains::api::response::{DomainResponse, RecordResponse};
use crate::domains::{DomainRefusal, DomainWithRecords, Domains, RecordView};
use crate::http::{ApiError, ApiResult, ListQuery, PathId, State};
use crate::webhooks::api::{WebhookResponse, WebhookWithSecret};
use crate::webhooks::{Webhook, WebhookStatus, Webhooks};

/// An API key with its permission.
#[derive(Serialize)]
struct KeyView {
    #[serde(flatten)]
    key: ApiKeyResponse,
    permission: &'static str,
    /// The only domain that the key can send from; null for all domains.
    domain_id: Option<String>,
}

/// A domain with the time and the observations of its last check.
#[derive(Serialize)]
struct DomainView {
    #[serde(flatten)]
    domain: DomainResponse,
    records: Vec<SeenRecord>,
    recommended_records: Vec<SeenRecord>,
    checked_at: Option<String>,
    /// Refusal of its mail in the last two days; null without one.
    refusal: Option<RefusalView>,
}

/// Refusal of an email, because a server could not authenticate its sender.
#[derive(Serialize)]
struct RefusalView {
    at: String,
    email_id: String,
    host: Option<String>,
    reply: String,
}

/// A record with the published values that differ from it.
#[derive(Serialize)]
struct SeenRecord {
    #[serde(flatten)]
    record: RecordResponse,
    seen: Vec<String>,
}

/// An endpoint with the cause of its status.
#[derive(Serialize)]
struct WebhookView<T> {
    #[serde(flatten)]
    webhook: T,
    /// `team` or `failures`; null if the endpoint is enabled.
    disabled_by: Option<&'static str>,
}

impl From<ApiKey> for KeyView {
    fn from(key: ApiKey) -> Self {
        let (permission, domain_id) = (key.permission.as_str(), key.domain.map(|domain| domain.to_string()));
        Self { key: key.into(), permission, domain_id }
    }
}

impl From<DomainWithRecords> for DomainView {
    fn from(domain: DomainWithRecords) -> Self {
        let DomainWithRecords { mut domain, records, recommended, checked_ms } = domain;
        let refusal = domain.refusal.take().map(RefusalView::from);
        let seen = |records: Vec<RecordView>| records.into_iter().map(SeenRecord::from).collect();
        Self {
            domain: domain.into(),
            records: seen(records),
            recommended_records: seen(recommended),
            checked_at: checked_ms.map(to_iso),
            refusal,
        }
    }
}

impl From<DomainRefusal> for RefusalView {
    fn from(DomainRefusal { at_ms, email, host, reply }: DomainRefusal) -> Self {
        Self { at: to_iso(at_ms), email_id: email.to_string(), host, reply }
    }
}

impl From<RecordView> for SeenRecord {
    fn from(record: RecordView) -> Self {
        let seen = record.seen.clone();
        Self { record: record.into(), seen }
    }
}

impl From<Webhook> for WebhookView<WebhookResponse> {
    fn from(webhook: Webhook) -> Self {
        let disabled_by = disabled_by(webhook.status);
        Self { webhook: webhook.into(), disabled_by }
    }
}

fn disabled_by(status: WebhookStatus) -> Option<&'static str> {
    match status {
        WebhookStatus::Enabled => None,
        WebhookStatus::Disabled => Some("team"),
        WebhookStatus::AutoDisabled => Some("failures"),
    }
}

/// Lists API keys, newest first.
#[handler]
pub(super) async fn list_api_keys(
    keys: State<ApiKeys>,
    caller: Caller,
    query: ListQuery<resource::ApiKey>,
) -> ApiResult<Json<DataList<KeyView>>> {
    let page = keys.list(caller.team, query.0).await?;
    Ok(Json(DataList::new(page.rows.into_iter().map(KeyView::from).collect(), page.has_more)))
}

/// Returns a domain with its records.
#[handler]
pub(super) async fn get_domain(
    domains: State<Domains>,
    caller: Caller,
    id: PathId<resource::Domain>,
) -> ApiResult<Json<DomainView>> {
    let domain = domains.find(caller.team, id.0).await?.ok_or_else(|| ApiError::not_found("Domain"))?;
    Ok(Json(domain.into()))
}

/// Lists endpoints, newest first, without their secrets.
#[handler]
pub(super) async fn list_webhooks(
    webhooks: State<Webhooks>,
    caller: Caller,
    query: ListQuery<resource::Webhook>,
) -> ApiResult<Json<DataList<WebhookView<WebhookResponse>>>> {
    let page = webhooks.list(caller.team, query.0).await?;
    Ok(Json(DataList::new(page.rows.into_iter().map(WebhookView::from).collect(), page.has_more)))
}

/// Returns an endpoint with its signing secret.
#[handler]
pub(super) async fn get_webhook(
    webhooks: State<Webhooks>,
    caller: Caller,
    id: PathId<resource::Webhook>,
) -> ApiResult<Json<WebhookView<WebhookWithSecret>>> {
    let found = webhooks.find(caller.team, id.0).await?;
    let (webhook, secret) = found.ok_or_else(|| ApiError::not_found("Webhook endpoint"))?;
    let disabled_by = disabled_by(webhook.status);
    Ok(Json(WebhookView { webhook: WebhookWithSecret::of(webhook, &secret), disabled_by }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_of_a_disabled_endpoint_is_named() {
        assert_eq!(disabled_by(WebhookStatus::Enabled), None);
        assert_eq!(disabled_by(WebhookStatus::Disabled), Some("team"));
        assert_eq!(disabled_by(WebhookStatus::AutoDisabled), Some("failures"));
    }
}
