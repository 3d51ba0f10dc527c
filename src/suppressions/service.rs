//! The use cases of the suppression list.

use std::collections::HashSet;

use super::model::{Suppression, SuppressionCause, SuppressionOrigin};
use super::store::{self, AddResult, SuppressionRow};
use crate::audit::{self, AuditAction, AuditEntry, AuditTargetKind, TeamActor};
use crate::base::address::EmailAddress;
use crate::base::id::{SuppressionId, TeamId};
use crate::base::id_or_email::IdOrEmail;
use crate::context::Context;
use crate::events::ChangeSource;
use crate::store::page::{Page, PageError, PageQuery};
use crate::store::{Reads, StoreError, WriteTx};
use crate::tables::AddressHash;

/// Approximate size of an entry with its index rows and its event.
const ENTRY_BYTES: usize = 512;

/// The suppression lists of all teams.
pub struct Suppressions {
    context: Context,
}

/// The entries that a batch removes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchTarget {
    /// Entries by id.
    Ids(Vec<SuppressionId>),
    /// Entries by address.
    Emails(Vec<EmailAddress>),
}

impl Suppressions {
    /// Returns the lists in the store of `context`.
    pub fn new(context: Context) -> Self {
        Self { context }
    }

    /// Adds an address, and returns its entry. An address that is already listed keeps its entry.
    pub async fn add(
        &self,
        by: impl Into<TeamActor>,
        address: EmailAddress,
        origin: SuppressionOrigin,
        source: ChangeSource,
    ) -> Result<Suppression, StoreError> {
        let (by, context) = (by.into(), self.context.clone());
        let team = by.team;
        self.context
            .store
            .write(move |tx| {
                let added = store::add(tx, &context, team, &address, SuppressionCause::listed(origin, source))?;
                record_added(tx, &context, by, origin, &[added])?;
                let id = added.id();
                let row = store::find(tx, team, id)?;
                row.map(|row| row.view(id)).ok_or_else(|| StoreError::Corrupt("a suppression has no row".into()))
            })
            .await
    }

    /// Adds addresses in one command. Returns the entry of each distinct address, in the order of their
    /// first occurrence.
    ///
    /// # Errors
    /// [`StoreError`]. No address is added.
    pub async fn add_all(
        &self,
        by: impl Into<TeamActor>,
        addresses: Vec<EmailAddress>,
        origin: SuppressionOrigin,
        source: ChangeSource,
    ) -> Result<Vec<SuppressionId>, StoreError> {
        let (by, context) = (by.into(), self.context.clone());
        let team = by.team;
        let addresses = distinct(addresses);
        self.context
            .store
            .write_bulk_sized(addresses.len() * ENTRY_BYTES, move |tx| {
                let cause = SuppressionCause::listed(origin, source);
                let add = |address| store::add(tx, &context, team, address, cause);
                let added = addresses.iter().map(add).collect::<Result<Vec<_>, StoreError>>()?;
                record_added(tx, &context, by, origin, &added)?;
                Ok(added.into_iter().map(AddResult::id).collect())
            })
            .await
    }

    /// Returns a page of the list, newest first; of one origin, if given.
    pub async fn list(
        &self,
        team: TeamId,
        origin: Option<SuppressionOrigin>,
        query: PageQuery<SuppressionId>,
    ) -> Result<Page<Suppression>, PageError> {
        self.context.store.read(move |tx| store::list(tx, team, origin, query)).await
    }

    /// Returns an entry. An entry whose address was erased is found only by its id.
    pub async fn find(&self, team: TeamId, target: IdOrEmail<Marker>) -> Result<Option<Suppression>, StoreError> {
        let found = self.context.store.read(move |tx| find(tx, team, &target)).await?;
        Ok(found.map(|(id, row)| row.view(id)))
    }

