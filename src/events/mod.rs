//! Events: what happened to an email, recorded once, in the transaction of the fact.
//!
//! [`record`] is the only way an event comes to be. `model.rs` the kinds and what each carries;
//! `store.rs` the rows and reads.

mod model;
mod store;

pub use model::{Bounce, BounceType, Detail, Event, Kind};
pub use store::{EventRow, of_email, record};
