//! Users of the dashboard and their roles in teams.

mod model;
mod store;

pub use model::{Role, User};
pub use store::{MembershipRow, UserRow};
