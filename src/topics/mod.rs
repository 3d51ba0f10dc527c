//! Topics: what a recipient can opt out of, one by one.
//!
//! Life cycle: a topic is added with a default that decides for everyone who never chose. Its name,
//! description and visibility change; the default never does, because it would subscribe people or
//! take them out without asking them. Deleting a topic leaves the choices about it, which an
//! email under it that still waits obeys; a note of the deletion says when they can be forgotten.
//!
//! Reading order: `model.rs` (what a topic is), `store.rs` (rows, and what sends and contacts read),
//! `service.rs` (the use cases), `api.rs` (endpoints). What a contact chose lies with the contacts.
//!
//! Invariant: a team has at most [`TOPICS_MAX`] topics, so that one read holds them all.

pub mod api;

mod model;
mod service;
mod store;

pub use model::{
    Description, NewTopic, SendTopic, Subscription, TOPICS_MAX, Topic, TopicChanges, TopicName, Visibility,
};
pub use service::{CreateTopicError, DeleteTopicError, Topics, UpdateTopicError};
pub use store::{
    DeletedTopicRow, ForgottenTopic, TopicRow, all, find, find_for_send, forget_deleted, forgotten, note_deleted,
};
