//! Broadcasts: one message to each contact of an audience.
//!
//! `broadcast_rows` has their rows, content and counts. This module stores the position of each fan-out and the slots of
//! the planner.
//!
//! Reading order:
//! - `planner/`: due times and estimates under the sending limits;
//! - `estimates.rs`: the input of the planner;
//! - `forecast.rs`: the planned ends of all broadcasts;
//! - `placement.rs`: due times under the sending limits;
//! - `fan_out/`: the worker that queues the recipients;
//! - `send_figures.rs`: sent messages, for the planner;
//! - `model.rs`, `error.rs`: drafts and their fields;
//! - `audience.rs`: the number of recipients;
//! - `guards.rs`: conditions of a send;
//! - `service.rs`: the use cases of drafts;
//! - `progress.rs`: lists with counts, and the numbers of a report;
//! - `sending.rs`: sending and cancellation;
//! - `recipients.rs`: lists of recipients;
//! - `removal.rs`: deletion of those of a team;
//! - `check/`: checks, previews and test emails before a broadcast is sent;
//! - `api/`: the endpoints.
//!
//! Invariants:
//! - A draft changes only in its own transaction, and not after it is sent. Segment, topic and content stay as they were
//!   sent.
//! - A send is one transaction: status, position of the fan-out, and usage.

pub mod api;
pub mod check;
pub mod planner;

mod audience;
mod error;
mod estimates;
mod fan_out;
mod forecast;
mod guards;
mod model;
mod placement;
mod progress;
mod recipients;
mod removal;
mod send_figures;
mod sending;
mod service;
#[cfg(test)]
mod tests;

pub use error::{CancelBroadcastError, DeleteBroadcastError, DraftError, SendBroadcastError};
pub use estimates::SendEstimates;
pub use fan_out::{BroadcastWorker, BroadcastWorkerSettings, FanOutRow, discard_pages, stop_fan_out};
pub use model::{BroadcastChanges, BroadcastName, CONTENT_BYTES_MAX, NewBroadcast, PreviewText};
pub use placement::SendSlotRow;
pub use recipients::{BroadcastRecipient, RecipientDetail, RecipientFilter, RecipientLink, RecipientType};
pub use removal::delete_page_of_team;
pub use send_figures::SendFigures;
pub use service::{Broadcast, Broadcasts};
