//! The dispatcher: sends queued deliveries, endpoint by endpoint.
//!
//! Data flow: `fan_out.rs` moves events from the outbox to the delivery queues, many in one commit. Each
//! endpoint with a queue has a lane, so that an endpoint that does not answer delays no other. All lanes
//! share the permits for requests in flight. A lane loads a page of due deliveries, sends up to
//! [`IN_FLIGHT`] at once, and stores all outcomes that have accumulated in one commit.
//!
//! Files, in the order of one delivery:
//! - `fan_out.rs`: moves events to the delivery queues;
//! - `dispatcher.rs`: starts and wakes lanes;
//! - `lane/`: one driver, the machine that decides without I/O, and the free capacity;
//! - `page.rs`: loads due deliveries;
//! - `request.rs`: sends one request;
//! - `settle.rs`: stores outcomes;
//! - `backlog.rs`: scans all queues for the dispatcher, once a minute, and notifies owners of overdue deliveries;
//! - `clock_steps.rs`: makes deliveries due after the clock was set back;
//! - `figures.rs` and `queue_count.rs`: counts for monitoring.
//!
//! Invariants:
//! - A delivery leaves the queue in the transaction that stores its outcome. After a kill between the response
//!   and that commit, the request is repeated with the same `webhook-id`.
//! - The deliveries of an endpoint start in the order of their due times.
//! - A request is signed with the secrets that are valid when it starts. In this process, a rotation applies
//!   to every request that starts after the response to the rotation.
//! - A response to a body that an erasure has changed since is not stored.
//! - A delivery of a retracted event is deleted when it is loaded, unless it was attempted before.
//! - Nothing is sent to a disabled endpoint, and no delivery from an earlier activation.
//! - A failure in one lane is logged and retried. It stops neither another lane nor the process.
//! - A lane holds a bounded number of deliveries in memory. The fan-out slows down while the lanes of all
//!   subscribed endpoints are full.

mod backlog;
mod clock_steps;
mod dispatcher;
mod fan_out;
mod figures;
mod lane;
mod page;
mod queue_count;
mod request;
mod settle;
#[cfg(test)]
mod tests;

pub use dispatcher::{DispatchNotifier, WebhookDispatcher};
pub use figures::{QueuedDeliveryFigures, WebhookFigures};

/// Requests in flight to one endpoint.
const IN_FLIGHT: usize = 8;

/// Settings of the dispatcher.
#[derive(Clone, Copy, Debug)]
pub struct DispatchSettings {
    /// Requests to each endpoint that may start in a second; 0 is no limit.
    pub per_second: u32,
}
