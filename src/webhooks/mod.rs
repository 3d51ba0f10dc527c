//! Webhooks: endpoints of customers that hear of events, and the deliveries to them.
//!
//! An endpoint is made enabled. What happens is written down for it in the transaction of the event
//! (`events::outbox`), becomes a delivery of its own, and is posted to it until it answers 2xx or the
//! schedule is used up. Twenty deliveries that end in vain, one after the other, disable it; it hears
//! of nothing until somebody enables it again, and of nothing that happened meanwhile.
//!
//! `model.rs` an endpoint and its rules; `store.rs` the rows and reads; `service.rs` and `error.rs` the
//! use cases; `deliveries.rs` showing deliveries, replaying them and sending tests; `api/` the
//! endpoints; `ladder.rs` what an attempt means for its delivery; `health.rs` how an endpoint fares;
//! `dispatch/` posting what is queued; `bell.rs` how that is woken; `removal.rs` what a deleted endpoint
//! leaves; `retention.rs` how long deliveries are kept; `erase.rs` taking addresses out of them.
//!
//! Invariants: a delivery and its place in the queue are written together and end together; an outcome
//! and what follows from it (the next attempt, the health of the endpoint, its being disabled) are one
//! transaction; what an endpoint answers is text to be shown and nothing else.

pub mod api;

mod bell;
mod deliveries;
mod dispatch;
mod erase;
mod error;
mod health;
mod ladder;
mod model;
mod removal;
mod retention;
mod service;
mod store;
#[cfg(test)]
mod tests;

pub use bell::WebhookBell;
pub use dispatch::{DispatchSettings, Dispatcher};
pub(crate) use erase::{DeliveryPlace, delivery_page, erase_delivery};
pub use error::{
    CreateWebhookError, DeliveryError, ReplayError, RotateSecretError, TestWebhookError, UpdateWebhookError,
};
pub use model::{
    Delivery, DeliveryStatus, NewWebhook, OVERLAP_HOURS_DEFAULT, OVERLAP_HOURS_MAX, Rotated, Rotation, Subscription,
    Switch, WEBHOOKS_MAX, Webhook, WebhookChanges, WebhookStatus, WholeDelivery,
};
pub use retention::purge;
pub use service::Webhooks;
pub use store::{
    AttemptRow, DeliveryRow, DeliveryState, Exhaustion, HealthRow, PreviousSecretRow, QueueRow, WebhookRow,
};
