//! Topics: categories of email that a recipient can opt out of separately.
//!
//! Data flow: a send under a topic reads the default of the topic and the choice of each contact.
//! Contacts store their choices in `contacts`. Deleting a topic keeps the choices, because queued emails
//! under the topic still obey them, and records the time of the deletion. Retention deletes the choices
//! 40 days later.
//!
//! Reading order: `model.rs` (topics and their fields), `store.rs` (rows), `service.rs` (the use cases),
//! `api.rs` (the endpoints).
//!
//! Invariants:
//!
//! - A team has at most [`TOPICS_MAX`] topics, so that one read can return all of them.
//! - The default subscription of a topic never changes. A change would subscribe or unsubscribe contacts
//!   without their consent.

pub mod api;

mod model;
mod service;
mod store;

pub use model::{
    NewTopic, SendTopic, Subscription, TOPICS_MAX, Topic, TopicChanges, TopicDescription, TopicName, TopicVisibility,
};
pub use service::{CreateTopicError, DeleteTopicError, TopicInUse, Topics, UpdateTopicError};
pub use store::{
    DeletedTopicRow, ExpiredTopic, TopicRow, all, delete_expired, expired, find, find_for_send, find_valid, ids,
    record_deleted, was_listed,
};
