//! The rows of erasures, and the addresses in them.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::stages::ErasureStage;
use crate::base::address::{AddressSet, EmailAddress};
use crate::base::id::{EmailId, ErasureId, Id, SuppressionId, TeamId};
use crate::broadcasts;
use crate::context::Context;
use crate::store::{Keyring, NEXT, Order, Reads, Row, STOP, StoreError, WriteTx};
use crate::tables::{AddressHash, ERASURES};

const ID_BYTES: usize = 16;
/// Addresses in one row. A request with more addresses adds several rows. Limits the bytes that each
/// page with a match writes.
const ADDRESSES_MAX: usize = 1_000;
/// Sealed bytes in a row up to which other requests join it: a thousand requests of one address each.
const JOINED_BYTES_MAX: usize = 96 << 10;

/// Key of an [`ErasureRow`].
pub(super) type ErasureKey = (TeamId, ErasureId);

/// An erasure on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ErasureRow {
    /// The addresses, sealed.
    #[serde(with = "serde_bytes")]
    pub(super) sealed: Vec<u8>,
    /// Later requests that share the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) joined: Vec<JoinedRequest>,
    /// The position.
    pub(super) stage: ErasureStage,
    /// Emails with a recipient in flight when they were scanned. The second run starts when the attempts have ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) pending_emails: Vec<EmailId>,
    /// If there was no space for an email in `pending_emails`: the last email before it. A scan of the
    /// emails after this one starts when there is space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) resume_after: Option<EmailId>,
    /// Erased suppressions from after the request that an email from before it caused. Their events are
    /// erased too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) derived_suppressions: Vec<SuppressionId>,
}
impl Row for ErasureRow {}

/// A request that shares the run of an earlier one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct JoinedRequest {
    id: ErasureId,
    /// The addresses, sealed under `id`.
    #[serde(with = "serde_bytes")]
    sealed: Vec<u8>,
}

impl ErasureRow {
    /// Returns whether another request of the same stage can join: no page has been erased, or only the queue.
    fn is_joinable(&self) -> bool {
        (self.stage == ErasureStage::FIRST || self.stage == ErasureStage::AFTER_QUEUE)
            && self.pending_emails.is_empty()
            && self.resume_after.is_none()
            && self.derived_suppressions.is_empty()
    }

    fn sealed_bytes(&self) -> usize {
        self.sealed.len() + self.joined.iter().map(|request| request.sealed.len() + ID_BYTES).sum::<usize>()
    }
}

/// The addresses of an erasure, each with the data that it is erased from: the data from before its
/// request.
#[derive(Debug)]
pub(super) struct ErasureTarget {
    pub(super) team: TeamId,
    /// The requests, oldest first.
    requests: Vec<ErasureId>,
    /// One list of addresses for each request.
    addresses: AddressSet,
    /// Keys of the suppression list, each with the last request that contains the address.
    pub(super) hashes: Vec<(AddressHash, ErasureId)>,
}

impl ErasureTarget {
    /// Returns the id of the erasure: its first request.
    pub(super) fn id(&self) -> ErasureId {
        self.requests.first().copied().unwrap_or(Id::MIN)
    }

    /// Returns whether a request shares the run.
    pub(super) fn includes(&self, request: ErasureId) -> bool {
        self.requests.contains(&request)
    }

    /// Returns the last request as an id of another type. Rows with a higher id stay.
    pub(super) fn last_request<R>(&self) -> Id<R> {
        self.requests.last().map_or(Id::MIN, |last| Id::from_bytes(*last.as_bytes()))
    }

    /// Returns the addresses of all requests.
    pub(super) fn all(&self) -> AddressSet {
        self.addresses.clone()
    }

    /// Returns the addresses of the requests that were made after a row with this id was added.
    pub(super) fn at<R>(&self, id: Id<R>) -> AddressSet {
        let earlier = self.requests.partition_point(|request| request.as_bytes() < id.as_bytes());
        self.addresses.from_list(earlier)
    }
}

/// Requests the erasure of addresses from all data of the team. Call it at the end of the transaction that
/// deletes the contacts: data that is recorded after the request stays. No page of recipients of a broadcast that was read
/// before the request is stored later.
pub fn request(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    addresses: Vec<EmailAddress>,
) -> Result<(), StoreError> {
    for addresses in addresses.chunks(ADDRESSES_MAX) {
        let id: ErasureId = context.id();
        let texts: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        let plain = rmp_serde::to_vec(&texts).expect("a list of texts is serializable");
        let row = ErasureRow {
            sealed: context.keyring.seal(&associated_data(id), &plain),
            joined: Vec::new(),
            stage: ErasureStage::FIRST,
            pending_emails: Vec::new(),
            resume_after: None,
            derived_suppressions: Vec::new(),
        };
        tx.put(&ERASURES, &(team, id), &row)?;
    }
    broadcasts::discard_pages(tx, team)
}

/// Returns the first team after `after` that has an erasure.
pub(super) fn next_team(tx: &impl Reads, after: Option<TeamId>) -> Result<Option<TeamId>, StoreError> {
    let mut next = None;
    let from = after.map_or((Id::MIN, Id::MIN), |team| (team, Id::MAX));
    tx.scan(&ERASURES, &from, &(Id::MAX, Id::MAX), Order::Ascending, |(team, _), _| {
        if Some(team) == after {
            return NEXT;
        }
        next = Some(team);
        STOP
    })?;
    Ok(next)
}

