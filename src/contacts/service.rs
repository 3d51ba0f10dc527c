//! The use cases of contacts themselves: add, show, change, remove.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::batch::{Batch, BatchOptions, BatchOutcome, ContactBatchError};
use super::check::{ItemError, PropertySizes, ReferenceCache, spelled};
use super::model::{ContactChanges, NewContact, OptIns, Resubscribe};
use super::store::{self, ContactRow};
use super::view::{ContactView, IncludedFields, ShowError, Viewer};
use super::write::ContactWriter;
use crate::base::address::EmailAddress;
use crate::base::id::{ContactId, TeamId, resource};
use crate::base::id_or_email::IdOrEmail;
use crate::context::Context;
use crate::events::ChangeSource;
use crate::store::page::{Page, PageQuery, page};
use crate::store::{Reads, StoreError, WriteTx};
use crate::tables::CONTACTS;
use crate::{contact_properties, erasure};

/// What names a contact.
pub type ContactName = IdOrEmail<resource::Contact>;

/// Why a contact is not written.
#[derive(Debug)]
pub enum WriteError {
    /// The team has no such contact.
    NotFound,
    /// The write names another address than the contact's, which does not change.
    OtherEmail,
    /// The store refuses what is said of it.
    Refused(ItemError),
    /// The store failed.
    Store(StoreError),
}

impl From<StoreError> for WriteError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Contacts to remove, by one kind of name.
#[derive(Clone, Debug)]
pub enum Removal {
    /// By their ids.
    Ids(Vec<ContactId>),
    /// By their addresses.
    Emails(Vec<EmailAddress>),
}

/// Whether removed contacts leave their address in the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Erase {
    /// The send log keeps it.
    No,
    /// It is scrubbed from emails, events and logs.
    Yes,
}

/// The contacts of the instance.
pub struct Contacts {
    pub(super) context: Context,
}

impl Contacts {
    /// Wires the use cases of contacts.
    pub fn new(context: Context) -> Self {
        Self { context }
    }

