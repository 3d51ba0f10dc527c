//! The rows of the suppression list, their two indexes, and the reads that a send makes.

use serde::{Deserialize, Serialize};

use super::model::{Cause, Origin, SendKind, Suppression};
use crate::address::EmailAddress;
use crate::clock::TimestampMs;
use crate::context::Context;
use crate::events::{self, AudienceEvent, AudienceKind, AudienceSubject, ERASED, Source, SuppressionSnapshot};
use crate::id::{EmailId, SuppressionId, TeamId};
use crate::store::page::{Page, PageError, PageQuery, page, page_under};
use crate::store::tables::{AddressHash, SUPPRESSION_ADDRESSES, SUPPRESSION_ORIGINS, SUPPRESSIONS, SuppressionIdRow};
use crate::store::{Reads, Row, StoreError, WriteTx};

/// An entry on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SuppressionRow {
    /// The address; gone after an erasure, when only its hash goes on blocking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// The hash it is found by.
    #[serde(with = "serde_bytes")]
    pub hash: AddressHash,
    /// Why it is listed.
    pub origin: Origin,
    /// The email that brought it here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<EmailId>,
    /// When it was listed.
    pub created_ms: TimestampMs,
}
impl Row for SuppressionRow {}

impl SuppressionRow {
    /// Shows the row.
    pub(super) fn view(self, id: SuppressionId) -> Suppression {
        let Self { email, hash: _, origin, source, created_ms } = self;
        Suppression { id, email, origin, email_id: source, created_ms }
    }
}

/// What listing an address came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It was not listed.
    New(SuppressionId),
    /// It was listed by an opt-out, and is blocked in every send from here on.
    Raised(SuppressionId),
    /// It was listed, for a reason that stays.
    Listed(SuppressionId),
}

impl Added {
    /// Returns the entry of the address.
    pub const fn id(self) -> SuppressionId {
        match self {
            Self::New(id) | Self::Raised(id) | Self::Listed(id) => id,
        }
    }
}

/// Returns the hash an address is found by: SHA-256 of its lower-cased whole.
pub fn hash(address: &EmailAddress) -> AddressHash {
    address.identity_hash()
}

/// Returns whether the team may not write to the address in a send of that kind.
///
/// # Errors
/// [`StoreError`].
pub fn blocks(tx: &impl Reads, team: TeamId, address: &AddressHash, kind: SendKind) -> Result<bool, StoreError> {
    Ok(origin(tx, team, address)?.is_some_and(|origin| origin.blocks(kind)))
}

/// Returns why the team does not write to the address; `None` when it is not listed.
///
/// # Errors
/// [`StoreError`].
pub fn origin(tx: &impl Reads, team: TeamId, address: &AddressHash) -> Result<Option<Origin>, StoreError> {
    Ok(find_by_address(tx, team, address)?.map(|(_, row)| row.origin))
}

/// Returns the entry of that id, of an erased address too.
///
/// # Errors
/// [`StoreError`].
pub(super) fn find(tx: &impl Reads, team: TeamId, id: SuppressionId) -> Result<Option<SuppressionRow>, StoreError> {
    tx.get(&SUPPRESSIONS, &(team, id))
}

/// Returns the entry of that address, of an erased one too: what blocks.
///
/// # Errors
/// [`StoreError`].
pub(super) fn find_by_address(
    tx: &impl Reads,
    team: TeamId,
    address: &AddressHash,
) -> Result<Option<(SuppressionId, SuppressionRow)>, StoreError> {
    let Some(index) = tx.get(&SUPPRESSION_ADDRESSES, &(team, *address))? else { return Ok(None) };
    Ok(find(tx, team, index.id)?.map(|row| (index.id, row)))
}

/// Returns the entry that a caller finds by that address: none for an erased one.
///
/// # Errors
/// [`StoreError`].
pub(super) fn find_listed(
    tx: &impl Reads,
    team: TeamId,
    address: &AddressHash,
) -> Result<Option<(SuppressionId, SuppressionRow)>, StoreError> {
    Ok(find_by_address(tx, team, address)?.filter(|(_, row)| row.email.is_some()))
}

/// Returns a page of the list, newest first, of one origin where one is asked for. Erased addresses
/// are left out. A page of one origin reads that origin's entries alone.
///
/// # Errors
/// [`PageError`].
pub(super) fn list(
    tx: &impl Reads,
    team: TeamId,
    origin: Option<Origin>,
    query: PageQuery<SuppressionId>,
) -> Result<Page<Suppression>, PageError> {
    let shown = |id, row: SuppressionRow| row.email.is_some().then(|| row.view(id));
    match origin {
        None => page(tx, &SUPPRESSIONS, team, query, |id, row| Ok(shown(id, row.decode()?))),
        Some(origin) => page_under(tx, &SUPPRESSION_ORIGINS, team, origin.number(), query, |id, _| {
            Ok(find(tx, team, id)?.and_then(|row| shown(id, row)))
        }),
    }
}

