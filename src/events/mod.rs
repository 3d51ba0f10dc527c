//! Events: what happened to an email, to a contact or to the suppression list, recorded once, in the
//! transaction of the fact.
//!
//! [`record`] and [`record_audience`] are the only ways an event comes to be. `model.rs` the kinds of
//! an email's events and what each carries; `store.rs` their rows and reads; `audience.rs` the events
//! about contacts and suppressions; `erase.rs` taking addresses out of either; `retention.rs` how long
//! the latter are kept.

mod audience;
mod erase;
mod model;
mod retention;
mod store;

pub use audience::{
    AudienceEvent, AudienceEventRow, AudienceKind, AudienceSubject, ContactSnapshot, ERASED, Source,
    SuppressionSnapshot, TopicSnapshot, record_audience,
};
pub(crate) use erase::{Reach, audience_page, erase_audience, erase_of_email, of_email_hold};
pub use model::{Bounce, BounceType, Detail, Event, Kind};
pub use retention::purge_audience;
pub use store::{EventRow, of_email, record};
