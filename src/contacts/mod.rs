//! Contacts: the people a team writes to, what is known of them, and what they opted out of.
//!
//! Reading order: `model.rs` (what a write says), `store.rs` (the rows), `consent.rs` (what a send
//! asks), `write.rs` (the one way a contact changes), `batch.rs` (many in one write).
//!
//! Invariants: an address has one contact in a team, without regard to case; every change records
//! its events in its own transaction, and a write that restates what is stored records nothing; an
//! opt-out is lifted by an explicit word about that one contact alone.

mod batch;
mod consent;
mod model;
mod store;
mod write;

pub use batch::{
    BATCH_MAX, Batch, BatchError, BatchItem, BatchOptions, BatchOutcome, ItemError, ItemStatus, OnConflict, Validation,
};
pub use consent::{has_opted_out, receives_topic};
pub use model::{Change, ContactChanges, NewContact, OptIns, PropertyChange, Resubscribe};
pub use store::{AudienceRow, ContactRow, TopicChoiceRow, audience, choices_of, find, find_by_address};
pub use write::{ContactWriter, Written, set_topics, set_unsubscribed};

#[cfg(test)]
mod tests;
