//! Sending domains: who may send as whom, and the keys that sign for them.

mod model;
mod store;
mod stub;

pub use model::{DomainStatus, Live, RecordKind, RecordState, RecordStatus};
pub use store::{DkimKeyRow, DomainRow, SenderDomainRow, exists, find, find_sender};
pub use stub::SigningKeyCache;