    /// Adds a contact, or changes the one that has the address as an upsert does: what is not said
    /// stays, and so does an opt-out of everything.
    ///
    /// # Errors
    /// [`WriteError`]; nothing is stored.
    pub async fn create(&self, team: TeamId, new: NewContact, source: ChangeSource) -> Result<ContactView, WriteError> {
        let context = self.context.clone();
        let hash = new.email.identity_hash();
        self.context
            .store
            .write(move |tx| {
                let known = store::find_by_address(tx, team, &hash)?;
                let changes = accepted(tx, team, known.as_ref().map(|(_, row)| row), &new.changes)?;
                let mut writer = ContactWriter::new(tx, &context, team, source);
                let id = match known {
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

    /// Returns a contact with its properties and the facets asked for.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn find(
        &self,
        team: TeamId,
        name: ContactName,
        facets: IncludedFields,
    ) -> Result<Option<ContactView>, StoreError> {
        self.context
            .store
            .read(move |tx| {
                let Some((id, row)) = named(tx, team, &name)? else { return Ok(None) };
                Viewer::new(tx, team, facets)?.view(tx, id, row).map(Some)
            })
            .await
    }

    /// Returns those of the named contacts that the team has, each with its place in `names`, in
    /// their order.
    ///
    /// # Errors
    /// [`ShowError`].
    pub async fn find_all(
        &self,
        team: TeamId,
        names: Vec<ContactName>,
        facets: IncludedFields,
    ) -> Result<Vec<(usize, ContactView)>, ShowError> {
        self.context
            .store
            .read(move |tx| {
                let viewer = Viewer::new(tx, team, facets)?;
                let mut room = viewer.room();
                let mut found = Vec::with_capacity(names.len());
                for (place, name) in names.iter().enumerate() {
                    if let Some((id, row)) = named(tx, team, name)? {
                        let contact = viewer.view(tx, id, row)?;
                        room.take(&contact)?;
                        found.push((place, contact));
                    }
                }
                Ok(found)
            })
            .await
    }

    /// Returns a page of the team's contacts, newest first.
    ///
    /// # Errors
    /// [`ShowError`].
    pub async fn list(
        &self,
        team: TeamId,
        query: PageQuery<ContactId>,
        facets: IncludedFields,
    ) -> Result<Page<ContactView>, ShowError> {
        self.context
            .store
            .read(move |tx| {
                let viewer = Viewer::new(tx, team, facets)?;
                let page = page(tx, &CONTACTS, team, query, |id, row| viewer.view(tx, id, row.decode()?).map(Some))?;
                let mut room = viewer.room();
                page.rows.iter().try_for_each(|contact| room.take(contact))?;
                Ok(page)
            })
            .await
    }

    /// Changes one contact; `unsubscribed: false` is an explicit word here. `email`, where a request
    /// names one, is the contact's own.
    ///
    /// # Errors
    /// [`WriteError`]; nothing is stored.
    pub async fn update(
        &self,
        team: TeamId,
        name: ContactName,
        email: Option<EmailAddress>,
        changes: ContactChanges,
        source: ChangeSource,
    ) -> Result<ContactView, WriteError> {
        let context = self.context.clone();
        self.context
            .store
            .write(move |tx| {
                let (id, row) = named(tx, team, &name)?.ok_or(WriteError::NotFound)?;
                if email.as_ref().is_some_and(|email| !is_address_of(email, &row)) {
                    return Err(WriteError::OtherEmail);
                }
                let changes = accepted(tx, team, Some(&row), &changes)?;
                let mut writer = ContactWriter::new(tx, &context, team, source);
                writer.update(id, &row, &changes, Resubscribe::Allowed, OptIns::Allowed)?;
                writer.finish()?;
                show(tx, team, id)
            })
            .await
    }

    /// Removes a contact; `None` when the team has none of that name, and then nothing is erased.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn remove(
        &self,
        team: TeamId,
        name: ContactName,
        erase: Erase,
        source: ChangeSource,
    ) -> Result<Option<ContactId>, StoreError> {
        let context = self.context.clone();
        let remove = move |tx: &WriteTx<'_>| {
            if named(tx, team, &name)?.is_none() {
                return Ok(None);
            }
            Ok(remove_all(tx, &context, team, [&name], erase, source)?.first().copied())
        };
        self.context.store.write(remove).await
    }

    /// Removes contacts in one transaction, and returns those that were there. With [`Erase::Yes`] the
    /// addresses that have no contact, or none any more, are erased as well.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn remove_many(
        &self,
        team: TeamId,
        removal: Removal,
        erase: Erase,
        source: ChangeSource,
    ) -> Result<Vec<ContactId>, StoreError> {
        let context = self.context.clone();
        let names: Vec<ContactName> = match removal {
            Removal::Ids(ids) => ids.into_iter().map(ContactName::Id).collect(),
            Removal::Emails(emails) => emails.into_iter().map(ContactName::Email).collect(),
        };
        let bytes = names.len() * 512;
        self.context
            .store
            .write_bulk_sized(bytes, move |tx| remove_all(tx, &context, team, &names, erase, source))
            .await
    }

    /// Writes a batch, or nothing.
    ///
    /// # Errors
    /// [`ContactBatchError`].
    pub async fn batch(
        &self,
        team: TeamId,
        items: Vec<(usize, NewContact)>,
        options: BatchOptions,
    ) -> Result<BatchOutcome, ContactBatchError> {
        let context = self.context.clone();
        let batch = crate::base::blocking::run(move || Batch::new(items, options)).await;
        self.context.store.write_bulk_sized(batch.bytes(), move |tx| batch.apply(tx, &context, team)).await
    }

