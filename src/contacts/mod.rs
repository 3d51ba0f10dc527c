//! Contacts: the people a team writes to, what is known of them, and what they opted out of.
//!
//! Reading order: `model.rs` (what a write says), `store.rs` (the rows), `consent.rs` (what a send
//! asks), `check.rs` (what a write is held against), `write.rs` (the one way a contact changes),
//! `undo.rs` (an opt-out taken back at once), `batch.rs` (many in one write), `view.rs` (a contact as its
//! team sees it), `size.rs` (how large it is), `contact_ref.rs` (a row looked at where it lies),
//! `service.rs` and `memberships.rs` (the use cases), `api/` (endpoints); `topic_choice_retention.rs` (choices about topics
//! long deleted); `csv/` (cells and lines), `import/` and `export/` (files of contacts).
//!
//! Invariants: an address has one contact in a team, without regard to case; every change records
//! its events in its own transaction, and a write that restates what is stored records nothing; adding,
//! a batch and an import never lift an opt-out of everything, and an import never turns an opt-out of a
//! topic into an opt-in, while a choice about a topic takes the place of an earlier one everywhere
//! else; what a contact holds and what is answered about contacts are bounded in bytes.

pub mod api;

mod batch;
mod check;
mod consent;
mod contact_ref;
mod csv;
pub mod export;
pub mod import;
mod memberships;
mod model;
mod service;
mod size;
mod store;
mod topic_choice_retention;
mod undo;
mod view;
mod write;

pub use batch::{
    BATCH_CHOICES_MAX, BATCH_MAX, Batch, BatchItem, BatchOptions, BatchOutcome, ContactBatchError, ItemStatus,
    OnConflict, Validation,
};
pub use check::ItemError;
pub use consent::{has_opted_out, receives_topic};
pub use contact_ref::ContactRef;
pub use model::{
    CONTACT_PROPERTIES_MAX, ContactChanges, NewContact, OptIns, PROPERTIES_BYTES_MAX, PropertyChange, Resubscribe,
};
pub use service::{ContactName, Contacts, Erase, Removal, WriteError};
pub use store::{AudienceRow, ContactRow, TopicChoiceRow, audience, choices_of, find, find_by_address};
pub use topic_choice_retention::purge_deleted_topic_choices;
pub use undo::take_back_opt_out;
pub use view::{ANSWER_BYTES_MAX, ContactView, IncludedFields, ShowError, TopicSubscription};
pub use write::{ContactWriter, WriteResult, set_subscription, set_topics};

#[cfg(test)]
mod tests;
