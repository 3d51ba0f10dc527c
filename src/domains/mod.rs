//! Sending domains: who may send as whom, and the keys that sign for them.
//!
//! Life cycle: a domain is added with keys and selectors of its own (`not_started`), its team
//! publishes the records and asks for verification (`pending`), a check of the DNS finds them
//! (`verified`) or finds them wrong, or not in time (`failed`). Checks go on for good: a verified
//! domain that loses a record sending needs is `failed`, and one that regains it soon heals.
//! Deleting a domain revokes the API keys scoped to it and leaves its queued mail without keys,
//! so that delivery gives it up.
//!
//! Reading order: `model.rs` (what a domain is), `settings.rs` (what the operator sets),
//! `store.rs` (rows), `records.rs` (what a domain should publish), `signing.rs` (keys),
//! `decide.rs` (what a check changes), `verify.rs` (the check), `service.rs` and `error.rs` (the
//! use cases), `queue.rs` and `worker.rs` (checks in the background), `api/` (endpoints).
//!
//! Invariants: the same name in two teams has two rows with keys and selectors of their own; a
//! private key is in the store only under the master key's seal, bound to its domain and
//! selector; only an answer of the DNS takes `verified` away, never its silence; the RSA key, the
//! return path's MX and its SPF are what sending needs, and nothing else.

pub mod api;

mod decide;
mod error;
mod model;
mod queue;
mod records;
mod service;
mod settings;
mod signing;
mod store;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod verify;
mod worker;

pub use error::{CreateDomainError, DomainRule, UpdateDomainError};
pub use model::{
    Domain, DomainChanges, DomainStatus, DomainWithRecords, Label, NewDomain, RecordKind, RecordState, RecordStatus,
};
pub use records::RecordView;
pub use service::Domains;
pub use settings::{DomainSettings, RelayRecords, RelayRecordsError};
pub use signing::{SigningKeyCache, SigningKeys, signing_keys};
pub use store::{DkimKeyRow, DomainRow, SenderDomainRow, count, exists, find, find_sender, find_sender_hashed};
