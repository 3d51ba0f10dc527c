//! API keys: authentication of callers, with their team, permission and domain scope.
//!
//! A token is `rm_` and 32 URL-safe characters.
//!
//! Files in reading order: `model.rs` (keys, permissions and callers), `store.rs` (rows), `cache.rs`
//! (valid keys), `keys/` (use cases), `api.rs` (endpoints).
//!
//! Invariants:
//! - Only the response that creates a key contains its token. The store has the SHA-256 of the token
//!   and its last four characters.
//! - Requests are authenticated from the cache. Every change of a key updates the cache after its commit,
//!   in the order of the commits.

pub mod api;
mod cache;
mod keys;
mod model;
mod store;
#[cfg(test)]
mod tests;

pub use keys::{ApiKeys, CreateKeyError, DomainExists};
pub(crate) use keys::{delete_of_team, delete_scoped_to};
pub use model::{ApiKey, ApiKeyToken, Caller, CallerKind, NewKey, Permission, TOKEN_PREFIX};
pub use store::{ApiKeyRow, ApiKeyUseRow};
