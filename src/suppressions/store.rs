//! The rows of the suppression list, their two indexes, and the checks of a send.

use serde::{Deserialize, Serialize};

use super::model::{SendKind, Suppression, SuppressionCause, SuppressionOrigin};
use crate::base::address::{ERASED, EmailAddress};
use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, ErasureId, SuppressionId, TeamId};
use crate::context::Context;
use crate::events::{
    self, AudienceEvent, AudienceKind, AudienceSubject, ChangeSource, EventIdentity, SuppressionSnapshot,
};
use crate::store::page::{Page, PageError, PageQuery, page_under};
use crate::store::{Reads, Row, StoreError, WriteTx};
use crate::tables::{AddressHash, SUPPRESSION_ADDRESSES, SUPPRESSION_ORIGINS, SUPPRESSIONS, SuppressionIdRow};

/// Number in index keys that stands for every origin. It can never change.
const ANY_ORIGIN: u8 = u8::MAX;

/// An entry on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SuppressionRow {
    /// The address; `None` after an erasure. The hash still blocks sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Hash of the address, the key of the index by address.
    #[serde(with = "serde_bytes")]
    pub hash: AddressHash,
    pub origin: SuppressionOrigin,
    /// The email that bounced or that the recipient reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<EmailId>,
    /// Time of creation.
    pub created_ms: TimestampMs,
    /// Time of the opt-out; `None` if the recipient has not opted out. It is independent of the origin,
    /// and remains if the team removes the entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opted_out_ms: Option<TimestampMs>,
}
impl Row for SuppressionRow {}

impl SuppressionRow {
    /// Converts the row to an entry.
    pub(super) fn view(self, id: SuppressionId) -> Suppression {
        let Self { email, hash: _, origin, source, created_ms, opted_out_ms: _ } = self;
        Suppression { id, email, origin, email_id: source, created_ms }
    }

    /// Returns whether the recipient opted out, for any origin.
    pub(super) fn is_opted_out(&self) -> bool {
        self.origin == SuppressionOrigin::Unsubscribe || self.opted_out_ms.is_some()
    }
}

/// Result of adding an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddResult {
    /// The address was not listed.
    New(SuppressionId),
    /// The entry was an opt-out, and blocks every send from now on.
    Raised(SuppressionId),
    /// The entry keeps its origin, and has the opt-out from now on.
    OptedOut(SuppressionId),
    /// The address was listed, and the entry is unchanged.
    Listed(SuppressionId),
}

impl AddResult {
    /// Returns the id of the entry.
    pub const fn id(self) -> SuppressionId {
        match self {
            Self::New(id) | Self::Raised(id) | Self::OptedOut(id) | Self::Listed(id) => id,
        }
    }
}

/// Returns whether the list blocks the address in a send of that kind.
pub fn blocks(tx: &impl Reads, team: TeamId, address: &AddressHash, kind: SendKind) -> Result<bool, StoreError> {
    Ok(blocking_origin(tx, team, address, kind)?.is_some())
}

/// Returns the origin of the entry that blocks the address in a send of that kind; `None` if no entry does.
pub fn blocking_origin(
    tx: &impl Reads,
    team: TeamId,
    address: &AddressHash,
    kind: SendKind,
) -> Result<Option<SuppressionOrigin>, StoreError> {
    Ok(origin(tx, team, address)?.filter(|origin| origin.blocks(kind)))
}

/// Returns the origin of the entry of an address; `None` if the address is not listed.
pub fn origin(tx: &impl Reads, team: TeamId, address: &AddressHash) -> Result<Option<SuppressionOrigin>, StoreError> {
    Ok(find_by_address(tx, team, address)?.map(|(_, row)| row.origin))
}

/// Returns whether the recipient opted out, for any origin of the entry.
pub fn is_opted_out(tx: &impl Reads, team: TeamId, address: &AddressHash) -> Result<bool, StoreError> {
    Ok(find_by_address(tx, team, address)?.is_some_and(|(_, row)| row.is_opted_out()))
}