/// Lists an address. One that is listed already keeps its row, whose origin is raised when it is
/// `unsubscribe` and this one blocks more.
///
/// # Errors
/// [`StoreError`].
pub fn add(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    address: &EmailAddress,
    cause: Cause,
) -> Result<Added, StoreError> {
    let hash = hash(address);
    if let Some((id, row)) = find_by_address(tx, team, &hash)? {
        return raise(tx, team, id, row, cause);
    }
    let Cause { origin, email, source } = cause;
    let id = context.id();
    let row =
        SuppressionRow { email: Some(address.identity()), hash, origin, source: email, created_ms: context.now_ms() };
    put(tx, team, id, &row)?;
    tx.put(&SUPPRESSION_ADDRESSES, &(team, hash), &SuppressionIdRow { id })?;
    record(tx, context, team, AudienceKind::SuppressionAdded, id, &row, source)?;
    Ok(Added::New(id))
}

/// Raises an entry of origin `unsubscribe` to an origin that always blocks.
fn raise(
    tx: &WriteTx<'_>,
    team: TeamId,
    id: SuppressionId,
    row: SuppressionRow,
    cause: Cause,
) -> Result<Added, StoreError> {
    if row.origin != Origin::Unsubscribe || cause.origin == Origin::Unsubscribe {
        return Ok(Added::Listed(id));
    }
    tx.delete(&SUPPRESSION_ORIGINS, &(team, row.origin.number(), id))?;
    put(tx, team, id, &SuppressionRow { origin: cause.origin, source: cause.email, ..row })?;
    Ok(Added::Raised(id))
}

/// Removes an entry that the caller has found.
///
/// # Errors
/// [`StoreError`].
pub(super) fn remove(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    id: SuppressionId,
    row: &SuppressionRow,
    source: Source,
) -> Result<(), StoreError> {
    tx.delete(&SUPPRESSIONS, &(team, id))?;
    tx.delete(&SUPPRESSION_ADDRESSES, &(team, row.hash))?;
    tx.delete(&SUPPRESSION_ORIGINS, &(team, row.origin.number(), id))?;
    record(tx, context, team, AudienceKind::SuppressionRemoved, id, row, Some(source))
}

/// Which entries an erasure takes the address out of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Erased<'a> {
    /// Those that were made up to this one.
    Until(SuppressionId),
    /// Those that one of these emails brought.
    BroughtBy(&'a [EmailId]),
}

/// Takes the address out of its entry, whose hash goes on blocking. Returns the entry when there was
/// anything to take.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn erase(
    tx: &WriteTx<'_>,
    team: TeamId,
    address: &AddressHash,
    which: Erased<'_>,
) -> Result<Option<SuppressionId>, StoreError> {
    let Some((id, row)) = find_listed(tx, team, address)? else { return Ok(None) };
    let is_meant = match which {
        Erased::Until(until) => id <= until,
        Erased::BroughtBy(emails) => row.source.is_some_and(|source| emails.contains(&source)),
    };
    if !is_meant {
        return Ok(None);
    }
    tx.delete(&SUPPRESSION_ORIGINS, &(team, row.origin.number(), id))?;
    tx.put(&SUPPRESSIONS, &(team, id), &SuppressionRow { email: None, ..row })?;
    Ok(Some(id))
}

/// Writes a row, and what it is listed by unless its address has been erased.
fn put(tx: &WriteTx<'_>, team: TeamId, id: SuppressionId, row: &SuppressionRow) -> Result<(), StoreError> {
    tx.put(&SUPPRESSIONS, &(team, id), row)?;
    if row.email.is_some() {
        tx.put(&SUPPRESSION_ORIGINS, &(team, row.origin.number(), id), &())?;
    }
    Ok(())
}

fn record(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    kind: AudienceKind,
    id: SuppressionId,
    row: &SuppressionRow,
    by: Option<Source>,
) -> Result<(), StoreError> {
    let entry = SuppressionSnapshot {
        id,
        email: row.email.clone().unwrap_or_else(|| ERASED.to_owned()),
        origin: row.origin.as_str().to_owned(),
        source: row.origin.source(by),
        created_ms: row.created_ms,
    };
    let event = AudienceEvent { kind, at_ms: context.now_ms(), subject: AudienceSubject::Suppression(entry) };
    events::record_audience(tx, context.id(), team, &event)
}
