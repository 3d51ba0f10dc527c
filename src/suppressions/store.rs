//! The rows of the suppression list, their two indexes, and the reads that a send makes.

use serde::{Deserialize, Serialize};

use super::model::{Origin, SendKind, Suppression, SuppressionCause};
use crate::base::address::EmailAddress;
use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, SuppressionId, TeamId};
use crate::context::Context;
use crate::events::{self, AudienceEvent, AudienceKind, AudienceSubject, ChangeSource, ERASED, SuppressionSnapshot};
use crate::store::page::{Page, PageError, PageQuery, page_under};
use crate::store::{Reads, Row, StoreError, WriteTx};
use crate::tables::{AddressHash, SUPPRESSION_ADDRESSES, SUPPRESSION_ORIGINS, SUPPRESSIONS, SuppressionIdRow};

/// In the place of an origin's number in the index of entries: all of them. It can never change.
const ANY_ORIGIN: u8 = u8::MAX;

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
    /// When its owner opted out; none while they have not. It stands beside whatever else lists the
    /// address, and outlives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opted_out_ms: Option<TimestampMs>,
}
impl Row for SuppressionRow {}

impl SuppressionRow {
    /// Shows the row.
    pub(super) fn view(self, id: SuppressionId) -> Suppression {
        let Self { email, hash: _, origin, source, created_ms, opted_out_ms: _ } = self;
        Suppression { id, email, origin, email_id: source, created_ms }
    }

    /// Returns whether its owner opted out, whatever else lists the address.
    pub(super) fn is_opted_out(&self) -> bool {
        self.origin == Origin::Unsubscribe || self.opted_out_ms.is_some()
    }
}

/// What listing an address came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It was not listed.
    New(SuppressionId),
    /// It was listed by an opt-out, and is blocked in every send from here on.
    Raised(SuppressionId),
    /// It was listed for a reason that stays, and its owner's opt-out is kept with it from here on.
    OptedOut(SuppressionId),
    /// It was listed, and nothing is other than before.
    Listed(SuppressionId),
}

