//! Rows, content and counts of broadcasts, and the message of one recipient: the part of broadcasts that `emails` and
//! `delivery` use. `broadcasts` has the use cases.
//!
//! Reading order:
//! - `rows.rs`: rows;
//! - `outcome.rs`: states of a recipient;
//! - `counts.rs`: their number;
//! - `by_domain.rs`: numbers by recipient domain;
//! - `clicked_links.rs`: clicks by link;
//! - `content.rs`: HTML and text on disk;
//! - `cache.rs`: contents in memory;
//! - `render.rs`: the message of one recipient;
//! - `store.rs`: reads and writes of rows.
//!
//! Invariants:
//! - Every change of a status is written by [`put`], which keeps the index of active broadcasts.
//! - The counts change in the transaction that changes the email.

mod by_domain;
mod cache;
mod clicked_links;
mod content;
mod counts;
mod outcome;
mod render;
mod rows;
mod store;

pub(crate) use by_domain::domains_of;
pub use by_domain::{BroadcastDomainRow, DomainCounts, OtherDomains, RecipientDomains};
pub(crate) use cache::BroadcastContentCache;
pub use clicked_links::{BroadcastLink, BroadcastLinkRow};
pub(crate) use clicked_links::{LINKS_MAX, LinkChange, count_link, has_link, links_of};
pub use content::{
    BroadcastContent, SealedBroadcastContent, put_content, read_content, seal_content, stored_content_bytes,
};
pub use counts::BroadcastCounts;
pub(crate) use counts::{
    EngagedBy, EngagementChange, RecipientChange, RecipientEngagement, change_counts, count_canceled, count_engagement,
    count_queued, count_unsubscribed, finish, read_counts, take_back_unsubscribed,
};
pub use outcome::BroadcastOutcome;
pub(crate) use render::{EMAIL_FIELD, NAME_FIELDS, field_of_value};
pub use render::{MergeValues, RenderedBroadcast, merge_html, merge_subject, render, value_names};
pub use rows::{ActiveBroadcastRow, BroadcastCountsRow, BroadcastRow, BroadcastStatus};
pub use store::{ACTIVE_MAX, find, has_started, put, uses_segment, uses_topic};
pub(crate) use store::{delete, delete_draft, exists, find_valid, has_newer, ids, is_full, list, started};