/// The erasure of a team to run next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextErasure {
    Earliest(ErasureKey),
    /// A later one in the stage of the queue, which must not wait: attempts to its recipients would start.
    QueueOnly(ErasureKey),
}

/// Returns the next erasure of a team that is `wanted`; `None` if the team has none.
pub(super) fn next_erasure(
    tx: &impl Reads,
    team: TeamId,
    wanted: impl Fn(ErasureKey) -> bool,
) -> Result<Option<NextErasure>, StoreError> {
    let (mut earliest, mut in_queue) = (None, None);
    tx.scan(&ERASURES, &(team, Id::MIN), &(team, Id::MAX), Order::Ascending, |key, row| {
        if !wanted(key) {
            return NEXT;
        }
        earliest = earliest.or(Some(key));
        // A corrupt row is logged when the worker runs it.
        if row.decode().is_ok_and(|row| row.stage.is_queue()) {
            in_queue = Some(key);
            return STOP;
        }
        NEXT
    })?;
    Ok(earliest.map(|earliest| match in_queue {
        Some(key) if key != earliest => NextErasure::QueueOnly(key),
        _ => NextErasure::Earliest(earliest),
    }))
}

/// Returns the later requests of the team that can share the run of an erasure. Both must be valid, and at the start of
/// the same stage: the queue, or the emails. One run for all of them costs little more than for one.
///
/// # Errors
/// [`StoreError`]; [`StoreError::Corrupt`] if the addresses of the erasure cannot be opened.
pub(super) fn joinable(
    tx: &impl Reads,
    keyring: &Keyring,
    key: ErasureKey,
    row: &ErasureRow,
) -> Result<Vec<ErasureId>, StoreError> {
    let (team, first) = key;
    let mut ids = Vec::new();
    if !row.is_joinable() {
        return Ok(ids);
    }
    // No request joins an erasure that would fail.
    target(keyring, key, row)?;
    let mut bytes = row.sealed_bytes();
    tx.scan(&ERASURES, &key, &(team, Id::MAX), Order::Ascending, |(_, id), other| {
        if id == first {
            return NEXT;
        }
        // A corrupt row is logged when the worker runs it.
        let Ok(other) = other.decode() else { return NEXT };
        let is_joinable = other.is_joinable() && other.stage == row.stage;
        if !is_joinable || target(keyring, (team, id), &other).is_err() {
            return NEXT;
        }
        bytes += other.sealed_bytes() + ID_BYTES;
        if bytes > JOINED_BYTES_MAX {
            return STOP;
        }
        ids.push(id);
        NEXT
    })?;
    Ok(ids)
}

/// Moves the addresses of other requests into the row of an erasure and deletes the rows of the requests.
pub(super) fn join(tx: &WriteTx<'_>, key: ErasureKey, others: &[ErasureId]) -> Result<(), StoreError> {
    let (team, _) = key;
    let Some(mut row) = tx.get(&ERASURES, &key)? else { return Ok(()) };
    for id in others {
        let Some(other) = tx.get(&ERASURES, &(team, *id))? else { continue };
        tx.delete(&ERASURES, &(team, *id))?;
        row.joined.push(JoinedRequest { id: *id, sealed: other.sealed });
        row.joined.extend(other.joined);
    }
    row.joined.sort_unstable_by_key(|request| request.id);
    tx.put(&ERASURES, &key, &row)
}

/// Opens the addresses of an erasure.
///
/// # Errors
/// [`StoreError::Corrupt`] if they were sealed with another key or are not addresses.
pub(super) fn target(keyring: &Keyring, key: ErasureKey, row: &ErasureRow) -> Result<ErasureTarget, StoreError> {
    let (team, first) = key;
    let joined = row.joined.iter().map(|request| (request.id, &request.sealed));
    let (mut requests, mut lists) = (Vec::new(), Vec::new());
    for (id, sealed) in std::iter::once((first, &row.sealed)).chain(joined) {
        lists.push(open(keyring, id, sealed)?);
        requests.push(id);
    }
    let mut hashes = HashMap::new();
    for (id, list) in requests.iter().zip(&lists) {
        hashes.extend(list.iter().map(|address| (address.identity_hash(), *id)));
    }
    let addresses = AddressSet::of_lists(lists.iter().map(Vec::as_slice));
    Ok(ErasureTarget { team, requests, addresses, hashes: hashes.into_iter().collect() })
}

/// Opens the addresses of a request.
fn open(keyring: &Keyring, id: ErasureId, sealed: &[u8]) -> Result<Vec<EmailAddress>, StoreError> {
    let corrupt = || StoreError::Corrupt(format!("the addresses of erasure {id} cannot be decoded"));
    let plain = keyring.open_sealed(&associated_data(id), sealed)?;
    let texts: Vec<String> = rmp_serde::from_slice(&plain).map_err(|_| corrupt())?;
    let parsed: Result<Vec<EmailAddress>, _> = texts.iter().map(|text| EmailAddress::parse(text)).collect();
    parsed.map_err(|_| corrupt())
}

/// Returns the associated data of the sealed addresses of a request.
fn associated_data(id: ErasureId) -> [u8; 17] {
    let mut data = [b'e'; 17];
    data[1..].copy_from_slice(id.as_bytes());
    data
}
