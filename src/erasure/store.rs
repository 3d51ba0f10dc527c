//! The rows of erasures.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::base::address::{AddressSet, EmailAddress};
use crate::base::id::{CapturedId, EmailId, ErasureId, EventId, Id, LogId, SuppressionId, TeamId};
use crate::context::Context;
use crate::store::{Keyring, NEXT, Order, Reads, Row, STOP, StoreError, WriteTx};
use crate::tables::{AddressHash, ERASURES};
use crate::webhooks::DeliveryPlace;

/// Bytes of an id.
const ID_BYTES: usize = 16;
/// Addresses of one row; a request of more makes several. It bounds the row, which is written with
/// every page that is changed.
const ADDRESSES_MAX: usize = 1_000;
/// Sealed bytes of a row up to which it takes others along: a thousand requests of one address each.
const JOINED_BYTES_MAX: usize = 96 << 10;

/// Names an erasure.
pub(super) type ErasureKey = (TeamId, ErasureId);

/// An erasure on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ErasureRow {
    /// The addresses, sealed.
    #[serde(with = "serde_bytes")]
    pub(super) sealed: Vec<u8>,
    /// Later requests that go along.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) joined: Vec<JoinedRequest>,
    /// How far it has come.
    pub(super) stage: Stage,
    /// Emails that had not settled when they were come to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) pending_emails: Vec<EmailId>,
    /// Whether there were any.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) had_pending: bool,
    /// Entries of the suppression list that emails from before the requests brought after them, which
    /// are erased already.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) late_entries: Vec<SuppressionId>,
    /// The last email before the first that had not settled and is not among those: emails after it are
    /// gone through once more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) resume_after: Option<EmailId>,
}
impl Row for ErasureRow {}

/// A request that goes along with an earlier one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct JoinedRequest {
    /// The request.
    id: ErasureId,
    /// Its addresses, sealed for it.
    #[serde(with = "serde_bytes")]
    sealed: Vec<u8>,
}

impl ErasureRow {
    /// Returns whether nothing has been done for it.
    fn has_not_begun(&self) -> bool {
        self.stage == Stage::Suppressions
    }

    fn sealed_bytes(&self) -> usize {
        self.sealed.len() + self.joined.iter().map(|request| request.sealed.len() + ID_BYTES).sum::<usize>()
    }
}

/// The places in the order they are gone through; each begins after the row that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stage {
    /// The suppression list, at once.
    Suppressions,
    /// Emails with all that is kept under them.
    Emails {
        /// The last one that is done.
        after: EmailId,
    },
    /// The built-in mailbox.
    Captured {
        /// The last one that is done.
        after: CapturedId,
    },
    /// Events about contacts and suppressions.
    AudienceEvents {
        /// The last one that is done.
        after: EventId,
    },
    /// The emails that were on their way, until each has settled.
    PendingEmails,
    /// The built-in mailbox once more, where those have arrived meanwhile.
    RecheckCaptured {
        /// The last one that is done.
        after: CapturedId,
    },
    /// Events about the entries that those brought to the suppression list.
    RecheckAudienceEvents {
        /// The last one that is done.
        after: EventId,
    },
    /// What webhooks deliver of events.
    Messages {
        /// The last one that is done.
        after: EventId,
    },
    /// What webhook endpoints answered.
    Deliveries {
        /// The last one that is done.
        after: DeliveryPlace,
    },
    /// What webhooks deliver of what came of emails that were on their way.
    RecheckMessages {
        /// The last one that is done.
        after: EventId,
    },
    /// What webhook endpoints answered to that.
    RecheckDeliveries {
        /// The last one that is done.
        after: DeliveryPlace,
    },
    /// The log of requests, once every request that is under way has been written.
    RequestLog(LogSpan),
    /// The same once more, where requests have read of emails that were on their way.
    RecheckRequestLog(LogSpan),
}

/// Which requests are gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LogSpan {
    /// The last one that is done.
    pub(super) after: LogId,
    /// The newest one there was when every request that was under way had been written; none before.
    pub(super) until: Option<LogId>,
}

impl LogSpan {
    /// Nothing yet.
    pub(super) const START: Self = Self { after: LogId::MIN, until: None };
}

/// What an erasure is about: the addresses of its requests, each for what was there when it was made.
#[derive(Debug)]
pub(super) struct ErasureTarget {
    /// Whose rows.
    pub(super) team: TeamId,
    /// The requests, in the order in which they were made.
    requests: Vec<ErasureId>,
    /// Their addresses, a list a request.
    addresses: AddressSet,
    /// What suppressions are found by, each with the last request that names it.
    pub(super) hashes: Vec<(AddressHash, ErasureId)>,
}

impl ErasureTarget {
    /// Returns the last request's place among the ids of another kind: what was drawn after it stays.
    pub(super) fn until<R>(&self) -> Id<R> {
        self.requests.last().map_or(Id::MIN, |last| among(*last))
    }

