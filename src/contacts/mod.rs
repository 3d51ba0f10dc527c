//! Contacts: the people a team writes to, what is known of them, and what they opted out of.
//!
//! Reading order: `model.rs` (what a write says), `store.rs` (the rows), `consent.rs` (what a send
//! asks), `check.rs` (what a write is held against), `write.rs` (the one way a contact changes),
//! `undo.rs` (an opt-out taken back at once), `batch.rs` (many in one write), `view.rs` (a contact as its
//! team sees it), `weight.rs` (how large it is), `borrowed.rs` (a row looked at where it lies),
//! `service.rs` and `relations.rs` (the use cases), `api/` (endpoints); `forget.rs` (choices about topics
//! long deleted); `csv/` (cells and lines), `import/` and `export/` (files of contacts).
//!
//! Invariants: an address has one contact in a team, without regard to case; every change records
//! its events in its own transaction, and a write that restates what is stored records nothing; adding,
//! a batch and an import never lift an opt-out of everything, and an import never turns an opt-out of a
//! topic into an opt-in, while a choice about a topic takes the place of an earlier one everywhere
//! else; what a contact holds and what is answered about contacts are bounded in bytes.

pub mod api;

mod batch;
mod borrowed;
mod check;
mod consent;
mod csv;
pub mod export;
mod forget;
pub mod import;
mod model;
mod relations;
mod service;
mod store;
mod undo;
mod view;
mod weight;
mod write;

pub use batch::{
    BATCH_CHOICES_MAX, BATCH_MAX, Batch, BatchError, BatchItem, BatchOptions, BatchOutcome, ItemStatus, OnConflict,
    Validation,
};
pub use borrowed::BorrowedContact;
pub use check::ItemError;
pub use consent::{has_opted_out, receives_topic};
pub use forget::forget_choices;
pub use model::{
    CONTACT_PROPERTIES_MAX, ContactChanges, NewContact, OptIns, PROPERTIES_BYTES_MAX, PropertyChange, Resubscribe,
};
pub use service::{ContactName, Contacts, Erase, Removal, WriteError};
pub use store::{AudienceRow, ContactRow, TopicChoiceRow, audience, choices_of, find, find_by_address};
pub use undo::take_back_opt_out;
pub use view::{ANSWER_BYTES_MAX, ContactView, Facets, ShowError, TopicSubscription};
pub use write::{ContactWriter, Written, set_subscription, set_topics};

#[cfg(test)]
mod tests;
