//! The suppression list: the addresses that a team does not send to.
//!
//! Data flow: an address is added by a bounce, by a complaint, by the team, or by an opt-out of a recipient without a
//! contact. A send checks each recipient against the list. The team removes entries, and a recipient takes back an
//! opt-out. An entry can have another origin and an opt-out. If the team removes it, the opt-out remains. If the
//! recipient takes the opt-out back, the rest remains. An erasure deletes the address of an entry and keeps its hash,
//! which still blocks sends.
//!
//! Reading order:
//! - `model.rs`: entries and their origins;
//! - `store.rs`: rows, and the checks of a send;
//! - `opt_out.rs`: an opt-out that is taken back;
//! - `service.rs`: the use cases;
//! - `api/`: the endpoints.
//!
//! Invariants:
//!
//! - An address has one entry in a team. The key of its index is the hash of the normal form, so that
//!   letter case does not matter.
//! - An address that is already listed keeps its row and its origin. Only the origin `unsubscribe` is
//!   replaced, by an origin that blocks more sends.
//! - An opt-out is stored whatever other origin the entry has.
//! - Entries of the origin `unsubscribe` block only sends under a topic. Other entries block every send.
//! - The transaction that adds or deletes a row records its event. Other changes of a row record none.

pub mod api;

mod model;
mod opt_out;
mod service;
mod store;
#[cfg(test)]
mod tests;

pub use model::{BATCH_MAX, SendKind, Suppression, SuppressionCause, SuppressionOrigin};
pub(crate) use opt_out::lift_opt_out;
pub use service::{BatchTarget, Suppressions};
pub(crate) use store::erase;
pub use store::{AddResult, SuppressionRow, add, blocking_origin, blocks, is_opted_out, origin};
