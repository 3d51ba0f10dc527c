//! Rows of domains, and the index that every send reads.

use serde::{Deserialize, Serialize};

use super::model::{DomainStatus, RecordKind, RecordState};
use super::refusal::DomainRefusal;
use crate::base::clock::TimestampMs;
use crate::base::id::{DomainId, TeamId};
use crate::store::{KeyOf, NEXT, NameHash, Order, Reads, Row, STOP, StoreError, WriteTx, name_hash};
use crate::tables::{DOMAINS, SENDER_DOMAINS, TRACKING_HOSTS};

/// Number of domains at which [`count`] and [`regions`] stop.
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
    /// Last refusal of its mail because a server could not authenticate the sender. At most one a day is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<DomainRefusal>,
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

    /// Returns the tracking host whose record was looked up and found; `None` if the domain is not verified. The record of
    /// an unverified domain proves nothing: its name can be one of the operator, which also points here. No record of an
    /// assumed domain was looked up, so that its tracking host may not exist.
    pub fn tracking_host(&self) -> Option<String> {
        let is_found =
            self.records.iter().any(|record| record.kind == RecordKind::Tracking && record.status.counts_as_found());
        let is_proved = is_found && self.status == DomainStatus::Verified && !self.assumed;
        self.labelled_host().filter(|_| is_proved)
    }

    /// Returns the host of the tracking label, whether or not its record is published.
    fn labelled_host(&self) -> Option<String> {
        self.tracking_subdomain.as_ref().map(|label| format!("{label}.{}", self.name))
    }

    /// Returns the tracking of the emails of the domain.
    pub(super) fn tracking(&self) -> SenderTracking {
        SenderTracking { opens: self.open_tracking, clicks: self.click_tracking, host: self.tracking_host() }
    }
}

/// Row of [`TRACKING_HOSTS`]: the team of the domain.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct TrackingHostRow {
    pub team: TeamId,
}
impl Row for TrackingHostRow {}

/// Tracking of the emails of a domain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SenderTracking {
    /// Whether HTML gets a tracking pixel.
    pub opens: bool,
    /// Whether links are rewritten.
    pub clicks: bool,
    /// Host of the links, if the last check found its record. Otherwise the links have the public address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl SenderTracking {
    /// Returns whether opens or clicks are tracked.
    pub fn is_on(&self) -> bool {
        self.opens || self.clicks
    }
}

/// The fields of a domain that a send needs, stored under the hash of the name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SenderDomainRow {
    pub id: DomainId,
    pub verified: bool,
    /// Whether opens or clicks are tracked. Each recipient then gets a separate message.
    pub tracked: bool,
    /// Whether the Ed25519 key signs in addition to the RSA key.
    #[serde(default)]
    pub ed25519: bool,
    #[serde(default)]
    pub tracking: SenderTracking,
}
impl Row for SenderDomainRow {}

/// Returns the fields for a send of the team's domain with this name (lower-case A-labels).
pub fn find_sender(tx: &impl Reads, team: TeamId, name: &str) -> Result<Option<SenderDomainRow>, StoreError> {
    find_sender_hashed(tx, team, &name_hash(name))
}

/// Returns the same as [`find_sender`], by the hash of the name.
pub fn find_sender_hashed(
    tx: &impl Reads,
    team: TeamId,
    name: &NameHash,
) -> Result<Option<SenderDomainRow>, StoreError> {
    tx.get(&SENDER_DOMAINS, &(team, *name))
}

/// Returns the team's domain with this id.
pub fn find(tx: &impl Reads, team: TeamId, id: DomainId) -> Result<Option<DomainRow>, StoreError> {
    tx.get(&DOMAINS, &(team, id))
}

/// Does the same as [`find`]. A corrupt domain is logged, and returned as `None`.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub fn find_valid(tx: &impl Reads, team: TeamId, id: DomainId) -> Result<Option<DomainRow>, StoreError> {
    tx.get_valid(&DOMAINS, &(team, id))
}

/// Returns whether the team has a domain with this id.
pub fn exists(tx: &impl Reads, team: TeamId, id: DomainId) -> Result<bool, StoreError> {
    tx.contains(&DOMAINS, &(team, id))
}

/// Returns the number of the team's domains, at most 10,000. Scans one small row for each domain.
pub fn count(tx: &impl Reads, team: TeamId) -> Result<usize, StoreError> {
    let mut domains = 0;
    // The rows of the index are much smaller than those of the domains, which contain the keys.
    tx.scan(&SENDER_DOMAINS, &(team, [0; 32]), &(team, [u8::MAX; 32]), Order::Ascending, |_, _| {
        domains += 1;
        if domains == COUNTED_MAX { STOP } else { NEXT }
    })?;
    Ok(domains)
}

/// Returns the team's domains with their regions, at most 10,000.
pub fn regions(tx: &impl Reads, team: TeamId) -> Result<Vec<(DomainId, String)>, StoreError> {
    let mut regions = Vec::new();
    tx.scan_valid(&DOMAINS, &(team, DomainId::MIN), &(team, DomainId::MAX), Order::Ascending, |(_, id), row| {
        regions.push((id, row.region));
        if regions.len() == COUNTED_MAX { STOP } else { NEXT }
    })?;
    Ok(regions)
}

