//! Sending domains: their DNS records, verification and DKIM keys.
//!
//! Life cycle: `POST /domains` stores a domain with new keys and selectors (`not_started`). The team publishes the
//! records and requests verification (`pending`). A DNS check finds all required records (`verified`), or a wrong
//! record, or no record within 72 hours (`failed`). Sweeps continue to check verified domains. A verified domain that
//! loses a required record becomes `failed`, and `verified` again if the record returns within 72 hours. The deletion
//! of a domain revokes the API keys scoped to it. Its queued email has no signing keys then, so delivery gives it up.
//!
//! Files in reading order:
//! - `model.rs`: types and statuses; `settings.rs`: settings of the operator; `store.rs`: rows;
//! - `records.rs`: the records a domain should publish; `signing.rs`: DKIM keys;
//! - `decide.rs`: the effect of a check on the status; `verify.rs`: the DNS lookups of a check;
//! - `refusal.rs`: refusals of mail of a domain;
//! - `service.rs` and `error.rs`: the use cases;
//! - `queue.rs` and `worker.rs`: checks in the background; `audit.rs`: a check of all domains that stores nothing;
//! - `api/`: the endpoints.
//!
//! Invariants:
//! - A name that is registered in two teams has two rows, with different keys and selectors.
//! - The store contains a private key only sealed, bound to its domain and selector.
//! - Only an answer of the DNS changes `verified` to another status. A failed lookup never does.
//! - Only the RSA key and the MX and SPF records of the return path are required for sending.
//! - A host is a tracking host as long as its domain is verified and the last lookup found its record.

pub mod api;

mod audit;
mod decide;
mod error;
mod model;
mod queue;
mod records;
mod refusal;
mod service;
mod settings;
mod signing;
mod store;
#[cfg(test)]
mod testing;
#[cfg(test)]
pub(crate) mod tests;
mod verify;
mod worker;

pub use audit::{AuditedDomain, AuditedRecord, DomainAudit};
pub use error::{CreateDomainError, DomainRule, UpdateDomainError};
pub use model::{
    DnsLabel, Domain, DomainChanges, DomainStatus, DomainWithRecords, NewDomain, RecordKind, RecordState, RecordStatus,
};
pub use records::RecordView;
pub use refusal::{DomainRefusal, record_refusal};
pub use service::Domains;
pub use settings::{DomainSettings, RelayRecords, RelayRecordsError};
pub use signing::{SigningKeyCache, SigningKeys, signing_keys};
pub use store::{
    DkimKeyRow, DomainRow, SenderDomainRow, SenderTracking, TrackingHostRow, count, delete_page_of_team, exists, find,
    find_sender, find_sender_hashed, find_valid, is_tracking_host, regions,
};