    /// Returns the addresses of all requests.
    pub(super) fn all(&self) -> AddressSet {
        self.addresses.clone()
    }

    /// Returns the addresses that were asked for after an id was drawn: what is looked for in its row.
    pub(super) fn at<R>(&self, id: Id<R>) -> AddressSet {
        let earlier = self.requests.partition_point(|request| request.as_bytes() < id.as_bytes());
        self.addresses.from_list(earlier)
    }
}

/// Asks for addresses to be erased from all that is kept of the team. It belongs at the end of the
/// transaction that deletes their contacts: what is recorded after it stays.
///
/// # Errors
/// [`StoreError`].
pub fn request(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    addresses: Vec<EmailAddress>,
) -> Result<(), StoreError> {
    for addresses in addresses.chunks(ADDRESSES_MAX) {
        let id: ErasureId = context.id();
        let texts: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        let plain = rmp_serde::to_vec(&texts).expect("addresses write into memory");
        let row = ErasureRow {
            sealed: context.keyring.seal(&place(id), &plain),
            joined: Vec::new(),
            stage: Stage::Suppressions,
            pending_emails: Vec::new(),
            had_pending: false,
            late_entries: Vec::new(),
            resume_after: None,
        };
        tx.put(&ERASURES, &(team, id), &row)?;
    }
    Ok(())
}

/// Returns the first team after `after` that has erasures.
///
/// # Errors
/// [`StoreError`].
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

/// Returns the earliest erasure of a team that is `wanted`.
///
/// # Errors
/// [`StoreError`].
pub(super) fn earliest(
    tx: &impl Reads,
    team: TeamId,
    wanted: impl Fn(ErasureKey) -> bool,
) -> Result<Option<ErasureKey>, StoreError> {
    let mut found = None;
    tx.scan(&ERASURES, &(team, Id::MIN), &(team, Id::MAX), Order::Ascending, |key, _| {
        if wanted(key) {
            found = Some(key);
            return STOP;
        }
        NEXT
    })?;
    Ok(found)
}

/// Returns the later requests of its team that an erasure can take along: neither has begun, and both
/// can be read. Going through everything once for all of them costs little more than for one.
///
/// # Errors
/// [`StoreError`].
pub(super) fn joinable(
    tx: &impl Reads,
    keyring: &Keyring,
    key: ErasureKey,
    row: &ErasureRow,
) -> Result<Vec<ErasureId>, StoreError> {
    let (team, first) = key;
    let mut ids = Vec::new();
    if !row.has_not_begun() {
        return Ok(ids);
    }
    // One that cannot be read takes nobody along into its failure.
    target(keyring, key, row)?;
    let mut bytes = row.sealed_bytes();
    tx.scan(&ERASURES, &key, &(team, Id::MAX), Order::Ascending, |(_, id), other| {
        if id == first {
            return NEXT;
        }
        // One that does not read is reported in its own turn.
        let Ok(other) = other.decode() else { return NEXT };
        if !other.has_not_begun() || !other.joined.is_empty() || open(keyring, id, &other.sealed).is_err() {
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

/// Lets an erasure take others along: their rows go, and what they ask for is done with it.
///
/// # Errors
/// [`StoreError`].
pub(super) fn join(tx: &WriteTx<'_>, key: ErasureKey, others: &[ErasureId]) -> Result<(), StoreError> {
    let (team, _) = key;
    let Some(mut row) = tx.get(&ERASURES, &key)? else { return Ok(()) };
    for id in others {
        let Some(other) = tx.get(&ERASURES, &(team, *id))? else { continue };
        tx.delete(&ERASURES, &(team, *id))?;
        row.joined.push(JoinedRequest { id: *id, sealed: other.sealed });
    }
    tx.put(&ERASURES, &key, &row)
}

/// Returns what an erasure is about.
///
/// # Errors
/// [`StoreError`].
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

/// Returns a request's place among the ids of another kind.
pub(super) fn among<R>(request: ErasureId) -> Id<R> {
    Id::from_bytes(*request.as_bytes())
}

/// Opens the addresses of a request.
fn open(keyring: &Keyring, id: ErasureId, sealed: &[u8]) -> Result<Vec<EmailAddress>, StoreError> {
    let corrupt = || StoreError::Corrupt(format!("the addresses of erasure {id} do not read"));
    let plain = keyring.open_sealed(&place(id), sealed)?;
    let texts: Vec<String> = rmp_serde::from_slice(&plain).map_err(|_| corrupt())?;
    let parsed: Result<Vec<EmailAddress>, _> = texts.iter().map(|text| EmailAddress::parse(text)).collect();
    parsed.map_err(|_| corrupt())
}

fn place(id: ErasureId) -> [u8; 17] {
    let mut place = [b'e'; 17];
    place[1..].copy_from_slice(id.as_bytes());
    place
}