/// Returns the entry of that id, also if its address was erased.
pub(super) fn find(tx: &impl Reads, team: TeamId, id: SuppressionId) -> Result<Option<SuppressionRow>, StoreError> {
    tx.get(&SUPPRESSIONS, &(team, id))
}

/// Returns the entry of that address, also if the address was erased: the entry still blocks sends.
pub(super) fn find_by_address(
    tx: &impl Reads,
    team: TeamId,
    address: &AddressHash,
) -> Result<Option<(SuppressionId, SuppressionRow)>, StoreError> {
    let Some(index) = tx.get(&SUPPRESSION_ADDRESSES, &(team, *address))? else { return Ok(None) };
    Ok(find(tx, team, index.id)?.map(|row| (index.id, row)))
}

/// Returns the entry of that address for a caller; `None` if the address was erased.
pub(super) fn find_listed(
    tx: &impl Reads,
    team: TeamId,
    address: &AddressHash,
) -> Result<Option<(SuppressionId, SuppressionRow)>, StoreError> {
    Ok(find_by_address(tx, team, address)?.filter(|(_, row)| row.email.is_some()))
}

/// Returns a page of the list, newest first; of one origin, if given. Omits erased addresses. The cost is
/// that of the entries on the page, for any origin.
pub(super) fn list(
    tx: &impl Reads,
    team: TeamId,
    origin: Option<SuppressionOrigin>,
    query: PageQuery<SuppressionId>,
) -> Result<Page<Suppression>, PageError> {
    let number = origin.map_or(ANY_ORIGIN, SuppressionOrigin::number);
    page_under(tx, &SUPPRESSION_ORIGINS, team, number, query, |id, _| Ok(find(tx, team, id)?.map(|row| row.view(id))))
}

/// Adds an address. An address that is already listed keeps its row. If the origin of the row is
/// `unsubscribe` and the new one blocks more, the new one replaces it. An opt-out is stored in a row of any
/// origin. Only a new row records an event.
pub fn add(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    address: &EmailAddress,
    cause: SuppressionCause,
) -> Result<AddResult, StoreError> {
    let hash = address.identity_hash();
    if let Some((id, row)) = find_by_address(tx, team, &hash)? {
        return match cause.origin {
            SuppressionOrigin::Unsubscribe => store_opt_out(tx, context, team, id, row),
            SuppressionOrigin::Bounce | SuppressionOrigin::Complaint | SuppressionOrigin::Manual => {
                raise(tx, context, team, id, row, cause)
            }
        };
    }
    let SuppressionCause { origin, email, source, identity } = cause;
    let id: SuppressionId = context.id();
    let created_ms = id.created_ms();
    let opted_out_ms = (origin == SuppressionOrigin::Unsubscribe).then_some(created_ms);
    let shown = (identity == EventIdentity::Shown).then(|| address.identity());
    let row = SuppressionRow { email: shown, hash, origin, source: email, created_ms, opted_out_ms };
    put(tx, team, id, &row)?;
    tx.put(&SUPPRESSION_ADDRESSES, &(team, hash), &SuppressionIdRow { id })?;
    record(tx, context, team, AudienceKind::SuppressionAdded, id, &row, source)?;
    Ok(AddResult::New(id))
}

/// Stores an opt-out in an existing entry. The time of the first opt-out stays.
fn store_opt_out(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    id: SuppressionId,
    row: SuppressionRow,
) -> Result<AddResult, StoreError> {
    if row.is_opted_out() {
        return Ok(AddResult::Listed(id));
    }
    put(tx, team, id, &SuppressionRow { opted_out_ms: Some(context.now_ms()), ..row })?;
    Ok(AddResult::OptedOut(id))
}

