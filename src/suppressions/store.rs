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
fn find_by_address(
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

/// Removes the opt-out of an address by its owner's word: the entry `only`, where one is named.
/// Entries of other origins stay. Returns whether there was one to remove.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn lift_opt_out(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    address: &AddressHash,
    only: Option<SuppressionId>,
    source: Source,
) -> Result<bool, StoreError> {
    let Some((id, row)) = find_by_address(tx, team, address)? else { return Ok(false) };
    if row.origin != Origin::Unsubscribe || only.is_some_and(|only| only != id) {
        return Ok(false);
    }
    remove(tx, context, team, id, &row, source)?;
    Ok(true)
}

/// Takes the address out of its entry, whose hash goes on blocking. `only_from` limits it to an entry
/// that one of these emails brought. Returns the entry when there was anything to take.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn erase(
    tx: &WriteTx<'_>,
    team: TeamId,
    address: &AddressHash,
    only_from: Option<&[EmailId]>,
) -> Result<Option<SuppressionId>, StoreError> {
    let Some((id, row)) = find_listed(tx, team, address)? else { return Ok(None) };
    let is_meant = only_from.is_none_or(|emails| row.source.is_some_and(|source| emails.contains(&source)));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id;
    use crate::store::page::Cursor;
    use crate::store::tables::AUDIENCE_EVENTS;
    use crate::store::{NEXT, Order};

    const TEAM: TeamId = Id::MIN;

    fn address(text: &str) -> EmailAddress {
        EmailAddress::parse(text).unwrap()
    }

    /// Returns what the events say: the type, the address, the origin and who did it.
    fn told(tx: &impl Reads) -> Vec<(&'static str, String, String, Option<Source>)> {
        let mut told = Vec::new();
        tx.scan(&AUDIENCE_EVENTS, &(TEAM, Id::MIN), &(TEAM, Id::MAX), Order::Ascending, |_, row| {
            let AudienceEvent { kind, subject, .. } = row.decode()?;
            let AudienceSubject::Suppression(entry) = subject else { panic!("no other events") };
            told.push((kind.as_str(), entry.email, entry.origin, entry.source));
            NEXT
        })
        .unwrap();
        told
    }

    fn ids(tx: &impl Reads, origin: Option<Origin>) -> Vec<SuppressionId> {
        let query = PageQuery { limit: 100, cursor: Cursor::Newest };
        list(tx, TEAM, origin, query).unwrap().rows.into_iter().map(|entry| entry.id).collect()
    }

    /// Runs `apply` in one transaction of a store of its own.
    async fn within(apply: impl Fn(&WriteTx<'_>, &Context) + Send + 'static) {
        let (_directory, context) = Context::temporary();
        let store = context.store.clone();
        let applied = move |tx: &WriteTx<'_>| {
            apply(tx, &context);
            Ok(())
        };
        store.write::<_, StoreError>(applied).await.unwrap();
    }

    #[tokio::test]
    async fn an_opt_out_is_raised_in_place_and_no_other_origin_changes() {
        within(|tx, context| {
            let ada = address("ada@example.com");
            let blocked = |kind| blocks(tx, TEAM, &hash(&ada), kind).unwrap();
            let add = |cause| add(tx, context, TEAM, &ada, cause).unwrap();
            let email = context.id();

            let first = add(Cause::listed(Origin::Unsubscribe, Source::OneClick));
            let Added::New(id) = first else { panic!("{first:?}") };
            assert!(!blocked(SendKind::Transactional) && blocked(SendKind::Topic));
            assert_eq!(add(Cause::listed(Origin::Unsubscribe, Source::HostedPage)), Added::Listed(id));
            assert_eq!(ids(tx, Some(Origin::Unsubscribe)), [id]);
            assert_eq!(add(Cause::bounce(email)), Added::Raised(id));
            assert!(blocked(SendKind::Transactional) && blocked(SendKind::Topic));
            assert_eq!(find(tx, TEAM, id).unwrap().unwrap().source, Some(email));
            assert_eq!((ids(tx, Some(Origin::Unsubscribe)), ids(tx, Some(Origin::Bounce))), (vec![], vec![id]));
            for later in [Origin::Complaint, Origin::Unsubscribe, Origin::Manual] {
                assert_eq!(add(Cause::listed(later, Source::Api)), Added::Listed(id));
                assert_eq!(find(tx, TEAM, id).unwrap().unwrap().origin, Origin::Bounce);
            }

            let added = ("suppression.added", "ada@example.com".into(), "unsubscribe".into(), Some(Source::OneClick));
            assert_eq!(told(tx), [added]);
        })
        .await;
    }

    #[tokio::test]
    async fn an_erased_address_goes_on_blocking_and_is_found_by_its_id_alone() {
        within(|tx, context| {
            let ada = address("Ada@example.com");
            let id = add(tx, context, TEAM, &ada, Cause::listed(Origin::Manual, Source::Api)).unwrap().id();

            assert_eq!(erase(tx, TEAM, &hash(&ada), Some(&[context.id()])).unwrap(), None, "another brought it");
            assert_eq!(erase(tx, TEAM, &hash(&ada), None).unwrap(), Some(id));
            assert_eq!(erase(tx, TEAM, &hash(&ada), None).unwrap(), None);

            assert!(blocks(tx, TEAM, &hash(&ada), SendKind::Transactional).unwrap());
            assert!(find_listed(tx, TEAM, &hash(&ada)).unwrap().is_none());
            assert_eq!((ids(tx, None), ids(tx, Some(Origin::Manual))), (vec![], vec![]));
            let row = find(tx, TEAM, id).unwrap().unwrap();
            assert_eq!(row.email, None);
            let again = add(tx, context, TEAM, &ada, Cause::listed(Origin::Manual, Source::Api)).unwrap();
            assert_eq!(again, Added::Listed(id));
            assert_eq!(find(tx, TEAM, id).unwrap().unwrap().email, None);

            remove(tx, context, TEAM, id, &row, Source::Api).unwrap();
            assert!(!blocks(tx, TEAM, &hash(&ada), SendKind::Topic).unwrap());
            assert_eq!(told(tx)[1], ("suppression.removed", ERASED.into(), "manual".into(), Some(Source::Api)));
        })
        .await;
    }

    #[tokio::test]
    async fn an_erased_opt_out_is_raised_without_being_listed() {
        within(|tx, context| {
            let ada = address("ada@example.com");
            let id = add(tx, context, TEAM, &ada, Cause::listed(Origin::Unsubscribe, Source::Api)).unwrap().id();
            erase(tx, TEAM, &hash(&ada), None).unwrap();

            assert_eq!(add(tx, context, TEAM, &ada, Cause::complaint(context.id())).unwrap(), Added::Raised(id));

            assert!(blocks(tx, TEAM, &hash(&ada), SendKind::Transactional).unwrap());
            assert_eq!((ids(tx, None), ids(tx, Some(Origin::Complaint))), (vec![], vec![]));
        })
        .await;
    }

    #[tokio::test]
    async fn a_page_of_one_origin_holds_its_entries_and_takes_its_cursors_alone() {
        within(|tx, context| {
            let entries: Vec<(Origin, SuppressionId)> = (0..40)
                .map(|number| {
                    let origin = Origin::ALL[number % 4];
                    let address = address(&format!("r{number}@example.com"));
                    (origin, add(tx, context, TEAM, &address, Cause::listed(origin, Source::Api)).unwrap().id())
                })
                .collect();
            for origin in Origin::ALL {
                let of_origin = entries.iter().rev().filter(|(its, _)| *its == origin).map(|(_, id)| *id);
                let expected: Vec<SuppressionId> = of_origin.collect();
                let query = |cursor| PageQuery { limit: 4, cursor };

                let first = list(tx, TEAM, Some(origin), query(Cursor::Newest)).unwrap();
                let next = list(tx, TEAM, Some(origin), query(Cursor::After(expected[3]))).unwrap();
                let back = list(tx, TEAM, Some(origin), query(Cursor::Before(expected[4]))).unwrap();

                let ids = |page: &Page<Suppression>| page.rows.iter().map(|entry| entry.id).collect::<Vec<_>>();
                assert_eq!((ids(&first), first.has_more), (expected[..4].to_vec(), true));
                assert_eq!((ids(&next), next.has_more), (expected[4..8].to_vec(), true));
                assert_eq!((ids(&back), back.has_more), (expected[..4].to_vec(), false));
                let other = entries.iter().find(|(its, _)| *its != origin).unwrap().1;
                let foreign = list(tx, TEAM, Some(origin), query(Cursor::After(other)));
                assert!(matches!(foreign, Err(PageError::UnknownCursor)));
            }
        })
        .await;
    }
}
