//! Erasure: the removal of addresses from all data of a team.
//!
//! The transaction that deletes contacts can add an [`ErasureRow`] with their addresses, sealed. The
//! worker then runs a list of stages, one for each kind of data. Each stage scans its table page by
//! page and erases the rows that contain an address. An email with an erased recipient in flight is left
//! unchanged and listed in the row. After the list, the worker erases these emails when their attempts end. An email with
//! another recipient in flight is erased and listed too: its message was composed before, and the built-in mailbox can
//! store it later. When no attempt for a listed email runs, the worker runs the stages after the emails again, for the
//! data that the emails caused. Without such an email, one run is enough. The row is deleted at the end.
//!
//! Reading order:
//! - `contact_removal.rs`: deletion of contacts;
//! - `store.rs`: the row, the request and its addresses;
//! - `stages.rs`: the list of stages;
//! - `pages.rs` and `email_pages.rs`: one page: scan and erase;
//! - `worker.rs`: rounds, turns and retries.
//!
//! Invariants:
//! - The changes of a page and the new position are one transaction. After a kill, the worker repeats
//!   at most the pages of one turn, and these changed nothing.
//! - To erase a page twice has the same result as to erase it once.
//! - Requests of one team that share a run each cover the data from before they were made.
//! - Data from after the request stays. The exceptions are data that an email from before the request
//!   causes, and entries of the request log.
//! - Teams run round-robin, and the work of a turn and of a transaction is bounded.
//! - The addresses are stored in the row only, and sealed.

mod contact_removal;
mod email_pages;
mod pages;
mod stages;
mod store;
#[cfg(test)]
mod tests;
mod worker;

pub use contact_removal::AddressErasure;
pub use store::{ErasureRow, request};
pub use worker::Erasures;
