//! Notices: what the owners of a team are told by the instance.
//!
//! A notice is written down in the transaction of the fact it tells.
//!
//! `model.rs` what there is to tell; `store.rs` the rows.

mod model;
mod store;

pub use model::Notice;
pub use store::{NoticeRow, tell};
