//! Search over the emails of a team, newest first.
//!
//! A search reads the rows of emails from the newest and stops after a bound of rows or time. It returns the position,
//! from which the next request continues. A search for one recipient reads an index instead: blocks of consecutive
//! emails with a fingerprint of each recipient. A worker writes a block when it is complete, some seconds after the last
//! of its emails. Newer emails are read without the index.
//!
//! Files in reading order:
//! - `filter.rs`: the filter and the rows that it selects;
//! - `block.rs`: the bytes of a block;
//! - `index.rs`: blocks and positions in the store;
//! - `late.rs`: emails that were committed late;
//! - `find.rs`: a search;
//! - `worker.rs`.
//!
//! Invariants:
//! - Accepting an email writes nothing here.
//! - A block has no recipient that was erased and no email that was deleted: both change it in their transaction. A change
//!   of an email that is not in a block yet increments a counter, which makes the block that is being prepared invalid.
//! - Writing a block compares the position with the one from which it was prepared. Two workers therefore write each block
//!   once, and a kill leaves both or neither.

mod block;
mod filter;
mod find;
mod index;
mod late;
#[cfg(test)]
mod tests;
mod worker;

pub use filter::{SearchFilter, SearchTag};
pub use find::{EmailSearchPage, EmailSearchQuery, SEARCH_ROWS_MAX};
pub use index::SearchPositionRow;
pub(super) use index::{forget_addresses, forget_email};
pub use worker::EmailIndex;
