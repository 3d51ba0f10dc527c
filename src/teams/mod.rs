//! Teams: the tenants of an instance. The rows of a team have its id in their keys.
//!
//! Reading order: `model.rs` (types and the name rule), `store.rs` (rows and use cases), `default.rs` (the
//! first team of an instance).
//!
//! Invariants:
//! - No API call reads or changes rows of another team.
//! - Team names are unique.
//! - A removed team has no row here, only a record until its data is deleted (`team_removal`).

mod default;
mod model;
mod store;

pub use default::{DEFAULT_NAME, ensure_any};
pub use model::{RemovedTeam, Team, TeamNameError};
#[cfg(test)]
pub(crate) use store::put;
pub use store::{RemovedTeamRow, TeamRow, create, find, find_by_name, ids, list, oldest, rename};
pub(crate) use store::{forget_removed, is_removed, remove, removed, rename_in};
