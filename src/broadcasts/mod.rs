//! Broadcasts: one message to each contact of an audience.
//!
//! Reading order: `rows.rs` (rows), `outcome.rs` (states of a recipient), `counts.rs` (their number),
//! `by_domain.rs` (numbers by recipient domain), `clicked_links.rs` (clicks by link), `content.rs` (HTML and text on disk), `cache.rs` (contents in memory),
//! `render.rs` (the message of one recipient), `store.rs` (reads and writes of rows), `planner/` (due times and
//! estimates under the sending limits), `estimates.rs` (the input of the planner), `forecast.rs` (the planned ends of
//! all broadcasts), `placement.rs` (due times under the sending limits), `notifier.rs` (notifications to the worker),
//! `fan_out/` (the worker that queues the recipients), `send_figures.rs` (sent messages, for the planner), `model.rs`
//! (drafts and their fields), `error.rs`, `audience.rs` (the number of recipients), `guards.rs` (conditions of a send),
//! `service.rs` (the use cases of drafts), `progress.rs` (lists with counts), `sending.rs` (sending and cancellation),
//! `recipients.rs` (lists of recipients), `check/` (checks, previews and test emails before a broadcast is sent),
//! `api/` (the endpoints).
//!
//! Invariants:
//! - A draft changes only in its own transaction, and not after it is sent. Segment, topic and content stay as they were
//!   sent.
//! - A send is one transaction: status, position of the fan-out, and usage.
//! - Every change of a status is written by `store::put`, which keeps the index of active broadcasts.

pub mod api;
pub mod check;
pub mod planner;

mod audience;
mod by_domain;
mod cache;
mod clicked_links;
mod content;
mod counts;
mod error;
mod estimates;
mod fan_out;
mod forecast;
mod guards;
mod model;
mod notifier;
mod outcome;
mod placement;
mod progress;
mod recipients;
mod render;
mod rows;
mod send_figures;
mod sending;
mod service;
mod store;
#[cfg(test)]
mod tests;

pub use by_domain::{BroadcastDomainRow, DomainCounts, OtherDomains, RecipientDomains};
pub(crate) use cache::BroadcastContentCache;
pub use clicked_links::{BroadcastLink, BroadcastLinkRow};
pub(crate) use clicked_links::{LinkChange, count_link, has_link};
pub use content::{
    BroadcastContent, SealedBroadcastContent, delete_content, put_content, read_content, seal_content,
    stored_content_bytes,
};
pub use counts::BroadcastCounts;
pub(crate) use counts::{
    EngagedBy, EngagementChange, RecipientChange, RecipientEngagement, change_counts, count_engagement, count_queued,
    count_unsubscribed, read_counts, take_back_unsubscribed,
};
pub use error::{CancelBroadcastError, DeleteBroadcastError, DraftError, SendBroadcastError};
pub use estimates::SendEstimates;
pub use fan_out::{BroadcastWorker, BroadcastWorkerSettings, discard_pages, stop_fan_out};
pub use model::{BroadcastChanges, BroadcastName, CONTENT_BYTES_MAX, NewBroadcast, PreviewText};
pub use notifier::BroadcastNotifier;
pub use outcome::BroadcastOutcome;
pub use recipients::{BroadcastRecipient, RecipientDetail, RecipientFilter, RecipientLink, RecipientType};
pub use render::{MergeValues, RenderedBroadcast, merge_html, merge_subject, render, value_names};
pub use rows::{ActiveBroadcastRow, BroadcastCountsRow, BroadcastRow, BroadcastStatus, FanOutRow, SendSlotRow};
pub use send_figures::SendFigures;
pub use service::{Broadcast, Broadcasts};
pub use store::{delete_page_of_team, find, has_started, put, uses_segment, uses_topic};

use crate::base::id::{BroadcastId, TeamId};
use crate::store::{Reads, StoreError};
use crate::tables::BROADCASTS;

/// Maximum number of drafts, scheduled and queued broadcasts of a team.
pub const ACTIVE_MAX: usize = 1_000;

/// Returns a broadcast; `None` if the team has no such broadcast, or its row is corrupt, which is logged.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn find_valid(
    tx: &impl Reads,
    team: TeamId,
    broadcast: BroadcastId,
) -> Result<Option<BroadcastRow>, StoreError> {
    tx.get_valid(&BROADCASTS, &(team, broadcast))
}
