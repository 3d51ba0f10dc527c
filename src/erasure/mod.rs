//! Erasures: taking a person's address out of everything that is kept of a team.
//!
//! Life cycle: the transaction that deletes contacts asks for it ([`request`]), and leaves one row
//! with the addresses, sealed; the worker takes the row up after the commit, or at the next start,
//! with those of its team that came later and have not begun, and goes through every place an address
//! can lie in, page by page; when nothing is left, the row goes too.
//!
//! Reading order: `contact_removal.rs` (deletion of contacts), `stages.rs` (the list of all places, and what becomes of an address in each),
//! `audience.rs`, `captured.rs` and `webhook_data.rs` (those of the suppression list, of the built-in mailbox and
//! of webhooks), `store.rs` (the row, and how far it has come), `worker.rs` (going through the places).
//!
//! Invariants: a page that holds an address and how far it brought the erasure are one transaction,
//! so that a kill repeats at most pages that changed nothing, of which none but the last of a turn
//! costs a commit; a page that is gone through twice is as after once; requests that share a walk each
//! reach what was there when they were made; teams take turns, and a turn is bounded; an
//! email that is on its way is left as it is until it has settled; what is recorded after the request
//! is a new fact and stays, but for what comes of an email from before it, which goes as that email
//! goes, and for requests in the log, which can show what another place still held; an address is kept
//! nowhere but in the row, and there under seal.

mod audience;
mod captured;
mod contact_removal;
mod stages;
mod store;
#[cfg(test)]
mod tests;
mod webhook_data;
mod worker;

pub use contact_removal::Erase;
pub use store::{ErasureRow, request};
pub use worker::Erasures;