impl Added {
    /// Returns the entry of the address.
    pub const fn id(self) -> SuppressionId {
        match self {
            Self::New(id) | Self::Raised(id) | Self::OptedOut(id) | Self::Listed(id) => id,
        }
    }
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

/// Returns whether the owner of the address opted out, whatever else lists it.
///
/// # Errors
/// [`StoreError`].
pub fn is_opted_out(tx: &impl Reads, team: TeamId, address: &AddressHash) -> Result<bool, StoreError> {
    Ok(find_by_address(tx, team, address)?.is_some_and(|(_, row)| row.is_opted_out()))
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
/// are left out. Whatever the list is narrowed to, a page reads the entries that it shows alone.
///
/// # Errors
/// [`PageError`].
pub(super) fn list(
    tx: &impl Reads,
    team: TeamId,
    origin: Option<Origin>,
    query: PageQuery<SuppressionId>,
) -> Result<Page<Suppression>, PageError> {
    let number = origin.map_or(ANY_ORIGIN, Origin::number);
    page_under(tx, &SUPPRESSION_ORIGINS, team, number, query, |id, _| Ok(find(tx, team, id)?.map(|row| row.view(id))))
}

/// Lists an address. One that is listed already keeps its row, whose origin is raised when it is
/// `unsubscribe` and this one blocks more; an opt-out is kept with a row of any origin. Only a row
/// that was not there is told.
///
/// # Errors
/// [`StoreError`].
pub fn add(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    address: &EmailAddress,
    cause: SuppressionCause,
) -> Result<Added, StoreError> {
    let hash = address.identity_hash();
    if let Some((id, row)) = find_by_address(tx, team, &hash)? {
        return match cause.origin {
            Origin::Unsubscribe => note_opt_out(tx, context, team, id, row),
            Origin::Bounce | Origin::Complaint | Origin::Manual => raise(tx, team, id, row, cause),
        };
    }
    let SuppressionCause { origin, email, source } = cause;
    let id = context.id();
    let created_ms = context.now_ms();
    let opted_out_ms = (origin == Origin::Unsubscribe).then_some(created_ms);
    let row = SuppressionRow { email: Some(address.identity()), hash, origin, source: email, created_ms, opted_out_ms };
    put(tx, team, id, &row)?;
    tx.put(&SUPPRESSION_ADDRESSES, &(team, hash), &SuppressionIdRow { id })?;
    record(tx, context, team, AudienceKind::SuppressionAdded, id, &row, source)?;
    Ok(Added::New(id))
}

/// Keeps an opt-out with the entry that is there. The first one counts; a repeat does not move it.
fn note_opt_out(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    id: SuppressionId,
    row: SuppressionRow,
) -> Result<Added, StoreError> {
    if row.is_opted_out() {
        return Ok(Added::Listed(id));
    }
    put(tx, team, id, &SuppressionRow { opted_out_ms: Some(context.now_ms()), ..row })?;
    Ok(Added::OptedOut(id))
}

/// Raises an entry of origin `unsubscribe` to an origin that always blocks. The opt-out stays said.
fn raise(
    tx: &WriteTx<'_>,
    team: TeamId,
    id: SuppressionId,
    row: SuppressionRow,
    cause: SuppressionCause,
) -> Result<Added, StoreError> {
    if row.origin != Origin::Unsubscribe {
        return Ok(Added::Listed(id));
    }
    let opted_out_ms = row.opted_out_ms.or(Some(row.created_ms));
    unlist(tx, team, id, &row)?;
    put(tx, team, id, &SuppressionRow { origin: cause.origin, source: cause.email, opted_out_ms, ..row })?;
    Ok(Added::Raised(id))
}

/// Takes back an opt-out by its owner's word: an entry of that origin goes, another one stays
/// without it. Returns whether there was one.
///
/// # Errors
/// [`StoreError`].
pub(super) fn lift(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    id: SuppressionId,
    row: SuppressionRow,
    source: ChangeSource,
) -> Result<bool, StoreError> {
    if row.origin == Origin::Unsubscribe {
        remove_row(tx, context, team, id, &row, source)?;
        return Ok(true);
    }
    let is_opted_out = row.is_opted_out();
    if is_opted_out {
        put(tx, team, id, &SuppressionRow { opted_out_ms: None, ..row })?;
    }
    Ok(is_opted_out)
}

/// Removes what the team listed: an entry whose owner opted out stays as one of origin
/// `unsubscribe`, which is the owner's word and not the team's. Removing that one takes it too.
///
/// # Errors
/// [`StoreError`].
pub(super) fn remove(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    id: SuppressionId,
    row: SuppressionRow,
    source: ChangeSource,
) -> Result<(), StoreError> {
    if row.origin == Origin::Unsubscribe || !row.is_opted_out() {
        return remove_row(tx, context, team, id, &row, source);
    }
    unlist(tx, team, id, &row)?;
    put(tx, team, id, &SuppressionRow { origin: Origin::Unsubscribe, source: None, ..row })
}

/// Removes an entry that the caller has found.
fn remove_row(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    id: SuppressionId,
    row: &SuppressionRow,
    source: ChangeSource,
) -> Result<(), StoreError> {
    tx.delete(&SUPPRESSIONS, &(team, id))?;
    tx.delete(&SUPPRESSION_ADDRESSES, &(team, row.hash))?;
    unlist(tx, team, id, row)?;
    record(tx, context, team, AudienceKind::SuppressionRemoved, id, row, Some(source))
}

/// Which entries an erasure takes the address out of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EraseSelector {
    /// Those that were made up to this one.
    Until(SuppressionId),
    /// Those that an email up to this one brought, whenever they were made.
    CausedUpTo(EmailId),
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
    which: EraseSelector,
) -> Result<Option<SuppressionId>, StoreError> {
    let Some((id, row)) = find_listed(tx, team, address)? else { return Ok(None) };
    let is_meant = match which {
        EraseSelector::Until(until) => id <= until,
        EraseSelector::CausedUpTo(email) => row.source.is_some_and(|source| source <= email),
    };
    if !is_meant {
        return Ok(None);
    }
    unlist(tx, team, id, &row)?;
    tx.put(&SUPPRESSIONS, &(team, id), &SuppressionRow { email: None, ..row })?;
    Ok(Some(id))
}

/// Writes a row, and what it is listed by unless its address has been erased.
fn put(tx: &WriteTx<'_>, team: TeamId, id: SuppressionId, row: &SuppressionRow) -> Result<(), StoreError> {
    tx.put(&SUPPRESSIONS, &(team, id), row)?;
    if row.email.is_some() {
        tx.put(&SUPPRESSION_ORIGINS, &(team, row.origin.number(), id), &())?;
        tx.put(&SUPPRESSION_ORIGINS, &(team, ANY_ORIGIN, id), &())?;
    }
    Ok(())
}

/// Takes a row off the lists.
fn unlist(tx: &WriteTx<'_>, team: TeamId, id: SuppressionId, row: &SuppressionRow) -> Result<(), StoreError> {
    tx.delete(&SUPPRESSION_ORIGINS, &(team, row.origin.number(), id))?;
    tx.delete(&SUPPRESSION_ORIGINS, &(team, ANY_ORIGIN, id))?;
    Ok(())
}

fn record(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    kind: AudienceKind,
    id: SuppressionId,
    row: &SuppressionRow,
    by: Option<ChangeSource>,
) -> Result<(), StoreError> {
    let entry = SuppressionSnapshot {
        id,
        email: row.email.clone().unwrap_or_else(|| ERASED.to_owned()),
        origin: row.origin.as_str().to_owned(),
        source: row.origin.source(by),
        created_ms: row.created_ms,
    };
    let event = AudienceEvent { kind, at_ms: context.now_ms(), subject: AudienceSubject::Suppression(entry) };
    events::record_audience(tx, context, team, &event)
}