    /// Returns what a batch would come to.
    ///
    /// # Errors
    /// [`ContactBatchError`].
    pub async fn rehearse(
        &self,
        team: TeamId,
        items: Vec<(usize, NewContact)>,
        options: BatchOptions,
    ) -> Result<BatchOutcome, ContactBatchError> {
        self.context.store.read(move |tx| Batch::new(items, options).dry_run(tx, team)).await
    }

    /// Returns a page of rows as the team sees them.
    ///
    /// # Errors
    /// [`ShowError`].
    pub async fn show(
        &self,
        team: TeamId,
        page: Page<(ContactId, ContactRow)>,
        facets: IncludedFields,
    ) -> Result<Page<ContactView>, ShowError> {
        let Page { rows, has_more } = page;
        self.context
            .store
            .read(move |tx| {
                let viewer = Viewer::new(tx, team, facets)?;
                let mut room = viewer.room();
                let views = rows.into_iter().map(|(id, row)| {
                    let contact = viewer.view(tx, id, row)?;
                    room.take(&contact)?;
                    Ok(contact)
                });
                Ok(Page { rows: views.collect::<Result<_, ShowError>>()?, has_more })
            })
            .await
    }
}

fn is_address_of(email: &EmailAddress, row: &ContactRow) -> bool {
    EmailAddress::parse(&row.email).is_ok_and(|own| own.identity() == email.identity())
}

/// Returns the contact of that name.
pub(super) fn named(
    tx: &impl Reads,
    team: TeamId,
    name: &ContactName,
) -> Result<Option<(ContactId, ContactRow)>, StoreError> {
    match name {
        ContactName::Id(id) => Ok(store::find(tx, team, *id)?.map(|row| (*id, row))),
        ContactName::Email(email) => store::find_by_address(tx, team, &email.identity_hash()),
    }
}

/// Returns what is written of what a write says of the contact with that row, or of one that is to be
/// added. Refuses what names segments or topics of nobody or of another team, no number for one, or
/// more than a contact holds.
pub(super) fn accepted<'c>(
    tx: &impl Reads,
    team: TeamId,
    row: Option<&ContactRow>,
    changes: &'c ContactChanges,
) -> Result<Cow<'c, ContactChanges>, WriteError> {
    let definitions = contact_properties::definitions(tx, team)?;
    if let Some(error) = ReferenceCache::new(team).check(tx, &definitions, changes)? {
        return Err(WriteError::Refused(error));
    }
    PropertySizes::check(&definitions, row, changes).map_err(WriteError::Refused)?;
    let spelled = match row {
        Some(row) => spelled(&definitions, &row.properties, changes),
        None => spelled(&definitions, &BTreeMap::<String, String>::new(), changes),
    };
    Ok(spelled.map_or(Cow::Borrowed(changes), Cow::Owned))
}

fn show(tx: &impl Reads, team: TeamId, id: ContactId) -> Result<ContactView, WriteError> {
    let row = store::find(tx, team, id)?.ok_or(WriteError::NotFound)?;
    Ok(Viewer::new(tx, team, IncludedFields::PROPERTIES)?.view(tx, id, row)?)
}

fn remove_all<'n>(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    names: impl IntoIterator<Item = &'n ContactName>,
    erase: Erase,
    source: ChangeSource,
) -> Result<Vec<ContactId>, StoreError> {
    let mut writer = ContactWriter::new(tx, context, team, source);
    let mut removed = Vec::new();
    let mut erased = Vec::new();
    for name in names {
        match (named(tx, team, name)?, name) {
            (Some((id, row)), _) => {
                writer.remove(id, &row)?;
                removed.push(id);
                // One that does not read has been refused with its removal.
                erased.extend(EmailAddress::parse(&row.email));
            }
            // What is kept of somebody outlives their contact.
            (None, ContactName::Email(email)) => erased.push(email.clone()),
            (None, ContactName::Id(_)) => {}
        }
    }
    writer.finish()?;
    // After every event of the removals, which it reaches.
    match erase {
        Erase::No => {}
        Erase::Yes => erasure::request(tx, context, team, erased)?,
    }
    Ok(removed)
}
