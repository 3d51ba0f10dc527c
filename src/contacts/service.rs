//! The use cases of contacts: create, read, change and remove.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::batch::{BatchOptions, BatchOutcome, ContactBatch, ContactBatchError};
use super::check::{ItemError, PropertySizes, ReferenceCache, normalize_keys};
use super::model::{ContactChanges, NewContact, OptIns, Resubscribe};
use super::store::{self, ContactRow};
use super::view::{ContactView, ContactViewer, IncludedFields, ShowError};
use super::write::ContactWriter;
use crate::base::address::EmailAddress;
use crate::base::id::{ContactId, TeamId, resource};
use crate::base::id_or_email::IdOrEmail;
use crate::contact_properties;
use crate::context::Context;
use crate::events::{ChangeSource, EventIdentity};
use crate::store::page::{Page, PageQuery, page};
use crate::store::{Reads, StoreError, WriteTx, from_store_error};
use crate::tables::CONTACTS;

/// Id or address of a contact.
pub type ContactName = IdOrEmail<resource::Contact>;

/// Reason why a contact is not written.
#[derive(Debug)]
pub enum WriteError {
    /// The team has no such contact.
    NotFound,
    /// The request contains another address than the contact's. An address cannot change.
    OtherEmail,
    /// The request contains the id of another contact.
    OtherId,
    /// The changes are not valid.
    Rejected(ItemError),
    Store(StoreError),
}

from_store_error!(WriteError);

/// Id and address that a request repeats. Each must be that of the contact, if it is present.
#[derive(Debug, Default)]
pub struct RepeatedIdentity {
    pub id: Option<ContactId>,
    pub email: Option<EmailAddress>,
}

/// Contacts that a transaction has deleted.
#[derive(Debug)]
pub(crate) struct RemovedContacts {
    /// Their ids, in the order of their names.
    pub(crate) ids: Vec<ContactId>,
    /// Their addresses, and the addresses among the names that have no contact.
    pub(crate) addresses: Vec<EmailAddress>,
}

/// The use cases of contacts, for all teams.
pub struct Contacts {
    pub(super) context: Context,
}

impl Contacts {
    pub fn new(context: Context) -> Self {
        Self { context }
    }

    /// Creates a contact, or changes the contact that has the address already. A change leaves absent
    /// fields and an opt-out of all marketing email unchanged.
    ///
    /// # Errors
    /// [`WriteError`]; nothing is stored.
    pub async fn create(&self, team: TeamId, new: NewContact, source: ChangeSource) -> Result<ContactView, WriteError> {
        let context = self.context.clone();
        let hash = new.email.identity_hash();
        self.context
            .store
            .write(move |tx| {
                let existing = store::find_by_address(tx, team, &hash)?;
                let changes = check_changes(tx, team, existing.as_ref().map(|(_, row)| row), &new.changes)?;
                let mut writer = ContactWriter::new(tx, &context, team, source);
                let id = match existing {
                    Some((id, row)) => {
                        writer.update(id, &row, &changes, Resubscribe::Never, OptIns::Allowed)?;
                        id
                    }
                    None => {
                        let new = NewContact { email: new.email.clone(), changes: changes.into_owned() };
                        writer.create(&new, &hash)?
                    }
                };
                writer.finish()?;
                show(tx, team, id)
            })
            .await
    }

    /// Returns a contact with the included fields; `None` if the team has no such contact.
    pub async fn find(
        &self,
        team: TeamId,
        name: ContactName,
        include: IncludedFields,
    ) -> Result<Option<ContactView>, StoreError> {
        self.context
            .store
            .read(move |tx| {
                let Some((id, row)) = find_named(tx, team, &name)? else { return Ok(None) };
                ContactViewer::new(tx, team, include)?.view(tx, id, row).map(Some)
            })
            .await
    }

    /// Returns the contacts in `names` that exist, in order, each with its index in `names`.
    ///
    /// # Errors
    /// [`ShowError::TooLarge`] or [`ShowError::Store`].
    pub async fn find_all(
        &self,
        team: TeamId,
        names: Vec<ContactName>,
        include: IncludedFields,
    ) -> Result<Vec<(usize, ContactView)>, ShowError> {
        self.context
            .store
            .read(move |tx| {
                let viewer = ContactViewer::new(tx, team, include)?;
                let mut budget = viewer.response_budget();
                let mut found = Vec::with_capacity(names.len());
                for (index, name) in names.iter().enumerate() {
                    if let Some((id, row)) = find_named(tx, team, name)? {
                        let contact = viewer.view(tx, id, row)?;
                        budget.take(&contact)?;
                        found.push((index, contact));
                    }
                }
                Ok(found)
            })
            .await
    }

    /// Returns a page of the team's contacts, newest first.
    pub async fn list(
        &self,
        team: TeamId,
        query: PageQuery<ContactId>,
        include: IncludedFields,
    ) -> Result<Page<ContactView>, ShowError> {
        self.context
            .store
            .read(move |tx| {
                let viewer = ContactViewer::new(tx, team, include)?;
                let page = page(tx, &CONTACTS, team, query, |id, row| viewer.view(tx, id, row).map(Some))?;
                let mut budget = viewer.response_budget();
                page.rows.iter().try_for_each(|contact| budget.take(contact))?;
                Ok(page)
            })
            .await
    }

