//! Webhooks: endpoints of customers that hear of events, and the deliveries to them.
//!
//! An endpoint is made enabled. What happens is written down for it in the transaction of the event
//! (`events::outbox`), becomes a delivery of its own, and is posted to it until it answers 2xx or the
//! schedule is used up. Twenty deliveries that end in vain, one after the other, disable it; it hears
//! of nothing until somebody enables it again, and of nothing that happened meanwhile.
//!
//! `model.rs` an endpoint and its rules; `store.rs` the rows and reads; `ladder.rs` what an
//! attempt means for its delivery; `health.rs` how an endpoint fares; `dispatch/` posting what is queued;
//! `bell.rs` how that is woken.
//!
//! Invariants: a delivery and its place in the queue are written together and end together; an outcome
//! and what follows from it (the next attempt, the health of the endpoint, its being disabled) are one
//! transaction; what an endpoint answers is text to be shown and nothing else.

mod bell;
mod dispatch;
mod health;
mod ladder;
mod model;
mod store;

pub use bell::WebhookBell;
pub use dispatch::{DispatchSettings, Dispatcher};
pub use model::{Subscription, Webhook, WebhookStatus};
pub use store::{
    Abandoned, AttemptRow, DeliveryRow, DeliveryState, Exhaustion, HealthRow, PreviousSecretRow, QueueRow, WebhookRow,
};

/// Endpoints of one team.
pub const WEBHOOKS_MAX: usize = 200;
