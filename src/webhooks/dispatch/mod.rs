//! The dispatcher: posts what is queued, endpoint by endpoint.
//!
//! What was written down for endpoints in the transaction of an event lies in the outbox. `fan_out.rs`
//! makes deliveries of it, many in one commit. Each endpoint with something in its queue has a lane of
//! its own (`lane/`), so that one that hangs keeps nobody else waiting, as long as there are not
//! hundreds of them: all lanes share the places for requests under way. A lane loads a page of due
//! deliveries (`page.rs`), sends up to [`IN_FLIGHT`] at once (`request.rs`), and stores all outcomes that
//! have accumulated in one commit (`settle.rs`). `lane/machine.rs` decides, without I/O.
//! `dispatcher.rs` starts lanes, wakes them, and looks at all queues once a minute, whatever the bells
//! said.
//!
//! Invariants:
//! - a delivery leaves the queue in the transaction that says what became of it: a kill between an
//!   answer and that commit repeats the request with the same `webhook-id`, and loses nothing;
//! - deliveries of an endpoint are taken up in the order of their due times;
//! - a request is signed with the secrets in force when it begins, in this process at once after the
//!   change of them has been answered;
//! - what an endpoint answered to a body that has been erased since is not kept;
//! - nothing is sent to an endpoint that is disabled, nor what was queued in an earlier term of it;
//! - what fails in one lane is logged and tried again; it never stops another lane or the process.

mod dispatcher;
mod fan_out;
mod lane;
mod page;
mod request;
mod settle;
#[cfg(test)]
mod tests;

pub use dispatcher::WebhookDispatcher;

/// Requests to one endpoint at once.
const IN_FLIGHT: usize = 8;

/// How deliveries are made.
#[derive(Clone, Copy, Debug)]
pub struct DispatchSettings {
    /// Requests that may begin in a second, for each endpoint; 0 is no limit.
    pub per_second: u32,
}