    /// Changes one contact. `unsubscribed: false` subscribes it again.
    ///
    /// # Errors
    /// [`WriteError`]; nothing is stored.
    pub async fn update(
        &self,
        team: TeamId,
        name: ContactName,
        repeated: RepeatedIdentity,
        changes: ContactChanges,
        source: ChangeSource,
    ) -> Result<ContactView, WriteError> {
        let context = self.context.clone();
        self.context
            .store
            .write(move |tx| {
                let (id, row) = find_named(tx, team, &name)?.ok_or(WriteError::NotFound)?;
                let RepeatedIdentity { id: repeated_id, email } = &repeated;
                if repeated_id.is_some_and(|repeated_id| repeated_id != id) {
                    return Err(WriteError::OtherId);
                }
                if email.as_ref().is_some_and(|email| email.identity() != row.email.identity()) {
                    return Err(WriteError::OtherEmail);
                }
                let changes = check_changes(tx, team, Some(&row), &changes)?;
                let mut writer = ContactWriter::new(tx, &context, team, source);
                writer.update(id, &row, &changes, Resubscribe::Allowed, OptIns::Allowed)?;
                writer.finish()?;
                show(tx, team, id)
            })
            .await
    }

    /// Writes a batch in one bulk transaction. Each item has its index in the request.
    ///
    /// # Errors
    /// [`ContactBatchError`]; nothing is stored.
    pub async fn batch(
        &self,
        team: TeamId,
        items: Vec<(usize, NewContact)>,
        options: BatchOptions,
    ) -> Result<BatchOutcome, ContactBatchError> {
        let context = self.context.clone();
        let batch = crate::base::blocking::run(move || ContactBatch::new(items, options)).await;
        self.context.store.write_bulk_sized(batch.bytes(), move |tx| batch.apply(tx, &context, team)).await
    }

    /// Returns the outcome that [`batch`](Self::batch) would have, and writes nothing.
    pub async fn dry_run(
        &self,
        team: TeamId,
        items: Vec<(usize, NewContact)>,
        options: BatchOptions,
    ) -> Result<BatchOutcome, ContactBatchError> {
        self.context.store.read(move |tx| ContactBatch::new(items, options).dry_run(tx, team)).await
    }

    /// Converts a page of rows into views with the included fields.
    ///
    /// # Errors
    /// [`ShowError::TooLarge`] or [`ShowError::Store`].
    pub async fn show(
        &self,
        team: TeamId,
        page: Page<(ContactId, ContactRow)>,
        include: IncludedFields,
    ) -> Result<Page<ContactView>, ShowError> {
        let Page { rows, has_more } = page;
        self.context
            .store
            .read(move |tx| {
                let viewer = ContactViewer::new(tx, team, include)?;
                let mut budget = viewer.response_budget();
                let views = rows.into_iter().map(|(id, row)| {
                    let contact = viewer.view(tx, id, row)?;
                    budget.take(&contact)?;
                    Ok(contact)
                });
                Ok(Page { rows: views.collect::<Result<_, ShowError>>()?, has_more })
            })
            .await
    }
}

/// Returns the contact with this id or address.
pub(super) fn find_named(
    tx: &impl Reads,
    team: TeamId,
    name: &ContactName,
) -> Result<Option<(ContactId, ContactRow)>, StoreError> {
    match name {
        ContactName::Id(id) => Ok(store::find(tx, team, *id)?.map(|row| (*id, row))),
        ContactName::Email(email) => store::find_by_address(tx, team, &email.identity_hash()),
    }
}

/// Validates changes to a contact and returns them with normalized property keys. `row` is the stored
/// contact; `None` if the contact is new.
///
/// # Errors
/// [`WriteError::Rejected`] if the team lacks a segment or a topic, a value has the wrong type, or the
/// properties exceed a limit; [`WriteError::Store`].
pub(super) fn check_changes<'c>(
    tx: &impl Reads,
    team: TeamId,
    row: Option<&ContactRow>,
    changes: &'c ContactChanges,
) -> Result<Cow<'c, ContactChanges>, WriteError> {
    let definitions = contact_properties::definitions(tx, team)?;
    if let Some(error) = ReferenceCache::new(team).check(tx, &definitions, changes)? {
        return Err(WriteError::Rejected(error));
    }
    PropertySizes::check(&definitions, row, changes).map_err(WriteError::Rejected)?;
    let normalized = match row {
        Some(row) => normalize_keys(&definitions, &row.properties, changes),
        None => normalize_keys(&definitions, &BTreeMap::<String, String>::new(), changes),
    };
    Ok(normalized.map_or(Cow::Borrowed(changes), Cow::Owned))
}

fn show(tx: &impl Reads, team: TeamId, id: ContactId) -> Result<ContactView, WriteError> {
    let row = store::find(tx, team, id)?.ok_or(WriteError::NotFound)?;
    Ok(ContactViewer::new(tx, team, IncludedFields::PROPERTIES)?.view(tx, id, row)?)
}

/// Deletes contacts by their names and records the events. Skips a name without a contact.
pub(crate) fn remove(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    names: &[ContactName],
    source: ChangeSource,
    identity: EventIdentity,
) -> Result<RemovedContacts, StoreError> {
    let mut writer = ContactWriter::new(tx, context, team, source).with_identity(identity);
    let mut removed = RemovedContacts { ids: Vec::new(), addresses: Vec::new() };
    for name in names {
        match (find_named(tx, team, name)?, name) {
            (Some((id, row)), _) => {
                writer.remove(id, &row)?;
                removed.ids.push(id);
                removed.addresses.push(row.email);
            }
            // Emails, events and logs can contain the address without a contact.
            (None, ContactName::Email(email)) => removed.addresses.push(email.clone()),
            (None, ContactName::Id(_)) => {}
        }
    }
    writer.finish()?;
    Ok(removed)
}
