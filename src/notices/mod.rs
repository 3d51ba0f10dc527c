//! Notices: what the owners of a team are told by the instance.
//!
//! A notice is written down in the transaction of the fact it tells. The worker takes it from there: a
//! line of the log in any case, and an email to each owner where the operator has named a sender. The
//! row goes once that is done.
//!
//! `model.rs` what there is to tell; `store.rs` the rows; `email_text.rs` how it is put into words;
//! `worker.rs` telling it; `result.rs` what came of it.
//!
//! Invariants: an email of a notice is accepted like any other, under a key made of the notice and the
//! owner that outlives the notice, so that one that is told again sends nothing twice, whether a kill or
//! another owner's failure is why; a notice that cannot be told keeps no other from being told, an owner
//! who cannot be told no other owner, and after a week nobody is told any more.

mod email_text;
mod model;
mod result;
mod store;
#[cfg(test)]
mod tests;
mod worker;

pub use model::Notice;
pub use store::{NoticeRow, record};
pub use worker::NoticeWorker;