/// Writes a domain and its index rows.
pub(super) fn put(tx: &WriteTx<'_>, team: TeamId, id: DomainId, row: &DomainRow) -> Result<(), StoreError> {
    let tracking = row.tracking();
    let sender = SenderDomainRow {
        id,
        verified: row.status == DomainStatus::Verified,
        tracked: tracking.is_on(),
        ed25519: row.ed25519_published(),
        tracking,
    };
    let host = row.tracking_host();
    let earlier_host = find(tx, team, id)?.and_then(|earlier| earlier.labelled_host());
    if earlier_host != host {
        delete_tracking_host(tx, id, earlier_host)?;
    }
    if let Some(host) = host {
        tx.put(&TRACKING_HOSTS, &(name_hash(&host), id), &TrackingHostRow { team })?;
    }
    tx.put(&DOMAINS, &(team, id), row)?;
    tx.put(&SENDER_DOMAINS, &(team, name_hash(&row.name)), &sender)
}

fn delete_tracking_host(tx: &WriteTx<'_>, id: DomainId, host: Option<String>) -> Result<(), StoreError> {
    if let Some(host) = host {
        tx.delete(&TRACKING_HOSTS, &(name_hash(&host), id))?;
    }
    Ok(())
}

/// Returns whether a host (lower-case A-labels) is the tracking host of a domain of any team.
pub fn is_tracking_host(tx: &impl Reads, host: &str) -> Result<bool, StoreError> {
    Ok(tx.first_key(&TRACKING_HOSTS, KeyOf::bounds(name_hash(host)), Order::Ascending)?.is_some())
}

/// Deletes the tracking hosts of up to `domains_max` domains of a removed team, and these domains; returns the number of
/// domains.
pub fn delete_page_of_team(tx: &WriteTx<'_>, team: TeamId, domains_max: usize) -> Result<usize, StoreError> {
    let mut page: Vec<(DomainId, DomainRow)> = Vec::new();
    tx.scan_valid(&DOMAINS, &(team, DomainId::MIN), &(team, DomainId::MAX), Order::Ascending, |(_, id), row| {
        page.push((id, row));
        if page.len() < domains_max { NEXT } else { STOP }
    })?;
    for (id, row) in &page {
        delete_tracking_host(tx, *id, row.labelled_host())?;
        tx.delete(&SENDER_DOMAINS, &(team, name_hash(&row.name)))?;
        tx.delete(&DOMAINS, &(team, *id))?;
    }
    Ok(page.len())
}

/// Deletes a domain and its index rows.
pub(super) fn remove(
    tx: &WriteTx<'_>,
    team: TeamId,
    id: DomainId,
    row: &DomainRow,
    now_ms: TimestampMs,
) -> Result<(), StoreError> {
    delete_tracking_host(tx, id, row.labelled_host())?;
    tx.delete(&SENDER_DOMAINS, &(team, name_hash(&row.name)))?;
    tx.delete_listed(&DOMAINS, &(team, id), now_ms)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domains::model::{RecordState, RecordStatus};
    use crate::domains::testing::{context, row};

    /// Returns a verified row with a tracking label whose record has this status.
    fn tracking_row(name: &str, status: RecordStatus) -> DomainRow {
        let records = vec![RecordState::unchecked(RecordKind::Tracking, status)];
        let tracking_subdomain = Some("links".to_owned());
        DomainRow { status: DomainStatus::Verified, tracking_subdomain, click_tracking: true, records, ..row(name) }
    }

    #[tokio::test]
    async fn a_host_is_a_tracking_host_while_its_domain_is_verified_and_its_record_is_found() {
        let (_directory, context) = context();
        let (team, id, other) = (TeamId::MIN, context.id(), context.id());
        let write = async |id: DomainId, row: DomainRow| {
            context.commit(move |tx| put(tx, team, id, &row)).await;
        };
        let is_found = || context.read(|tx| is_tracking_host(tx, "links.shop.example"));

        for (status, expected) in [
            (RecordStatus::NotStarted, false),
            (RecordStatus::Verified, true),
            (RecordStatus::TemporaryFailure, true),
            (RecordStatus::Failed, false),
        ] {
            write(id, tracking_row("shop.example", status)).await;
            assert_eq!(is_found(), expected, "{status:?}");
        }

        for (status, expected) in [
            (DomainStatus::Verified, true),
            (DomainStatus::Pending, false),
            (DomainStatus::NotStarted, false),
            (DomainStatus::Verified, true),
            (DomainStatus::Failed, false),
        ] {
            write(id, DomainRow { status, ..tracking_row("shop.example", RecordStatus::Verified) }).await;
            assert_eq!(is_found(), expected, "{status:?}");
        }

        write(id, tracking_row("shop.example", RecordStatus::Verified)).await;
        assert!(is_found());
        write(id, DomainRow { assumed: true, ..tracking_row("shop.example", RecordStatus::Verified) }).await;
        assert!(!is_found(), "no record of an assumed domain was looked up");

        write(id, tracking_row("shop.example", RecordStatus::Verified)).await;
        write(other, tracking_row("shop.example", RecordStatus::Verified)).await;
        let removed = tracking_row("shop.example", RecordStatus::Verified);
        context.commit(move |tx| remove(tx, team, id, &removed, 0)).await;
        assert!(is_found());
        assert_eq!(context.commit(move |tx| delete_page_of_team(tx, team, 10)).await, 1);
        assert!(!is_found());
        assert_eq!(context.commit(move |tx| delete_page_of_team(tx, team, 10)).await, 0);
    }

    #[test]
    fn links_have_the_tracking_host_only_if_its_record_was_looked_up() {
        let host = |row: DomainRow| row.tracking().host;
        let found = || tracking_row("shop.example", RecordStatus::Verified);

        assert_eq!(host(found()).as_deref(), Some("links.shop.example"));
        assert_eq!(host(DomainRow { assumed: true, ..found() }), None);
        assert_eq!(host(DomainRow { tracking_subdomain: None, ..found() }), None);
        assert_eq!(host(tracking_row("shop.example", RecordStatus::Pending)), None);
    }
}
