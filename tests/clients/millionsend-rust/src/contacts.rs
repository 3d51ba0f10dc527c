//! Single contacts: null values, `include`, the preference link, erasure.

use std::collections::HashMap;

use millionsend::{
    ContactAddress, ContactInclude, CreateContactOptions, DeleteContactOptions, ListContactsOptions, MillionSend,
    UpdateContactOptions,
};

use crate::check::{Checked, Suite, UNKNOWN_ID, refused, same};

const EMAIL: &str = "msrust@customer.example.net";

pub(crate) async fn run(suite: &Suite, client: &MillionSend) -> Checked {
    let email = || ContactAddress::email(EMAIL);
    let create = CreateContactOptions {
        first_name: Some("Ada".to_owned()),
        properties: Some(HashMap::from([("team".to_owned(), "red".into()), ("floor".to_owned(), "3".into())])),
        ..CreateContactOptions::new(EMAIL)
    };
    let id = call!(suite, client, contacts.create(&create))?.id;
    suite
        .check("contacts.get", "by id and by email; an unknown one is 404", async {
            for address in [ContactAddress::id(&id), email()] {
                let contact = call!(suite, client, contacts.get(address))?;
                same((contact.object.as_str(), &contact.id, contact.email.as_str()), ("contact", &id, EMAIL))?;
                same(contact.properties["team"]["type"].as_str(), Some("string"))?;
            }
            refused(404, "not_found", call!(suite, client, contacts.get(UNKNOWN_ID)))?;
            Ok(())
        })
        .await;
    suite
        .check("contacts.update", "null clears a name and a property, other fields stay unchanged", async {
            let changes = UpdateContactOptions {
                first_name: Some(None),
                last_name: Some(Some("Lovelace".to_owned())),
                properties: Some(HashMap::from([("team".to_owned(), serde_json::Value::Null)])),
                ..UpdateContactOptions::default()
            };
            same(&call!(suite, client, contacts.update(email(), &changes))?.id, &id)?;
            let contact = call!(suite, client, contacts.get(&id))?;
            same((contact.first_name, contact.last_name.as_deref()), (None, Some("Lovelace")))?;
            same(contact.properties.keys().map(String::as_str).collect(), vec!["floor"])
        })
        .await;
    suite
        .check("contacts.list", "include adds properties and topics", async {
            let mut options = ListContactsOptions { limit: Some(1), ..ListContactsOptions::default() };
            let plain = call!(suite, client, contacts.list(Some(&options)))?;
            same((&plain.data[0].id, plain.data[0].properties.is_none()), (&id, true))?;
            options.include = Some(vec![ContactInclude::Properties, ContactInclude::Topics]);
            let full = call!(suite, client, contacts.list(Some(&options)))?;
            same(full.data[0].properties.is_some() && full.data[0].topics.is_some(), true)?;
            options.after = Some(UNKNOWN_ID.to_owned());
            refused(422, "validation_error", call!(suite, client, contacts.list(Some(&options))))?;
            Ok(())
        })
        .await;
    suite
        .check("contacts.preferences_link", "by id and by email; an unknown contact is 404", async {
            for address in [ContactAddress::id(&id), email()] {
                let link = call!(suite, client, contacts.preferences_link(address))?;
                same((link.object.as_str(), &link.contact), ("preferences_link", &id))?;
                ensure!(link.url.starts_with(client.base_url()), "the link is {}", link.url);
            }
            refused(404, "not_found", call!(suite, client, contacts.preferences_link(UNKNOWN_ID)))?;
            Ok(())
        })
        .await;
    suite
        .check("contacts.delete", "erased, then 404", async {
            let erase = DeleteContactOptions { erase: true };
            let response = call!(suite, client, contacts.delete(email(), Some(&erase)))?;
            same((&response.contact, response.deleted), (&id, true))?;
            refused(404, "not_found", call!(suite, client, contacts.delete(&id, None)))?;
            Ok(())
        })
        .await;
    Ok(())
}
