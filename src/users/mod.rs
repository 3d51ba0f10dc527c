//! Users of the dashboard and their roles in teams.
//!
//! Reading order: `model.rs` (types), `store.rs` (rows and their index), `members.rs` (use cases).
//! Passwords and login sessions do not exist yet.
//!
//! Invariants:
//! - An address is one user, in any number of teams.
//! - The first membership creates the user, and the removal of the last one deletes it.
//! - A team that has an owner keeps at least one owner.

mod members;
mod model;
mod store;

pub(crate) use members::remove_team;
pub use members::{AddError, MembershipError, add, change_role, list, owners, remove};
pub use model::{Member, Role, User};
pub use store::{MembershipRow, UserRow};
