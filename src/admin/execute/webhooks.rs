//! Webhook endpoints.

use serde_json::json;

use super::super::response::{AdminError, Response, Rows, WebhookTestView, WebhookView};
use super::super::services::AdminServices;
use super::{Answer, page_after, teams, time};
use crate::base::id::{TeamId, WebhookId};
use crate::events::EventType;
use crate::http::ApiError;
use crate::webhooks::api::request::{CreateWebhookRequest, RotateSecretRequest, TestWebhookRequest};
use crate::webhooks::{NewWebhook, StatusChange, SubscribedEvents, Webhook, WebhookChanges};

/// What stands for every type where a list of types has to have one.
const ANY: EventType = EventType::EmailSent;

pub(super) async fn create(
    services: &AdminServices,
    team: Option<String>,
    endpoint: String,
    events: Vec<String>,
) -> Answer {
    let team = teams::chosen(services, team).await?;
    let is_all = events.is_empty();
    let names = if is_all { vec![ANY.as_str().to_owned()] } else { events };
    let request: CreateWebhookRequest = read(json!({ "endpoint": endpoint, "events": names }))?;
    let new = request.parse(services.webhooks.policy())?;
    let subscription = if is_all { SubscribedEvents::All } else { new.subscription };
    let made = services.webhooks.create(team, NewWebhook { subscription, ..new }).await;
    let (id, secret) = made.map_err(ApiError::from)?;
    let webhook = found(services, team, id).await?;
    Ok(Response::Webhook(WebhookView { signing_secret: Some(secret.reveal().to_owned()), ..webhook }))
}

pub(super) async fn list(services: &AdminServices, team: Option<String>, after: Option<WebhookId>) -> Answer {
    let team = teams::chosen(services, team).await?;
    let page = services.webhooks.list(team, page_after(after)).await?;
    Ok(Response::Webhooks(Rows { data: page.rows.into_iter().map(view).collect(), has_more: page.has_more }))
}

pub(super) async fn switch(
    services: &AdminServices,
    team: Option<String>,
    webhook: &str,
    switch: StatusChange,
) -> Answer {
    let team = teams::chosen(services, team).await?;
    let id = named(services, team, webhook).await?.id;
    let changes = WebhookChanges { switch: Some(switch), ..WebhookChanges::default() };
    services.webhooks.update(team, id, changes).await.map_err(ApiError::from)?;
    found(services, team, id).await.map(Response::Webhook)
}

pub(super) async fn rotate(
    services: &AdminServices,
    team: Option<String>,
    webhook: &str,
    overlap_hours: Option<i64>,
) -> Answer {
    let team = teams::chosen(services, team).await?;
    let id = named(services, team, webhook).await?.id;
    let request: RotateSecretRequest = read(json!({ "overlap_hours": overlap_hours }))?;
    let rotated = services.webhooks.rotate(team, id, request.parse()?).await.map_err(ApiError::from)?;
    let webhook = found(services, team, id).await?;
    let signing_secret = Some(rotated.secret.reveal().to_owned());
    Ok(Response::Webhook(WebhookView {
        signing_secret,
        previous_secret_expires_at: rotated.previous_expires_ms.map(time),
        ..webhook
    }))
}

pub(super) async fn delete(services: &AdminServices, team: Option<String>, webhook: &str) -> Answer {
    let team = teams::chosen(services, team).await?;
    let found = named(services, team, webhook).await?;
    if !services.webhooks.delete(team, found.id).await? {
        return Err(unknown(webhook));
    }
    Ok(Response::Webhook(view(found)))
}

pub(super) async fn test(
    services: &AdminServices,
    team: Option<String>,
    webhook: &str,
    event_type: Option<String>,
) -> Answer {
    let team = teams::chosen(services, team).await?;
    let found = named(services, team, webhook).await?;
    let request: TestWebhookRequest = read(json!({ "type": event_type }))?;
    let delivery = services.webhooks.test(team, found.id, request.parse()?).await.map_err(ApiError::from)?;
    let event_type = delivery.event_type.as_str().to_owned();
    Ok(Response::WebhookTest(WebhookTestView { id: delivery.id, webhook_id: found.id, event_type }))
}

fn read<T: serde::de::DeserializeOwned>(body: serde_json::Value) -> Result<T, AdminError> {
    serde_json::from_value(body).map_err(|error| AdminError::invalid(format!("the request is not in order: {error}")))
}

/// Returns the endpoint of that id, or the only one with that URL.
async fn named(services: &AdminServices, team: TeamId, text: &str) -> Result<Webhook, AdminError> {
    let id = WebhookId::parse(text);
    let mut found = None;
    let mut after = None;
    loop {
        let page = services.webhooks.list(team, page_after(after)).await?;
        after = page.rows.last().map(|webhook| webhook.id);
        for webhook in page.rows {
            if id == Some(webhook.id) {
                return Ok(webhook);
            }
            if webhook.endpoint == text && found.replace(webhook).is_some() {
                return Err(AdminError::conflict(format!(
                    "several endpoints have the URL `{text}`; give the id that `ringmail webhook list` shows"
                )));
            }
        }
        if !page.has_more {
            return found.ok_or_else(|| unknown(text));
        }
    }
}

async fn found(services: &AdminServices, team: TeamId, id: WebhookId) -> Result<WebhookView, AdminError> {
    let found = services.webhooks.find(team, id).await?;
    let (webhook, _) = found.ok_or_else(|| AdminError::not_found("the endpoint has just been deleted"))?;
    Ok(view(webhook))
}

fn unknown(webhook: &str) -> AdminError {
    AdminError::not_found(format!(
        "the team has no webhook endpoint `{webhook}`; `ringmail webhook list` shows those there are"
    ))
}

fn view(webhook: Webhook) -> WebhookView {
    let Webhook { id, endpoint, subscription, status, created_ms, previous_secret_expires_ms } = webhook;
    let events = match subscription {
        SubscribedEvents::All => None,
        SubscribedEvents::Named(types) => Some(types.iter().map(|event_type| event_type.as_str().to_owned()).collect()),
    };
    WebhookView {
        id,
        endpoint,
        events,
        status: status.as_str().to_owned(),
        created_at: time(created_ms),
        previous_secret_expires_at: previous_secret_expires_ms.map(time),
        signing_secret: None,
    }
}
