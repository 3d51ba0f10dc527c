//! The rows of erasures.

use serde::{Deserialize, Serialize};

use crate::address::{AddressSet, EmailAddress};
use crate::context::Context;
use crate::id::{CapturedId, EmailId, ErasureId, EventId, Id, LogId, SuppressionId, TeamId};
use crate::store::tables::{AddressHash, ERASURES};
use crate::store::{Keyring, NEXT, Order, Reads, Row, STOP, StoreError, WriteTx};
use crate::suppressions;
use crate::webhooks::DeliveryPlace;

/// Addresses of one erasure; a request of more makes several. It bounds the row, which is written
/// with every page.
const ADDRESSES_MAX: usize = 1_000;

/// Names an erasure.
pub(super) type ErasureKey = (TeamId, ErasureId);

/// An erasure on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ErasureRow {
    /// The addresses, sealed.
    #[serde(with = "serde_bytes")]
    pub(super) sealed: Vec<u8>,
    /// How far it has come.
    pub(super) stage: Stage,
    /// Emails that had not settled when they were come to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) on_their_way: Vec<EmailId>,
    /// Whether there were any.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) waited: bool,
    /// Entries of the suppression list that those emails brought, which are erased already.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) late_entries: Vec<SuppressionId>,
}
impl Row for ErasureRow {}

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
    OnTheirWay,
    /// The built-in mailbox once more, where those have arrived meanwhile.
    LateCaptured {
        /// The last one that is done.
        after: CapturedId,
    },
    /// Events about the entries that those brought to the suppression list.
    LateAudienceEvents {
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
    LateMessages {
        /// The last one that is done.
        after: EventId,
    },
    /// What webhook endpoints answered to that.
    LateDeliveries {
        /// The last one that is done.
        after: DeliveryPlace,
    },
    /// The log of requests, once every request that is under way has been written.
    RequestLog(LogSpan),
    /// The same once more, where requests have read of emails that were on their way.
    LateRequestLog(LogSpan),
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

/// What an erasure is about.
#[derive(Debug)]
pub(super) struct Target {
    /// Whose rows.
    pub(super) team: TeamId,
    /// Ids above it were drawn after the request.
    pub(super) until: ErasureId,
    /// What is looked for.
    pub(super) addresses: AddressSet,
    /// What suppressions are found by.
    pub(super) hashes: Vec<AddressHash>,
}

impl Target {
    /// Returns the request's place among the ids of another kind.
    pub(super) fn until<R>(&self) -> Id<R> {
        Id::from_bytes(*self.until.as_bytes())
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
            stage: Stage::Suppressions,
            on_their_way: Vec::new(),
            waited: false,
            late_entries: Vec::new(),
        };
        tx.put(&ERASURES, &(team, id), &row)?;
    }
    Ok(())
}

/// Reads up to `rows_max` names of erasures after one.
///
/// # Errors
/// [`StoreError`].
pub(super) fn pending(
    tx: &impl Reads,
    after: Option<ErasureKey>,
    rows_max: usize,
) -> Result<Vec<ErasureKey>, StoreError> {
    let mut keys = Vec::new();
    let from = after.unwrap_or((Id::MIN, Id::MIN));
    tx.scan(&ERASURES, &from, &(Id::MAX, Id::MAX), Order::Ascending, |key, _| {
        if Some(key) != after {
            keys.push(key);
        }
        if keys.len() == rows_max { STOP } else { NEXT }
    })?;
    Ok(keys)
}

/// Returns what an erasure is about; `None` when it is done.
///
/// # Errors
/// [`StoreError`].
pub(super) fn target(tx: &impl Reads, keyring: &Keyring, key: ErasureKey) -> Result<Option<Target>, StoreError> {
    let Some(row) = tx.get(&ERASURES, &key)? else { return Ok(None) };
    let (team, until) = key;
    let corrupt = || StoreError::Corrupt(format!("the addresses of erasure {until} do not read"));
    let plain = keyring.open_sealed(&place(until), &row.sealed)?;
    let texts: Vec<String> = rmp_serde::from_slice(&plain).map_err(|_| corrupt())?;
    let parsed: Result<Vec<EmailAddress>, _> = texts.iter().map(|text| EmailAddress::parse(text)).collect();
    let parsed = parsed.map_err(|_| corrupt())?;
    let hashes = parsed.iter().map(suppressions::hash).collect();
    Ok(Some(Target { team, until, addresses: AddressSet::new(&parsed), hashes }))
}

fn place(id: ErasureId) -> [u8; 17] {
    let mut place = [b'e'; 17];
    place[1..].copy_from_slice(id.as_bytes());
    place
}
