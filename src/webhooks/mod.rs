//! Webhook endpoints of customers, and the deliveries of events to them.
//!
//! Data flow: an event is stored in the outbox in its own transaction (`events::outbox`). The fan-out creates
//! one delivery for each subscribed endpoint. The lane of the endpoint sends the delivery until the endpoint
//! answers 2xx or the retry schedule ends. After twenty exhausted deliveries without a success in between,
//! the endpoint is disabled. A disabled endpoint receives nothing, also not the events of that time after it
//! is enabled again.
//!
//! Files:
//! - `model.rs`: endpoints and deliveries as values;
//! - `store.rs`: rows and reads;
//! - `service.rs` and `error.rs`: use cases of endpoints;
//! - `deliveries.rs`: use cases of deliveries;
//! - `reports.rs`: deliveries with their last attempts;
//! - `api/`: handlers;
//! - `retry.rs`: retry schedule;
//! - `health.rs`: health of an endpoint;
//! - `dispatch/`: fan-out and lanes;
//! - `removal.rs`: deliveries of deleted endpoints;
//! - `retention.rs`: deletion of old deliveries;
//! - `erase.rs`: erasure of addresses.
//!
//! Invariants:
//! - A queued delivery and its queue row are stored in one transaction, and leave the queue in one.
//! - The outcome of an attempt is stored in one transaction with the next attempt, the health of the endpoint
//!   and its disabling.
//! - The response of an endpoint is stored as text to show. Only its status and `Retry-After` cause actions.

pub mod api;

mod deliveries;
mod dispatch;
mod erase;
mod error;
mod health;
mod model;
mod removal;
mod reports;
mod retention;
mod retry;
mod service;
mod store;
#[cfg(test)]
mod tests;

pub use dispatch::{DispatchNotifier, DispatchSettings, QueuedDeliveryFigures, WebhookDispatcher, WebhookFigures};
pub(crate) use erase::{DeliveryKey, erase_delivery, match_deliveries};
pub use error::{
    CreateWebhookError, DeliveryError, ReplayError, RotateSecretError, TestWebhookError, UpdateWebhookError,
};
pub use health::DISABLED_AFTER;
pub use model::{
    Delivery, DeliveryStatus, DeliveryWithPayload, FailingEndpoint, NewWebhook, OVERLAP_HOURS_DEFAULT,
    OVERLAP_HOURS_MAX, RotationResult, SecretRotation, StatusChange, SubscribedEvents, WEBHOOKS_MAX, Webhook,
    WebhookChanges, WebhookStatus,
};
pub use reports::WebhookDeliveryReport;
pub use retention::purge;
pub use service::Webhooks;
pub use store::{
    DeliveryRow, ExhaustedReason, FailedAttemptsRow, HealthRow, PreviousSecretRow, QueueRow, WebhookAttemptRow,
    WebhookDeliveryState, WebhookRow,
};
