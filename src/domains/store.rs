//! The rows of domains, and the read that every send makes.

use serde::{Deserialize, Serialize};

use super::model::{DomainStatus, RecordKind, RecordState};
use crate::base::clock::TimestampMs;
use crate::base::id::{DomainId, TeamId};
use crate::store::{NEXT, NameHash, Order, Reads, Row, STOP, StoreError, WriteTx, name_hash};
use crate::tables::{DOMAINS, SENDER_DOMAINS};

/// Domains after which counting ends.
const COUNTED_MAX: usize = 10_000;

/// A domain on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DomainRow {
    /// The name, an A-label in lower case.
    pub name: String,
    /// The region it was added under.
    pub region: String,
    /// Whether it may be sent from.
    pub status: DomainStatus,
    /// The label of the return path.
    pub return_path: String,
    /// Whether opens are recorded.
    pub open_tracking: bool,
    /// Whether clicks are recorded.
    pub click_tracking: bool,
    /// The label of the tracking host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracking_subdomain: Option<String>,
    /// The RSA-2048 key.
    pub rsa: DkimKeyRow,
    /// The Ed25519 key, which signs once its record is found.
    pub ed25519: DkimKeyRow,
    /// What the last check saw.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<RecordState>,
    /// When the records were last looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked_ms: Option<TimestampMs>,
    /// Since when a required record is being sought: verification was asked for, or one was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_since_ms: Option<TimestampMs>,
    /// Whether its records count as found without a look, as `ringmail dev --domain` declares.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub assumed: bool,
    /// When it was added.
    pub created_ms: TimestampMs,
}
impl Row for DomainRow {}

/// A DKIM key on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DkimKeyRow {
    /// The selector, random, so that two teams never share one.
    pub selector: String,
    /// The value of its TXT record.
    pub record: String,
    /// The private key (PKCS #8), sealed under `domains/<id>/<selector>`.
    #[serde(with = "serde_bytes")]
    pub sealed: Vec<u8>,
}

impl DomainRow {
    /// Returns whether the Ed25519 key's record has been found, so that it may sign.
    pub fn ed25519_published(&self) -> bool {
        self.records.iter().any(|record| record.kind == RecordKind::DkimEd25519 && record.status.counts_as_found())
    }

    /// Returns the host that bounces of its mail return to.
    pub fn return_path_host(&self) -> String {
        format!("{}.{}", self.return_path, self.name)
    }
}

/// What a send needs of its sender's domain, on disk under the hash of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SenderDomainRow {
    /// The domain's id.
    pub id: DomainId,
    /// Whether it may be sent from.
    pub verified: bool,
    /// Whether links or opens are tracked, so that each recipient gets a message of their own.
    pub tracked: bool,
    /// Whether the Ed25519 key signs beside the RSA key.
    #[serde(default)]
    pub ed25519: bool,
}
impl Row for SenderDomainRow {}

/// Returns the team's domain of that name (an A-label in lower case), as a send needs it.
///
/// # Errors
/// [`StoreError`].
pub fn find_sender(tx: &impl Reads, team: TeamId, name: &str) -> Result<Option<SenderDomainRow>, StoreError> {
    find_sender_hashed(tx, team, &name_hash(name))
}

/// As [`find_sender`], by the hash of the name.
///
/// # Errors
/// [`StoreError`].
pub fn find_sender_hashed(
    tx: &impl Reads,
    team: TeamId,
    name: &NameHash,
) -> Result<Option<SenderDomainRow>, StoreError> {
    tx.get(&SENDER_DOMAINS, &(team, *name))
}

/// Returns the team's domain of that id.
///
/// # Errors
/// [`StoreError`].
pub fn find(tx: &impl Reads, team: TeamId, id: DomainId) -> Result<Option<DomainRow>, StoreError> {
    tx.get(&DOMAINS, &(team, id))
}

/// Returns whether the team has a domain of that id.
///
/// # Errors
/// [`StoreError`].
pub fn exists(tx: &impl Reads, team: TeamId, id: DomainId) -> Result<bool, StoreError> {
    tx.contains(&DOMAINS, &(team, id))
}

/// Returns how many domains the team has, counted up to 10,000.
///
/// # Errors
/// [`StoreError`].
pub fn count(tx: &impl Reads, team: TeamId) -> Result<usize, StoreError> {
    let mut domains = 0;
    // The index has a row for each domain, and none of its keys.
    tx.scan(&SENDER_DOMAINS, &(team, [0; 32]), &(team, [u8::MAX; 32]), Order::Ascending, |_, _| {
        domains += 1;
        if domains == COUNTED_MAX { STOP } else { NEXT }
    })?;
    Ok(domains)
}

/// Writes a domain and what a send needs of it.
///
/// # Errors
/// [`StoreError`].
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

/// Removes a domain and its index.
///
/// # Errors
/// [`StoreError`].
pub(super) fn remove(tx: &WriteTx<'_>, team: TeamId, id: DomainId, row: &DomainRow) -> Result<(), StoreError> {
    tx.delete(&SENDER_DOMAINS, &(team, name_hash(&row.name)))?;
    tx.delete(&DOMAINS, &(team, id))?;
    Ok(())
}