    /// Removes an entry and returns its id; `None` if the team has no such entry. Finds the entry as
    /// [`Suppressions::find`] does. If the recipient opted out, the entry remains as an opt-out.
    pub async fn remove(
        &self,
        by: impl Into<TeamActor>,
        target: IdOrEmail<Marker>,
        source: ChangeSource,
    ) -> Result<Option<SuppressionId>, StoreError> {
        let (by, context) = (by.into(), self.context.clone());
        let remove = move |tx: &WriteTx<'_>| remove_targets(tx, &context, by, std::slice::from_ref(&target), source);
        Ok(self.context.store.write(remove).await?.into_iter().next())
    }

    /// Removes entries in one command. Returns the ids of the existing entries, in the order of the
    /// request.
    ///
    /// # Errors
    /// [`StoreError`]. No entry is removed.
    pub async fn remove_all(
        &self,
        by: impl Into<TeamActor>,
        targets: BatchTarget,
        source: ChangeSource,
    ) -> Result<Vec<SuppressionId>, StoreError> {
        let (by, context) = (by.into(), self.context.clone());
        let targets: Vec<IdOrEmail<Marker>> = match targets {
            BatchTarget::Ids(ids) => ids.into_iter().map(IdOrEmail::Id).collect(),
            BatchTarget::Emails(emails) => emails.into_iter().map(IdOrEmail::Email).collect(),
        };
        self.context
            .store
            .write_bulk_sized(targets.len() * ENTRY_BYTES, move |tx| remove_targets(tx, &context, by, &targets, source))
            .await
    }
}

fn remove_targets(
    tx: &WriteTx<'_>,
    context: &Context,
    by: TeamActor,
    targets: &[IdOrEmail<Marker>],
    source: ChangeSource,
) -> Result<Vec<SuppressionId>, StoreError> {
    let team = by.team;
    let mut removed = Vec::new();
    let mut seen = HashSet::with_capacity(targets.len());
    for target in targets {
        let Some((id, row)) = find(tx, team, target)? else { continue };
        // An entry that occurs twice is removed once. A second removal would delete the opt-out that
        // remains after the first.
        if seen.insert(id) {
            store::remove(tx, context, team, id, row, source)?;
            removed.push(id);
        }
    }
    if !removed.is_empty() {
        audit::record(tx, context, by, entry(AuditAction::SuppressionsRemoved, &removed))?;
    }
    Ok(removed)
}

/// Records the entries that are new or have changed.
fn record_added(
    tx: &WriteTx<'_>,
    context: &Context,
    by: TeamActor,
    origin: SuppressionOrigin,
    added: &[AddResult],
) -> Result<(), StoreError> {
    let changed = added.iter().filter(|result| !matches!(result, AddResult::Listed(_)));
    let ids: Vec<SuppressionId> = changed.map(|result| result.id()).collect();
    if ids.is_empty() {
        return Ok(());
    }
    audit::record(tx, context, by, entry(AuditAction::SuppressionsAdded, &ids).with("origin", origin.as_str()))
}

/// Returns an entry about one list entry, or about their number. It has ids only, because the addresses can be erased.
fn entry(action: AuditAction, ids: &[SuppressionId]) -> AuditEntry {
    match ids {
        [id] => AuditEntry::new(action).of(AuditTargetKind::Suppression, id),
        _ => AuditEntry::new(action).with("count", ids.len()),
    }
}

type Marker = crate::base::id::resource::Suppression;

fn find(
    tx: &impl Reads,
    team: TeamId,
    target: &IdOrEmail<Marker>,
) -> Result<Option<(SuppressionId, SuppressionRow)>, StoreError> {
    match target {
        IdOrEmail::Id(id) => Ok(store::find(tx, team, *id)?.map(|row| (*id, row))),
        IdOrEmail::Email(address) => store::find_listed(tx, team, &address.identity_hash()),
    }
}

/// Removes duplicates. Spellings with the same normal form are duplicates.
fn distinct(addresses: Vec<EmailAddress>) -> Vec<EmailAddress> {
    let mut seen: HashSet<AddressHash> = HashSet::with_capacity(addresses.len());
    addresses.into_iter().filter(|address| seen.insert(address.identity_hash())).collect()
}
