//! Events: what happened to an email, to a contact, to the suppression list or to a team, recorded
//! once, in the transaction of the fact.
//!
//! [`record`], [`record_audience`] and [`record_team`] are the only ways an event comes to be.
//! `types.rs` the types that webhook endpoints ask for; `model.rs` the kinds of an email's events and
//! what each carries; `store.rs` their rows and reads; `payload.rs` what is delivered of them;
//! `audience.rs` the events about contacts and suppressions; `team.rs` those about a team; `outbox.rs`
//! who hears of an event, and where the dispatcher of webhooks finds it; `sample.rs` what a test of an
//! endpoint tells; `erase.rs` and `erase_message.rs` taking addresses out; `retention.rs` how long what
//! does not go with an email is kept.
//!
//! Invariants: an event and the endpoints that hear of it are one transaction; a payload is written
//! once and never made again.

mod audience;
mod erase;
mod erase_message;
mod model;
mod outbox;
mod payload;
mod retention;
mod sample;
mod store;
mod team;
mod types;

pub use audience::{
    AudienceEvent, AudienceEventRow, AudienceKind, AudienceSubject, ChangeSource, ContactSnapshot, ERASED,
    SuppressionSnapshot, TopicSnapshot, record_audience,
};
pub(crate) use erase::{ErasureScope, audience_page, email_events_mention, erase_audience, erase_email_events};
pub(crate) use erase_message::{MessageSubject, erase_message, message_page};
pub use model::{Bounce, BounceType, ClickDetail, Detail, EmailEventKind, Event, OpenDetail};
pub use outbox::{
    Activation, MessageRow, OutboxBatch, OutboxEntry, OutboxRow, SubscriptionsRow, enabled_endpoints, message,
    put_message, subscribe, take_batch, unsubscribe,
};
pub use payload::EmailEventData;
pub use retention::{purge_audience, purge_messages};
pub use sample::sample;
pub use store::{EventRow, PreparedEvent, email_timeline, record};
pub use team::{Deliverability, Metric, Quota, QuotaPeriod, TeamEvent, record_team};
pub use types::{EventType, EventTypes};
