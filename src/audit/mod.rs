//! The audit log: administrative actions, with the actor, the target and the changed fields of each.
//!
//! Data flow: a use case takes a [`TeamActor`] from its caller, and calls [`record`] in the write transaction of the
//! action. The dashboard and the command line read the entries with [`AuditLog`].
//!
//! Files, in reading order: `model.rs` (actors, actions and entries), `store.rs` (rows, and [`record`]), `read.rs` (pages),
//! `retention.rs`, `view.rs` (JSON of actors and targets).
//!
//! Invariants:
//! - An entry is written in the transaction of its action, so that a refused action has none. The exception is a
//!   refused sign-in, which is an action itself.
//! - No function changes an entry. Only retention deletes one.
//! - The entries of a team stay after the removal of the team.
//! - An entry has no secret, no message content and no address of a recipient. Users of the dashboard are named by their
//!   address; a contact or a suppression only by its id.

mod model;
mod read;
mod retention;
mod store;
#[cfg(test)]
mod tests;
mod view;

pub use model::{Actor, AuditAction, AuditEntry, AuditTarget, AuditTargetKind, TeamActor, audit_host};
pub use read::{AuditFilter, AuditLog, AuditPage, RecordedAction};
pub use retention::purge;
pub use store::{AuditRow, record};
pub use view::{AuditActorView, AuditTargetView};
