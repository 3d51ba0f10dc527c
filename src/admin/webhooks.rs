//! Webhook endpoints.

use clap::{Subcommand, value_parser};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::pages::{find_one, page_after, unknown};
use super::request::{AdminServices, VerbResult};
use super::response::{AdminError, Rows};
use crate::audit::Actor;
use crate::base::clock::to_iso;
use crate::base::id::{TeamId, WebhookDeliveryId, WebhookId};
use crate::events::EventType;
use crate::http::ApiError;
use crate::webhooks::api::request::{CreateWebhookRequest, RotateSecretRequest, TestWebhookRequest};
use crate::webhooks::{
    NewWebhook, OVERLAP_HOURS_DEFAULT, OVERLAP_HOURS_MAX, StatusChange, SubscribedEvents, Webhook, WebhookChanges,
};

#[derive(Clone, Debug, Subcommand, Serialize, Deserialize)]
#[serde(tag = "verb", deny_unknown_fields)]
pub enum WebhookVerb {
    /// Add an endpoint and print its signing secret.
    #[serde(rename = "webhook_create")]
    Create {
        /// URL that events are posted to.
        url: String,
        /// Event type to subscribe to, such as email.delivered; may be repeated [default: all types
        /// except email.prefetched].
        #[arg(long = "event", value_name = "TYPE", value_delimiter = ',')]
        events: Vec<String>,
    },
    /// List the endpoints.
    #[serde(rename = "webhook_list")]
    List {
        #[arg(skip)]
        after: Option<WebhookId>,
    },
    /// Disable an endpoint. Its pending deliveries are given up.
    #[serde(rename = "webhook_disable")]
    Disable {
        /// Id or URL of the endpoint.
        webhook: String,
    },
    /// Enable an endpoint. It receives the events that happen from now on.
    #[serde(rename = "webhook_enable")]
    Enable {
        /// Id or URL of the endpoint.
        webhook: String,
    },
    /// Replace the signing secret of an endpoint and print the new one.
    #[serde(rename = "webhook_rotate")]
    Rotate {
        /// Id or URL of the endpoint.
        webhook: String,
        /// Hours that the previous secret continues to sign; 0 drops it immediately.
        #[arg(long, value_name = "HOURS", default_value_t = OVERLAP_HOURS_DEFAULT,
              value_parser = value_parser!(u8).range(0..=i64::from(OVERLAP_HOURS_MAX)))]
        overlap_hours: u8,
    },
    /// Delete an endpoint with all its deliveries.
    #[serde(rename = "webhook_delete")]
    Delete {
        /// Id or URL of the endpoint.
        webhook: String,
    },
    /// Queue a sample event for an endpoint.
    #[serde(rename = "webhook_test")]
    Test {
        /// Id or URL of the endpoint.
        webhook: String,
        /// Type of the event [default: email.delivered, or the first subscribed type].
        #[arg(long = "type", value_name = "TYPE")]
        event_type: Option<String>,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WebhookView {
    pub id: WebhookId,
    pub endpoint: String,
    /// Subscribed event types; `None` means all types.
    pub events: Option<Vec<String>>,
    pub status: String,
    pub created_at: String,
    /// End of the overlap in which the previous secret signs as well.
    pub previous_secret_expires_at: Option<String>,
    /// Signing secret, only in the responses that create or replace it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing_secret: Option<String>,
}

/// A test delivery.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WebhookTestView {
    pub id: WebhookDeliveryId,
    pub webhook_id: WebhookId,
    #[serde(rename = "type")]
    pub event_type: String,
}

impl From<Webhook> for WebhookView {
    fn from(webhook: Webhook) -> Self {
        let Webhook { id, endpoint, subscription, status, created_ms, previous_secret_expires_ms } = webhook;
        let events = match subscription {
            SubscribedEvents::All => None,
            SubscribedEvents::Named(types) => Some(types.names().map(ToOwned::to_owned).collect()),
        };
        Self {
            id,
            endpoint,
            events,
            status: status.as_str().to_owned(),
            created_at: to_iso(created_ms),
            previous_secret_expires_at: previous_secret_expires_ms.map(to_iso),
            signing_secret: None,
        }
    }
}

