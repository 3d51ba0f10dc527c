//! Users of the dashboard and their roles in teams.
//!
//! A user is one address, whatever the number of teams it belongs to. It comes to be with its first
//! membership and goes with its last. A team that has an owner keeps one: the last owner can be
//! neither removed nor demoted.
//!
//! `model.rs` what a user and a role are; `store.rs` rows and their index; `members.rs` the use
//! cases.
//!
//! Deliberately not here: passwords and sessions.

mod members;
mod model;
mod store;

pub use members::{AddError, MembershipError, add, change_role, list, owners, remove};
pub use model::{Member, Role, User};
pub use store::{MembershipRow, UserRow};
