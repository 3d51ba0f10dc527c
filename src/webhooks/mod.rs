//! Webhooks: endpoints of customers that hear of events, and the deliveries to them.
//!
//! An endpoint is made enabled. What happens is written down for it in the transaction of the event
//! (`events::outbox`), becomes a delivery of its own, and is posted to it until it answers 2xx or the
//! schedule is used up. Twenty deliveries that end in vain, one after the other, disable it; it hears
//! of nothing until somebody enables it again, and of nothing that happened meanwhile.
//!
//! `model.rs` an endpoint and its rules; `store.rs` the rows and reads; `service.rs` and `error.rs` the
//! use cases; `deliveries.rs` showing deliveries, replaying them and sending tests; `api/` the
//! endpoints; `retry.rs` what an attempt means for its delivery; `health.rs` how an endpoint fares;
//! `dispatch/` posting what is queued; `notifier.rs` how that is woken; `removal.rs` what a deleted endpoint
//! leaves; `retention.rs` how long deliveries are kept; `erase.rs` taking addresses out of them.
//!
//! Invariants: a delivery and its place in the queue are written together and end together; an outcome
//! and what follows from it (the next attempt, the health of the endpoint, its being disabled) are one
//! transaction; what an endpoint answers is text to be shown and nothing else.

pub mod api;

mod deliveries;
mod dispatch;
mod erase;
mod error;
mod health;
mod model;
mod notifier;
mod removal;
mod retention;
mod retry;
mod service;
mod store;
#[cfg(test)]
mod tests;

pub use dispatch::{DispatchSettings, WebhookDispatcher};
pub(crate) use erase::{DeliveryKey, erase_delivery, match_deliveries};
pub use error::{
    CreateWebhookError, DeliveryError, ReplayError, RotateSecretError, TestWebhookError, UpdateWebhookError,
};
pub use model::{
    Delivery, DeliveryStatus, DeliveryWithPayload, NewWebhook, OVERLAP_HOURS_DEFAULT, OVERLAP_HOURS_MAX, Rotation,
    RotationResult, StatusChange, SubscribedEvents, WEBHOOKS_MAX, Webhook, WebhookChanges, WebhookStatus,
};
pub use notifier::DispatchNotifier;
pub use retention::purge;
pub use service::Webhooks;
pub use store::{
    DeliveryRow, ExhaustedReason, HealthRow, PreviousSecretRow, QueueRow, WebhookAttemptRow, WebhookDeliveryState,
    WebhookRow,
};
