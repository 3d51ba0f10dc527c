//! The use cases of the suppression list.

use std::collections::HashSet;

use super::model::{Origin, Suppression, SuppressionCause};
use super::store::{self, SuppressionRow};
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
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn add(
        &self,
        team: TeamId,
        address: EmailAddress,
        origin: Origin,
        source: ChangeSource,
    ) -> Result<Suppression, StoreError> {
        let context = self.context.clone();
        self.context
            .store
            .write(move |tx| {
                let id = store::add(tx, &context, team, &address, SuppressionCause::listed(origin, source))?.id();
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
        team: TeamId,
        addresses: Vec<EmailAddress>,
        origin: Origin,
        source: ChangeSource,
    ) -> Result<Vec<SuppressionId>, StoreError> {
        let context = self.context.clone();
        let addresses = distinct(addresses);
        self.context
            .store
            .write_bulk_sized(addresses.len() * ENTRY_BYTES, move |tx| {
                let cause = SuppressionCause::listed(origin, source);
                let add = |address| Ok(store::add(tx, &context, team, address, cause)?.id());
                addresses.iter().map(add).collect()
            })
            .await
    }

    /// Returns a page of the list, newest first; of one origin, if given.
    ///
    /// # Errors
    /// [`PageError`].
    pub async fn list(
        &self,
        team: TeamId,
        origin: Option<Origin>,
        query: PageQuery<SuppressionId>,
    ) -> Result<Page<Suppression>, PageError> {
        self.context.store.read(move |tx| store::list(tx, team, origin, query)).await
    }

    /// Returns an entry. An entry whose address was erased is found only by its id.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn find(&self, team: TeamId, target: IdOrEmail<Marker>) -> Result<Option<Suppression>, StoreError> {
        let found = self.context.store.read(move |tx| find(tx, team, &target)).await?;
        Ok(found.map(|(id, row)| row.view(id)))
    }

    /// Removes an entry and returns its id; `None` if the team has no such entry. Finds the entry as
    /// [`Suppressions::find`] does. If the recipient opted out, the entry remains as an opt-out.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn remove(
        &self,
        team: TeamId,
        target: IdOrEmail<Marker>,
        source: ChangeSource,
    ) -> Result<Option<SuppressionId>, StoreError> {
        let context = self.context.clone();
        let remove = move |tx: &WriteTx<'_>| remove_targets(tx, &context, team, std::slice::from_ref(&target), source);
        Ok(self.context.store.write(remove).await?.into_iter().next())
    }

    /// Removes entries in one command. Returns the ids of the existing entries, in the order of the
    /// request.
    ///
    /// # Errors
    /// [`StoreError`]. No entry is removed.
    pub async fn remove_all(
        &self,
        team: TeamId,
        targets: BatchTarget,
        source: ChangeSource,
    ) -> Result<Vec<SuppressionId>, StoreError> {
        let context = self.context.clone();
        let targets: Vec<IdOrEmail<Marker>> = match targets {
            BatchTarget::Ids(ids) => ids.into_iter().map(IdOrEmail::Id).collect(),
            BatchTarget::Emails(emails) => emails.into_iter().map(IdOrEmail::Email).collect(),
        };
        self.context
            .store
            .write_bulk_sized(targets.len() * ENTRY_BYTES, move |tx| {
                remove_targets(tx, &context, team, &targets, source)
            })
            .await
    }
}

fn remove_targets(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    targets: &[IdOrEmail<Marker>],
    source: ChangeSource,
) -> Result<Vec<SuppressionId>, StoreError> {
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
    Ok(removed)
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
