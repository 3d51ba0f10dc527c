//! Stores the contacts of each team: addresses with names, properties, topic choices and opt-outs.
//!
//! Data flow: the API and the import build [`NewContact`] and [`ContactChanges`]. `check.rs` validates
//! them against the segments, topics and properties of the team. [`ContactWriter`] writes the rows and
//! the events in one transaction. Reads decode the rows into [`ContactView`].
//!
//! Files in reading order:
//! - `model.rs`: the changes that a write requests.
//! - `store.rs`: the rows.
//! - `consent.rs`: the opt-out checks of a send.
//! - `check.rs`: validation of a write against the store.
//! - `write.rs`: [`ContactWriter`], which creates, changes and removes contacts.
//! - `undo.rs`: reversal of a topic opt-out.
//! - `batch.rs`: many contacts in one transaction.
//! - `view.rs`: contacts as responses show them.
//! - `size.rs`: the JSON size of texts.
//! - `contact_ref.rs`: a borrowed view of a row, for segment filters.
//! - `service.rs` and `memberships.rs`: the use cases.
//! - `api/`: the endpoints.
//! - `topic_choice_retention.rs`: deletion of choices about topics that were deleted 40 days ago.
//! - `csv/`, `import/` and `export/`: CSV files of contacts.
//! - `tests/`: tests over a temporary store.
//!
//! Invariants:
//! - A team has at most one contact for an address, ignoring case.
//! - A change records its events in its own transaction. A write without an effective change records
//!   no event.
//! - A creation, a batch and an import never clear an opt-out of all marketing email.
//! - An import never replaces an opt-out of a topic with an opt-in. Every other write replaces the
//!   earlier choice.
//! - The properties of a contact and a response about contacts are bounded in bytes.

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
    BATCH_CHOICES_MAX, BATCH_MAX, BatchItem, BatchOptions, BatchOutcome, ContactBatch, ContactBatchError, ItemStatus,
    OnConflict, Validation,
};
pub use check::ItemError;
pub use consent::{contact_receives_topic, has_opted_out, receives_topic};
pub use contact_ref::ContactRef;
pub use model::{
    CONTACT_PROPERTIES_MAX, ContactChanges, NewContact, OptIns, PROPERTIES_BYTES_MAX, PropertyChange, Resubscribe,
};
pub(crate) use service::remove;
pub use service::{ContactName, Contacts, RepeatedIdentity, WriteError};
pub use store::{
    AudienceRow, ContactRow, TopicChoiceRow, audience, choices_of, find, find_by_address, find_valid, newest,
    was_listed,
};
pub use topic_choice_retention::purge_deleted_topic_choices;
pub use undo::undo_topic_opt_out;
pub use view::{ContactView, IncludedFields, RESPONSE_BYTES_MAX, ShowError, TopicSubscription};
pub use write::{ContactWriter, WriteResult, set_subscription, set_topics};

#[cfg(test)]
mod tests;
