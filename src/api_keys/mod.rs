//! API keys: who calls, for which team, and what they may do.
//!
//! A token is `rm_` and 32 URL-safe characters; it is shown once. The store keeps its SHA-256 and
//! last four characters. Requests are answered from a cache in memory that every change of a key
//! goes through.
//!
//! `model.rs` keys, permissions, callers; `store.rs` rows; `cache.rs` the keys that work; `keys.rs` the
//! use cases; `api.rs` the endpoints.

pub mod api;
mod cache;
mod keys;
mod model;
mod store;

pub(crate) use keys::delete_scoped_to;
pub use keys::{ApiKeys, CreateKeyError, DomainExists};
pub use model::{ApiKey, Caller, NewKey, Permission, TOKEN_PREFIX, Token};
pub use store::{ApiKeyRow, ApiKeyUseRow};
