//! The suppression list: addresses a team does not write to.
//!
//! Life cycle: an address joins when a message to it bounces for good or its owner complains, when
//! the team lists it, or when an opt-out has no contact to be kept with; it leaves when the team
//! removes it, and an opt-out when its owner takes it back. An entry may be both: what the team
//! removes of it then leaves the opt-out, and what its owner takes back leaves the rest. An erasure
//! takes the address and leaves its hash, which goes on blocking.
//!
//! Reading order: `model.rs` (what an entry is), `store.rs` (the rows and all that is read of them
//! inside a send), `opt_out.rs` (an opt-out taken back), `service.rs` (the use cases), `api/` (the
//! endpoints).
//!
//! Invariants: an address has one entry in a team, found by the hash of its normal form, without
//! regard to case; an address already listed keeps its row and its origin, only an `unsubscribe` is
//! raised to a reason that blocks more; an opt-out is kept whatever lists the address; entries of
//! origin `unsubscribe` count only for sends under a topic, the others always; whoever makes a row
//! come or go, its event is in the same transaction, and there is none while it stays.

pub mod api;

mod model;
mod opt_out;
mod service;
mod store;
#[cfg(test)]
mod tests;

pub use model::{Origin, SendKind, Suppression, SuppressionCause};
pub(crate) use opt_out::lift_opt_out;
pub use service::{BatchTarget, Suppressions};
pub use store::{Added, SuppressionRow, add, blocks, is_opted_out, origin};
pub(crate) use store::{EraseSelector, erase};
