//! Deletion of contacts with the erasure of their addresses.

use super::*;
use crate::base::id::ContactId;
use crate::contacts::{ContactChanges, ContactName, ContactWriter, NewContact};
use crate::erasure::AddressErasure;
use crate::events::ChangeSource;
use crate::tables::CONTACTS;

/// Creates contacts and returns their names.
async fn create(context: &Context, count: usize) -> Vec<ContactId> {
    let creating = context.clone();
    let add = move |tx: &WriteTx<'_>| {
        let mut writer = ContactWriter::new(tx, &creating, TEAM, ChangeSource::Api);
        let mut ids = Vec::with_capacity(count);
        for number in 0..count {
            let email = address(&format!("c{number}@example.com"));
            let hash = email.identity_hash();
            ids.push(writer.create(&NewContact { email, changes: ContactChanges::default() }, &hash)?);
        }
        writer.finish()?;
        Ok(ids)
    };
    context.commit(add).await
}

#[tokio::test]
async fn a_removal_of_many_contacts_deletes_all_of_them_or_none() {
    let (_directory, context) = Context::temporary();
    let ids = create(&context, 600).await;
    let contacts = || context.keys(&CONTACTS).len();
    let last = ids[599];
    let intact = context.read(|tx| tx.get(&CONTACTS, &(TEAM, last))).unwrap();
    context.corrupt(&CONTACTS, (TEAM, last)).await;
    let erasures = Erasures::new(context.clone(), PendingEntries::default());
    let remove = async || {
        let names = ids.iter().map(|id| ContactName::Id(*id)).collect();
        erasures.remove_contacts(TEAM, names, AddressErasure::Yes, ChangeSource::Api).await
    };

    assert!(matches!(remove().await, Err(StoreError::Corrupt(_))));
    assert_eq!((contacts(), pending(&context).len()), (600, 0));
    context.commit(move |tx| tx.put(&CONTACTS, &(TEAM, last), &intact)).await;
    assert_eq!(remove().await.unwrap(), ids);
    assert_eq!((contacts(), pending(&context).len()), (0, 1));
}