/// Replaces the origin `unsubscribe` of an entry by one that blocks every send. The opt-out stays.
fn raise(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    id: SuppressionId,
    row: SuppressionRow,
    cause: SuppressionCause,
) -> Result<AddResult, StoreError> {
    if row.origin != SuppressionOrigin::Unsubscribe {
        return Ok(AddResult::Listed(id));
    }
    let opted_out_ms = row.opted_out_ms.or(Some(row.created_ms));
    unlist(tx, team, id, &row, context.now_ms())?;
    put(tx, team, id, &SuppressionRow { origin: cause.origin, source: cause.email, opted_out_ms, ..row })?;
    Ok(AddResult::Raised(id))
}

/// Removes an opt-out on request of the recipient. Deletes an entry of the origin `unsubscribe`; another
/// entry remains without the opt-out. Returns whether there was an opt-out.
pub(super) fn lift(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    id: SuppressionId,
    row: SuppressionRow,
    source: ChangeSource,
) -> Result<bool, StoreError> {
    if row.origin == SuppressionOrigin::Unsubscribe {
        remove_row(tx, context, team, id, &row, source)?;
        return Ok(true);
    }
    let is_opted_out = row.is_opted_out();
    if is_opted_out {
        put(tx, team, id, &SuppressionRow { opted_out_ms: None, ..row })?;
    }
    Ok(is_opted_out)
}

/// Removes an entry on request of the team. If the recipient opted out, an entry of another origin
/// becomes one of the origin `unsubscribe`. Removing an entry of that origin deletes it.
pub(super) fn remove(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    id: SuppressionId,
    row: SuppressionRow,
    source: ChangeSource,
) -> Result<(), StoreError> {
    if row.origin == SuppressionOrigin::Unsubscribe || !row.is_opted_out() {
        return remove_row(tx, context, team, id, &row, source);
    }
    unlist(tx, team, id, &row, context.now_ms())?;
    put(tx, team, id, &SuppressionRow { origin: SuppressionOrigin::Unsubscribe, source: None, ..row })
}

/// Deletes an entry and records the event.
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
    unlist(tx, team, id, row, context.now_ms())?;
    record(tx, context, team, AudienceKind::SuppressionRemoved, id, row, Some(source))
}

/// Deletes the address from its entry if the entry was added before the erasure `request`, or if an email
/// accepted before it caused the entry. The hash of the address still blocks. Returns the entry if it had
/// an address.
pub(crate) fn erase(
    tx: &WriteTx<'_>,
    team: TeamId,
    address: &AddressHash,
    request: ErasureId,
    now_ms: TimestampMs,
) -> Result<Option<SuppressionId>, StoreError> {
    let Some((id, row)) = find_listed(tx, team, address)? else { return Ok(None) };
    let is_covered =
        id.as_bytes() <= request.as_bytes() || row.source.is_some_and(|email| email.as_bytes() <= request.as_bytes());
    if !is_covered {
        return Ok(None);
    }
    unlist(tx, team, id, &row, now_ms)?;
    tx.put(&SUPPRESSIONS, &(team, id), &SuppressionRow { email: None, ..row })?;
    Ok(Some(id))
}

/// Writes a row, and its index rows by origin unless its address was erased.
fn put(tx: &WriteTx<'_>, team: TeamId, id: SuppressionId, row: &SuppressionRow) -> Result<(), StoreError> {
    tx.put(&SUPPRESSIONS, &(team, id), row)?;
    if row.email.is_some() {
        tx.put(&SUPPRESSION_ORIGINS, &(team, row.origin.number(), id), &())?;
        tx.put(&SUPPRESSION_ORIGINS, &(team, ANY_ORIGIN, id), &())?;
    }
    Ok(())
}

/// Deletes the index rows by origin. The lists accept the entry as a cursor for 24 hours.
fn unlist(
    tx: &WriteTx<'_>,
    team: TeamId,
    id: SuppressionId,
    row: &SuppressionRow,
    now_ms: TimestampMs,
) -> Result<(), StoreError> {
    tx.delete_listed(&SUPPRESSION_ORIGINS, &(team, row.origin.number(), id), now_ms)?;
    tx.delete_listed(&SUPPRESSION_ORIGINS, &(team, ANY_ORIGIN, id), now_ms)?;
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
