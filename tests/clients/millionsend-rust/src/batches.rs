//! The batch calls of contacts.

use std::collections::HashMap;

use millionsend::{
    BatchContactStatus, BatchContactsOptions, BatchContactsResponse, BatchGetContactsOptions,
    BatchRemoveContactsOptions, BatchValidation, ContactAddress, ContactInclude, CreateContactOptions,
    DeleteContactOptions, MillionSend, OnConflict, SegmentRef, UpdateContactOptions,
};

use crate::check::{Checked, Suite, UNKNOWN_ID, refused, same};

const KNOWN: &str = "msrust-known@batch.example.net";
const NEW: &str = "msrust-new@batch.example.net";

pub(crate) async fn run(suite: &Suite, client: &MillionSend) -> Checked {
    conflicts(suite, client).await?;
    validation(suite, client).await;
    reading(suite, client).await;
    removing(suite, client).await;
    Ok(())
}

fn on_conflict(choice: OnConflict) -> BatchContactsOptions {
    BatchContactsOptions { on_conflict: Some(choice), batch_validation: None }
}

fn named(email: &str, first_name: &str) -> CreateContactOptions {
    CreateContactOptions { first_name: Some(first_name.to_owned()), ..CreateContactOptions::new(email) }
}

fn statuses(response: &BatchContactsResponse) -> Vec<(u32, BatchContactStatus)> {
    response.data.iter().map(|row| (row.index, row.status)).collect()
}

/// Returns the numbers of created, updated, skipped and failed contacts.
fn counts(response: &BatchContactsResponse) -> [u32; 4] {
    let counts = &response.counts;
    [counts.created, counts.updated, counts.skipped, counts.failed]
}

async fn conflicts(suite: &Suite, client: &MillionSend) -> Checked {
    let known = call!(suite, client, contacts.create(&named(KNOWN, "Ada")))?.id;
    let items = [named(KNOWN, "Grace"), named(NEW, "Grace")];
    suite
        .check("contacts.create_batch", "an existing email is 409, and no contact is stored", async {
            for options in [None, Some(on_conflict(OnConflict::Error))] {
                let result = call!(suite, client, contacts.create_batch(&items, options.as_ref()));
                let message = refused(409, "validation_error", result)?;
                ensure!(message.starts_with("contacts.0: "), "the message is {message:?}");
            }
            refused(404, "not_found", call!(suite, client, contacts.get(ContactAddress::email(NEW))))?;
            Ok(())
        })
        .await;
    suite
        .check("contacts.create_batch", "skip does not change the contact and returns its id", async {
            let options = on_conflict(OnConflict::Skip);
            let response = call!(suite, client, contacts.create_batch(&items, Some(&options)))?;
            same(statuses(&response), vec![(0, BatchContactStatus::Skipped), (1, BatchContactStatus::Created)])?;
            same((&response.data[0].id, counts(&response)), (&known, [1, 0, 1, 0]))?;
            let read = call!(suite, client, contacts.get(&known))?;
            same(read.first_name.as_deref(), Some("Ada"))
        })
        .await;
    suite
        .check("contacts.create_batch", "upsert merges, but does not opt in again", async {
            let unsubscribed = UpdateContactOptions { unsubscribed: Some(true), ..UpdateContactOptions::default() };
            call!(suite, client, contacts.update(&known, &unsubscribed))?;
            let item = CreateContactOptions {
                unsubscribed: Some(false),
                properties: Some(HashMap::from([("team".to_owned(), "red".into())])),
                ..named(KNOWN, "Grace")
            };
            let options = on_conflict(OnConflict::Upsert);
            let response = call!(suite, client, contacts.create_batch(&[item], Some(&options)))?;
            same((statuses(&response), counts(&response)), (vec![(0, BatchContactStatus::Updated)], [0, 1, 0, 0]))?;
            let read = call!(suite, client, contacts.get(&known))?;
            same((read.first_name.as_deref(), read.unsubscribed), (Some("Grace"), true))?;
            same(read.properties["team"]["value"].as_str(), Some("red"))
        })
        .await;
    let both = BatchRemoveContactsOptions::Emails(vec![KNOWN.to_owned(), NEW.to_owned()]);
    call!(suite, client, contacts.batch_remove(&both, None))?;
    Ok(())
}

