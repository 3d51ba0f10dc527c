//! Events: facts about an email, a contact, the suppression list or a team.
//!
//! [`record`], [`record_audience`] and [`record_team`] store an event in the transaction of its cause. If an
//! endpoint is subscribed to the type, the same transaction stores the event message and an outbox row, which the
//! webhook dispatcher fans out.
//!
//! Files in reading order:
//! - `types.rs`: event types and sets of them;
//! - `model.rs`: kinds and details of email events;
//! - `guidance/`: the meaning of a problem, and the next step;
//! - `store.rs`: their rows;
//! - `payload.rs`: the event message of an email event;
//! - `audience.rs`: events about contacts and suppressions;
//! - `team.rs`: events about a team;
//! - `message.rs`: event messages;
//! - `outbox.rs`: subscriptions and the outbox;
//! - `sample.rs`: messages for endpoint tests;
//! - `erase.rs` and `erase_message.rs`: erasure of addresses;
//! - `retention.rs`: deletion of old rows.
//!
//! Invariants:
//! - Only the three `record` functions create events.
//! - A recorded event is deleted only with its email, or by `retract`, which `engagement` uses for a click that was part of
//!   a burst.
//! - An event and its outbox row are stored in one transaction.
//! - An event message is composed once. Only erasure changes its body.

mod audience;
mod erase;
mod erase_message;
mod guidance;
mod message;
mod model;
mod outbox;
mod payload;
mod retention;
mod sample;
mod store;
mod team;
mod types;

pub use audience::{
    AudienceEvent, AudienceEventRow, AudienceKind, AudienceSubject, ChangeSource, ContactSnapshot, EventIdentity,
    SuppressionSnapshot, TopicSnapshot, record_audience,
};
pub(crate) use erase::{
    ErasureScope, email_events_mention, erase_audience_event, erase_email_events, match_audience_events,
};
pub(crate) use erase_message::{MessageSubject, erase_message, match_messages};
pub use guidance::{Guidance, GuidanceCategory};
pub use message::{MessageRow, message, put_message, valid_message};
pub use model::{Bounce, BounceType, ClickDetail, EmailEventKind, Event, EventDetail, OpenDetail};
pub use outbox::{
    Activation, OutboxBatch, OutboxEntry, OutboxRow, SubscriptionsRow, enabled_endpoints, subscribe, take_batch,
    unsubscribe,
};
pub use payload::EmailEventData;
pub use retention::{purge_audience, purge_messages};
pub use sample::sample;
pub use store::{EventRow, email_timeline, record};
pub(crate) use store::{
    delete_email_events, email_event, email_event_ids, email_events, first_sent_times, has_more_email_events, retract,
    was_sent,
};
pub use team::{DeliverabilityDetail, QuotaDetail, QuotaPeriod, RateMetric, TeamEvent, record_team};
pub use types::{EventType, EventTypes, ForeignEventType};