pub(super) async fn execute(services: &AdminServices, team: TeamId, verb: WebhookVerb) -> VerbResult {
    let (webhooks, by) = (&services.webhooks, Actor::CommandLine.in_team(team));
    match verb {
        WebhookVerb::Create { url, events } => {
            let new = new_webhook(services, url, events)?;
            let (id, secret) = webhooks.create(by, new).await.map_err(ApiError::from)?;
            let webhook = view(services, team, id).await?;
            Ok(WebhookView { signing_secret: Some(secret.reveal().to_owned()), ..webhook }.into())
        }
        WebhookVerb::List { after } => {
            Ok(Rows::of(webhooks.list(team, page_after(after)).await?, WebhookView::from).into())
        }
        WebhookVerb::Disable { webhook } => change_status(services, team, &webhook, StatusChange::Disable).await,
        WebhookVerb::Enable { webhook } => change_status(services, team, &webhook, StatusChange::Enable).await,
        WebhookVerb::Rotate { webhook, overlap_hours } => {
            let id = find(services, team, &webhook).await?.id;
            let request: RotateSecretRequest = body(json!({ "overlap_hours": overlap_hours }))?;
            let rotated = webhooks.rotate(by, id, request.parse()?).await.map_err(ApiError::from)?;
            Ok(WebhookView {
                signing_secret: Some(rotated.secret.reveal().to_owned()),
                previous_secret_expires_at: rotated.previous_expires_ms.map(to_iso),
                ..view(services, team, id).await?
            }
            .into())
        }
        WebhookVerb::Delete { webhook } => {
            let found = find(services, team, &webhook).await?;
            if !webhooks.delete(by, found.id).await? {
                return Err(unknown("webhook", &webhook));
            }
            Ok(WebhookView::from(found).into())
        }
        WebhookVerb::Test { webhook, event_type } => {
            let webhook_id = find(services, team, &webhook).await?.id;
            let request: TestWebhookRequest = body(json!({ "type": event_type }))?;
            let delivery = webhooks.test(by, webhook_id, request.parse()?).await.map_err(ApiError::from)?;
            let event_type = delivery.event_type.as_str().to_owned();
            Ok(WebhookTestView { id: delivery.id, webhook_id, event_type }.into())
        }
    }
}

/// Checks the endpoint by the rules of the API. Without event types, it subscribes to all of them.
fn new_webhook(services: &AdminServices, url: String, events: Vec<String>) -> Result<NewWebhook, AdminError> {
    let is_all = events.is_empty();
    // The API has no word for all types: a request without types is an error there.
    let events = if is_all { vec![EventType::EmailSent.as_str().to_owned()] } else { events };
    let request: CreateWebhookRequest = body(json!({ "endpoint": url, "events": events }))?;
    let new = request.parse(services.webhooks.policy(), services.compat)?;
    Ok(if is_all { NewWebhook { subscription: SubscribedEvents::All, ..new } } else { new })
}

async fn change_status(services: &AdminServices, team: TeamId, webhook: &str, status: StatusChange) -> VerbResult {
    let id = find(services, team, webhook).await?.id;
    let changes = WebhookChanges { status: Some(status), ..WebhookChanges::default() };
    services.webhooks.update(Actor::CommandLine.in_team(team), id, changes).await.map_err(ApiError::from)?;
    Ok(view(services, team, id).await?.into())
}

/// Builds a request body of the API, so that its rules apply.
fn body<T: DeserializeOwned>(json: serde_json::Value) -> Result<T, AdminError> {
    serde_json::from_value(json).map_err(|error| AdminError::invalid(format!("invalid request: {error}")))
}

/// Returns the endpoint with the given id, or the only endpoint with the given URL.
async fn find(services: &AdminServices, team: TeamId, text: &str) -> Result<Webhook, AdminError> {
    let list = |query| services.webhooks.list(team, query);
    find_one(list, |webhook: &Webhook| webhook.id, |webhook| &webhook.endpoint, ("webhook", text)).await
}

async fn view(services: &AdminServices, team: TeamId, id: WebhookId) -> Result<WebhookView, AdminError> {
    let found = services.webhooks.find(team, id).await?;
    let (webhook, _) = found.ok_or_else(|| AdminError::not_found("the endpoint has just been deleted"))?;
    Ok(webhook.into())
}
