//! Teams: whose rows are whose. Every other row is keyed by its team, and no call crosses from one
//! to another.
//!
//! `model.rs` what a team is; `store.rs` its rows and the use cases over them; `default.rs` the team
//! an instance begins with.

mod default;
mod model;
mod store;

pub use default::{DEFAULT_NAME, ensure_any};
pub use model::{Team, TeamNameError};
#[cfg(test)]
pub(crate) use store::put;
pub use store::{TeamRow, create, find, find_by_name, list, oldest};
