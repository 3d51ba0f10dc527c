//! Deletion of contacts, with the erasure of their addresses if the caller requests it.

use super::store::request;
use super::worker::Erasures;
use crate::audit::{self, AuditAction, AuditEntry, AuditTargetKind, TeamActor};
use crate::base::id::ContactId;
use crate::contacts::{self, ContactName};
use crate::events::{ChangeSource, EventIdentity};
use crate::store::{StoreError, WriteTx};

/// Bytes of a contact name in the queue of the writer, at most.
const NAME_BYTES: usize = 512;

/// Whether the deletion of contacts erases their addresses from all other data of the team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressErasure {
    /// All other data keeps the addresses.
    No,
    /// A background erasure removes the addresses.
    Yes,
}

impl AddressErasure {
    /// Returns the form of the contact in the events of its deletion.
    const fn identity(self) -> EventIdentity {
        match self {
            Self::No => EventIdentity::Shown,
            Self::Yes => EventIdentity::Erased,
        }
    }
}

impl Erasures {
    /// Deletes a contact and returns its id; `None` if the team has no such contact. Then nothing is
    /// erased.
    pub async fn remove_contact(
        &self,
        by: impl Into<TeamActor>,
        name: ContactName,
        erase: AddressErasure,
        source: ChangeSource,
    ) -> Result<Option<ContactId>, StoreError> {
        let (by, context) = (by.into(), self.context.clone());
        let team = by.team;
        let remove = move |tx: &WriteTx<'_>| {
            let removed = contacts::remove(tx, &context, team, std::slice::from_ref(&name), source, erase.identity())?;
            let id = removed.ids.first().copied();
            // The erasure covers the events of the deletion: they are recorded before the request.
            if let Some(id) = id
                && erase == AddressErasure::Yes
            {
                request(tx, &context, team, removed.addresses)?;
                let entry = AuditEntry::new(AuditAction::ContactsErased).of(AuditTargetKind::Contact, id);
                audit::record(tx, &context, by, entry)?;
            }
            Ok(id)
        };
        self.context.store.write(remove).await
    }

    /// Deletes contacts and returns the ids of those that existed. [`AddressErasure::Yes`] also erases the addresses in
    /// `names` that have no contact. One transaction deletes all of them and requests the erasure.
    ///
    /// # Errors
    /// [`StoreError`]; no contact is deleted.
    pub async fn remove_contacts(
        &self,
        by: impl Into<TeamActor>,
        names: Vec<ContactName>,
        erase: AddressErasure,
        source: ChangeSource,
    ) -> Result<Vec<ContactId>, StoreError> {
        let (by, context) = (by.into(), self.context.clone());
        let team = by.team;
        let bytes = names.len() * NAME_BYTES;
        let remove = move |tx: &WriteTx<'_>| {
            let removed = contacts::remove(tx, &context, team, &names, source, erase.identity())?;
            if erase == AddressErasure::Yes {
                request(tx, &context, team, removed.addresses)?;
                let entry = AuditEntry::new(AuditAction::ContactsErased).with("count", names.len());
                audit::record(tx, &context, by, entry)?;
            }
            Ok(removed.ids)
        };
        self.context.store.write_bulk_sized(bytes, remove).await
    }
}
