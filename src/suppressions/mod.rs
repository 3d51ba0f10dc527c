//! The suppression list: addresses a team does not write to.
//!
//! An entry is found by the hash of its normalised address. Entries of origin `unsubscribe` count
//! only for sends under a topic; the others always count. An address already listed keeps its row
//! and its origin; only an `unsubscribe` is raised to a reason that blocks more.

use serde::{Deserialize, Serialize};

use crate::address::EmailAddress;
use crate::clock::TimestampMs;
use crate::context::Context;
use crate::id::{EmailId, SuppressionId, TeamId};
use crate::store::tables::{AddressHash, SUPPRESSION_ADDRESSES, SUPPRESSIONS, SuppressionIdRow};
use crate::store::{Reads, Row, StoreError, WriteTx};

/// Why an address is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A message to it bounced for good.
    Bounce,
    /// Its owner reported a message as spam.
    Complaint,
    /// The team listed it.
    Manual,
    /// An opt-out of an address without a contact, or one that outlived its contact.
    Unsubscribe,
}

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

/// What a send is, as far as suppressions of origin `unsubscribe` go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendKind {
    /// No topic: opt-outs do not apply.
    Transactional,
    /// Under a topic.
    Topic,
}

/// Returns the hash an address is found by: SHA-256 of its lower-cased whole.
pub fn hash(address: &EmailAddress) -> AddressHash {
    use sha2::Digest as _;

    sha2::Sha256::digest(address.identity().as_bytes()).into()
}

/// Returns whether the team may not write to the address in a send of that kind.
///
/// # Errors
/// [`StoreError`].
pub fn blocks(tx: &impl Reads, team: TeamId, address: &AddressHash, kind: SendKind) -> Result<bool, StoreError> {
    Ok(match origin(tx, team, address)? {
        None => false,
        Some(Origin::Bounce | Origin::Complaint | Origin::Manual) => true,
        Some(Origin::Unsubscribe) => kind == SendKind::Topic,
    })
}

/// Returns why the team does not write to the address; `None` when it is not listed.
///
/// # Errors
/// [`StoreError`].
pub fn origin(tx: &impl Reads, team: TeamId, address: &AddressHash) -> Result<Option<Origin>, StoreError> {
    let Some(index) = tx.get(&SUPPRESSION_ADDRESSES, &(team, *address))? else { return Ok(None) };
    Ok(tx.get(&SUPPRESSIONS, &(team, index.id))?.map(|row| row.origin))
}

/// Lists an address; one that is listed already keeps its row, whose origin is raised when it is
/// `unsubscribe` and this one blocks more. Returns the entry's id and whether the address is blocked
/// in sends in which it was not before.
///
/// # Errors
/// [`StoreError`].
pub fn add(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    address: &EmailAddress,
    origin: Origin,
    source: Option<EmailId>,
) -> Result<(SuppressionId, bool), StoreError> {
    let hash = hash(address);
    if let Some(index) = tx.get(&SUPPRESSION_ADDRESSES, &(team, hash))? {
        let raised = raise(tx, team, index.id, origin, source)?;
        return Ok((index.id, raised));
    }
    let id = context.id();
    let row = SuppressionRow { email: Some(address.to_string()), hash, origin, source, created_ms: context.now_ms() };
    tx.put(&SUPPRESSIONS, &(team, id), &row)?;
    tx.put(&SUPPRESSION_ADDRESSES, &(team, hash), &SuppressionIdRow { id })?;
    Ok((id, true))
}

/// Removes an address that is listed for its own opt-out, by its owner's word: the entry `only`,
/// where one is named. Returns whether there was one.
///
/// # Errors
/// [`StoreError`].
pub fn lift_opt_out(
    tx: &WriteTx<'_>,
    _context: &Context,
    team: TeamId,
    address: &AddressHash,
    only: Option<SuppressionId>,
    _source: crate::events::Source,
) -> Result<bool, StoreError> {
    let Some(index) = tx.get(&SUPPRESSION_ADDRESSES, &(team, *address))? else { return Ok(false) };
    let is_opt_out = tx.get(&SUPPRESSIONS, &(team, index.id))?.is_some_and(|row| row.origin == Origin::Unsubscribe);
    if !is_opt_out || only.is_some_and(|only| only != index.id) {
        return Ok(false);
    }
    tx.delete(&SUPPRESSIONS, &(team, index.id))?;
    tx.delete(&SUPPRESSION_ADDRESSES, &(team, *address))?;
    Ok(true)
}

/// Raises an entry of origin `unsubscribe` to an origin that always blocks.
fn raise(
    tx: &WriteTx<'_>,
    team: TeamId,
    id: SuppressionId,
    origin: Origin,
    source: Option<EmailId>,
) -> Result<bool, StoreError> {
    if origin == Origin::Unsubscribe {
        return Ok(false);
    }
    let Some(row) = tx.get(&SUPPRESSIONS, &(team, id))? else { return Ok(false) };
    if row.origin != Origin::Unsubscribe {
        return Ok(false);
    }
    tx.put(&SUPPRESSIONS, &(team, id), &SuppressionRow { origin, source, ..row })?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id;

    const TEAM: TeamId = Id::MIN;

    #[tokio::test]
    async fn an_opt_out_is_raised_in_place_and_no_other_origin_changes() {
        let (_directory, context) = Context::temporary();
        let store = context.store.clone();
        let apply = move |tx: &WriteTx<'_>| {
            let address = EmailAddress::parse("ada@example.com").unwrap();
            let blocked = |kind| blocks(tx, TEAM, &hash(&address), kind).unwrap();
            let add = |origin| add(tx, &context, TEAM, &address, origin, None).unwrap();

            let (id, added) = add(Origin::Unsubscribe);
            assert!(added);
            assert!(!blocked(SendKind::Transactional) && blocked(SendKind::Topic));
            assert_eq!(add(Origin::Unsubscribe), (id, false));
            assert_eq!(add(Origin::Bounce), (id, true));
            assert!(blocked(SendKind::Transactional) && blocked(SendKind::Topic));
            for later in [Origin::Complaint, Origin::Unsubscribe, Origin::Manual] {
                assert_eq!(add(later), (id, false));
                assert_eq!(tx.get(&SUPPRESSIONS, &(TEAM, id))?.unwrap().origin, Origin::Bounce);
            }
            Ok(())
        };

        store.write::<_, StoreError>(apply).await.unwrap();
    }
}
