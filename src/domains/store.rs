//! Rows of domains, and the index that every send reads.

use serde::{Deserialize, Serialize};

use super::model::{DomainStatus, RecordKind, RecordState};
use crate::base::clock::TimestampMs;
use crate::base::id::{DomainId, TeamId};
use crate::store::{NEXT, NameHash, Order, Reads, Row, STOP, StoreError, WriteTx, name_hash};
use crate::tables::{DOMAINS, SENDER_DOMAINS};

/// Number of domains at which [`count`] stops.
const COUNTED_MAX: usize = 10_000;

/// Stored domain.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DomainRow {
    /// Name in lower-case A-labels.
    pub name: String,
    pub region: String,
    pub status: DomainStatus,
    /// Label of the return path.
    pub return_path: String,
    pub open_tracking: bool,
    pub click_tracking: bool,
    /// Label of the tracking host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracking_subdomain: Option<String>,
    /// RSA-2048 key.
    pub rsa: DkimKeyRow,
    /// Ed25519 key. Signs only after a check has found its record.
    pub ed25519: DkimKeyRow,
    /// Results of the last check.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<RecordState>,
    /// Time of the last check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked_ms: Option<TimestampMs>,
    /// Time of the verification request, or of the loss of a required record. Starts the period of 72 hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_since_ms: Option<TimestampMs>,
    /// Whether the domain is verified without checks, as by `ringmail dev --domain`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub assumed: bool,
    pub created_ms: TimestampMs,
}
impl Row for DomainRow {}

/// Stored DKIM key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DkimKeyRow {
    /// Random selector, so that two teams never share one.
    pub selector: String,
    /// Value of the TXT record.
    pub record: String,
    /// Private key (PKCS #8), sealed with the associated data `domains/<id>/<selector>`.
    #[serde(with = "serde_bytes")]
    pub sealed: Vec<u8>,
}

impl DomainRow {
    /// Returns whether the record of the Ed25519 key is published, so that the key may sign.
    pub fn ed25519_published(&self) -> bool {
        self.records.iter().any(|record| record.kind == RecordKind::DkimEd25519 && record.status.counts_as_found())
    }

    /// Returns the host of the return path.
    pub fn return_path_host(&self) -> String {
        format!("{}.{}", self.return_path, self.name)
    }
}

/// The fields of a domain that a send needs, stored under the hash of the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SenderDomainRow {
    pub id: DomainId,
    pub verified: bool,
    /// Whether opens or clicks are tracked. Each recipient then gets a separate message.
    pub tracked: bool,
    /// Whether the Ed25519 key signs in addition to the RSA key.
    #[serde(default)]
    pub ed25519: bool,
}
impl Row for SenderDomainRow {}

/// Returns the fields for a send of the team's domain with this name (lower-case A-labels).
///
/// # Errors
/// Returns [`StoreError`].
pub fn find_sender(tx: &impl Reads, team: TeamId, name: &str) -> Result<Option<SenderDomainRow>, StoreError> {
    find_sender_hashed(tx, team, &name_hash(name))
}

/// Returns the same as [`find_sender`], by the hash of the name.
///
/// # Errors
/// Returns [`StoreError`].
pub fn find_sender_hashed(
    tx: &impl Reads,
    team: TeamId,
    name: &NameHash,
) -> Result<Option<SenderDomainRow>, StoreError> {
    tx.get(&SENDER_DOMAINS, &(team, *name))
}

/// Returns the team's domain with this id.
///
/// # Errors
/// Returns [`StoreError`].
pub fn find(tx: &impl Reads, team: TeamId, id: DomainId) -> Result<Option<DomainRow>, StoreError> {
    tx.get(&DOMAINS, &(team, id))
}

/// Returns whether the team has a domain with this id.
///
/// # Errors
/// Returns [`StoreError`].
pub fn exists(tx: &impl Reads, team: TeamId, id: DomainId) -> Result<bool, StoreError> {
    tx.contains(&DOMAINS, &(team, id))
}

/// Returns the number of the team's domains, at most 10,000. Scans one small row for each domain.
///
/// # Errors
/// Returns [`StoreError`].
pub fn count(tx: &impl Reads, team: TeamId) -> Result<usize, StoreError> {
    let mut domains = 0;
    // The rows of the index are much smaller than those of the domains, which contain the keys.
    tx.scan(&SENDER_DOMAINS, &(team, [0; 32]), &(team, [u8::MAX; 32]), Order::Ascending, |_, _| {
        domains += 1;
        if domains == COUNTED_MAX { STOP } else { NEXT }
    })?;
    Ok(domains)
}

/// Writes a domain and its index row.
///
/// # Errors
/// Returns [`StoreError`].
pub(super) fn put(tx: &WriteTx<'_>, team: TeamId, id: DomainId, row: &DomainRow) -> Result<(), StoreError> {
    let sender = SenderDomainRow {
        id,
        verified: row.status == DomainStatus::Verified,
        tracked: row.open_tracking || row.click_tracking,
        ed25519: row.ed25519_published(),
    };
    tx.put(&DOMAINS, &(team, id), row)?;
    tx.put(&SENDER_DOMAINS, &(team, name_hash(&row.name)), &sender)
}

/// Deletes a domain and its index row.
///
/// # Errors
/// Returns [`StoreError`].
pub(super) fn remove(
    tx: &WriteTx<'_>,
    team: TeamId,
    id: DomainId,
    row: &DomainRow,
    now_ms: TimestampMs,
) -> Result<(), StoreError> {
    tx.delete(&SENDER_DOMAINS, &(team, name_hash(&row.name)))?;
    tx.delete_listed(&DOMAINS, &(team, id), now_ms)?;
    Ok(())
}