async fn validation(suite: &Suite, client: &MillionSend) {
    let foreign = CreateContactOptions {
        segments: Some(vec![SegmentRef { id: UNKNOWN_ID.to_owned() }]),
        ..CreateContactOptions::new("msrust-foreign@batch.example.net")
    };
    let items = [CreateContactOptions::new(NEW), CreateContactOptions::new("not an address"), foreign];
    suite
        .check("contacts.create_batch", "strict: one bad item refuses the batch and names it", async {
            let message = refused(422, "validation_error", call!(suite, client, contacts.create_batch(&items, None)))?;
            ensure!(message.starts_with("contacts.1: "), "the message is {message:?}");
            refused(404, "not_found", call!(suite, client, contacts.get(ContactAddress::email(NEW))))?;
            refused(422, "validation_error", call!(suite, client, contacts.create_batch(&[], None)))?;
            Ok(())
        })
        .await;
    suite
        .check("contacts.create_batch", "permissive: valid items are stored, others are listed", async {
            let options =
                BatchContactsOptions { on_conflict: None, batch_validation: Some(BatchValidation::Permissive) };
            let response = call!(suite, client, contacts.create_batch(&items, Some(&options)))?;
            same(statuses(&response), vec![(0, BatchContactStatus::Created)])?;
            same(counts(&response), [1, 0, 0, 2])?;
            same(response.errors.iter().map(|row| row.index).collect(), vec![1, 2])?;
            let new = BatchRemoveContactsOptions::Emails(vec![NEW.to_owned()]);
            same(call!(suite, client, contacts.batch_remove(&new, None))?.data.len(), 1)
        })
        .await;
}

async fn reading(suite: &Suite, client: &MillionSend) {
    suite
        .check("contacts.batch_get", "in request order with the included fields, others under missing", async {
            let known = call!(suite, client, contacts.create(&named(KNOWN, "Ada")))?.id;
            let new = call!(suite, client, contacts.create(&named(NEW, "Grace")))?.id;
            let requested =
                [ContactAddress::email(NEW.to_uppercase()), ContactAddress::id(UNKNOWN_ID), (&known).into()];
            let response = call!(suite, client, contacts.batch_get(&requested, None))?;
            same(response.data.iter().map(|row| &row.id).collect(), vec![&new, &known])?;
            same(response.data.iter().all(|row| row.properties.is_none() && row.topics.is_none()), true)?;
            same((response.missing.len(), response.missing[0].index), (1, 1))?;
            same(response.missing[0].id.as_deref(), Some(UNKNOWN_ID))?;
            let options =
                BatchGetContactsOptions { include: Some(vec![ContactInclude::Properties, ContactInclude::Topics]) };
            let response = call!(suite, client, contacts.batch_get(&requested[..1], Some(&options)))?;
            same(response.data[0].properties.is_some() && response.data[0].topics.is_some(), true)?;
            refused(422, "validation_error", call!(suite, client, contacts.batch_get(&[], None)))?;
            Ok(())
        })
        .await;
}

async fn removing(suite: &Suite, client: &MillionSend) {
    suite
        .check("contacts.batch_remove", "by ids, then by emails and erased; deleted contacts are listed", async {
            let known = call!(suite, client, contacts.get(ContactAddress::email(KNOWN)))?.id;
            let ids = BatchRemoveContactsOptions::Ids(vec![known.clone(), UNKNOWN_ID.to_owned()]);
            let response = call!(suite, client, contacts.batch_remove(&ids, None))?;
            same((response.data.len(), &response.data[0].contact, response.data[0].deleted), (1, &known, true))?;
            let emails = BatchRemoveContactsOptions::Emails(vec![NEW.to_uppercase(), KNOWN.to_owned()]);
            let erase = DeleteContactOptions { erase: true };
            let response = call!(suite, client, contacts.batch_remove(&emails, Some(&erase)))?;
            same((response.data.len(), response.data[0].object.as_str()), (1, "contact"))?;
            let none = BatchRemoveContactsOptions::Ids(Vec::new());
            refused(422, "validation_error", call!(suite, client, contacts.batch_remove(&none, None)))?;
            Ok(())
        })
        .await;
}
