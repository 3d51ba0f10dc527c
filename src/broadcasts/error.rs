//! Errors of the use cases.

use crate::broadcast_rows::BroadcastStatus;
use crate::emails::BroadcastPause;
use crate::preferences::LinkError;
use crate::store::{StoreError, from_store_error};

/// Error of creating, changing or copying a draft.
#[derive(Debug)]
pub enum DraftError {
    /// The team has no broadcast of that id.
    NotFound,
    /// The broadcast has this status, and only drafts can be changed.
    NotDraft(BroadcastStatus),
    /// The draft has another revision than the one that the change is based on.
    StaleRevision,
    /// The team has no such segment.
    SegmentNotFound,
    /// The team has no such topic.
    TopicNotFound,
    /// The key is scoped to another domain than that of the sender.
    KeyOfAnotherDomain,
    /// The content has more than [`super::CONTENT_BYTES_MAX`] bytes.
    TooMuchContent,
    /// The team has `ACTIVE_MAX` drafts, scheduled and queued broadcasts.
    TooMany,
    Store(StoreError),
}

/// Error of deleting a draft.
#[derive(Debug)]
pub enum DeleteBroadcastError {
    /// The team has no broadcast of that id.
    NotFound,
    /// The broadcast has this status, and only drafts can be deleted.
    NotDraft(BroadcastStatus),
    /// The key is scoped to another domain than that of the sender.
    KeyOfAnotherDomain,
    Store(StoreError),
}

/// Error of sending a broadcast. The broadcast stays a draft.
#[derive(Debug)]
pub enum SendBroadcastError {
    /// The team has no broadcast of that id.
    NotFound,
    /// The broadcast has this status, and only drafts can be sent.
    NotDraft(BroadcastStatus),
    /// The segment has been deleted.
    SegmentNotFound,
    /// The topic has been deleted.
    TopicNotFound,
    /// Recipients cannot open unsubscribe links, or the content has too many of them.
    Link(LinkError),
    /// The team, or every team of the region, cannot send broadcasts for some time.
    Paused(BroadcastPause),
    /// The team has no verified domain of this name.
    DomainNotVerified(String),
    /// The key is scoped to another domain.
    KeyOfAnotherDomain,
    /// The draft has neither HTML nor text.
    NoContent,
    /// The broadcast needs more than this number of days.
    TooLarge(u32),
    Store(StoreError),
}

/// Error of canceling a broadcast.
#[derive(Debug)]
pub enum CancelBroadcastError {
    /// The team has no broadcast of that id.
    NotFound,
    /// The broadcast is neither scheduled nor queued.
    NotStarted,
    /// The key is scoped to another domain.
    KeyOfAnotherDomain,
    Store(StoreError),
}

from_store_error!(DraftError, DeleteBroadcastError, SendBroadcastError, CancelBroadcastError);
