//! Contacts: create, get, list, update, delete. Reads with number values and imports fail.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use resend_rs::Resend;
use resend_rs::list_opts::ListOptions;
use resend_rs::types::{
    Contact, ContactChanges, CreateContactImportOptions, CreateContactOptions, CreateContactPropertyOptions,
    PropertyType,
};

use crate::check::{Checked, Suite, UNKNOWN_ID, refused, same};

const EMAIL: &str = "rust-created@customer.example.net";

pub(crate) async fn run(suite: &Suite, client: &Resend) -> Checked {
    let segment = call!(suite, client, segments.create("Rust contacts"))?.id;
    creating(suite, client, &segment).await;
    reading(suite, client).await?;
    updating(suite, client).await?;
    in_audience(suite, client, &segment).await;
    numbers(suite, client).await?;
    imports(suite, client).await?;
    call!(suite, client, segments.delete(&segment))?;
    Ok(())
}

async fn creating(suite: &Suite, client: &Resend, segment: &str) {
    suite
        .check("contacts.create", "every field", async {
            let create = CreateContactOptions::new(EMAIL)
                .with_first_name("Ada")
                .with_last_name("Lovelace")
                .with_unsubscribed(true)
                .with_property("rust_city", "London")
                .with_segment(segment);
            let id = call!(suite, client, contacts.create(create))?;
            let contact = call!(suite, client, contacts.get(&id))?;
            same((&contact.id, contact.email.as_str(), contact.unsubscribed), (&id, EMAIL, true))?;
            same(names(&contact), (Some("Ada"), Some("Lovelace")))?;
            same(text(&contact, "rust_city"), Some("London"))?;
            same(chrono::DateTime::parse_from_rfc3339(&contact.created_at).is_ok(), true)?;
            let joined = call!(suite, client, contacts.list_contact_segment(&id, ListOptions::default()))?;
            same((joined.len(), &*joined[0].id), (1, segment))
        })
        .await;
    suite
        .check("contacts.create", "an email that exists updates that contact and returns its id", async {
            let first = call!(suite, client, contacts.get(EMAIL))?;
            let create = CreateContactOptions::new(EMAIL).with_first_name("Grace");
            same(&call!(suite, client, contacts.create(create))?, &first.id)?;
            same(names(&call!(suite, client, contacts.get(EMAIL))?), (Some("Grace"), Some("Lovelace")))
        })
        .await;
    suite
        .check("contacts.create", "a bad email is 422, a foreign segment 404", async {
            let bad = call!(suite, client, contacts.create(CreateContactOptions::new("not an address")));
            refused(422, "validation_error", bad)?;
            let foreign = CreateContactOptions::new("rust-lost@customer.example.net").with_segment(UNKNOWN_ID);
            refused(404, "not_found", call!(suite, client, contacts.create(foreign)))?;
            Ok(())
        })
        .await;
    suite
        .check("contacts.delete", "by email, then 404", async {
            same(call!(suite, client, contacts.delete(EMAIL))?, true)?;
            refused(404, "not_found", call!(suite, client, contacts.delete(EMAIL)))?;
            Ok(())
        })
        .await;
}

async fn reading(suite: &Suite, client: &Resend) -> Checked {
    let mut ids = Vec::new();
    for name in ["first", "second", "third"] {
        let create = CreateContactOptions::new(&format!("rust-{name}@customer.example.net"));
        ids.push(call!(suite, client, contacts.create(create))?);
    }
    suite
        .check("contacts.get", "by id and by email; an unknown one is 404", async {
            for key in [&*ids[0], "rust-first@customer.example.net", "RUST-first@customer.example.net"] {
                let contact = call!(suite, client, contacts.get(key))?;
                same((&contact.id, names(&contact)), (&ids[0], (None, None)))?;
            }
            let unknown = refused(404, "not_found", call!(suite, client, contacts.get(UNKNOWN_ID)))?;
            same(unknown.as_str(), "Contact not found")?;
            refused(404, "not_found", call!(suite, client, contacts.get("rust-nobody@customer.example.net")))?;
            Ok(())
        })
        .await;
    suite
        .check("contacts.list", "newest first, limit and cursors, the basic shape", async {
            let page = call!(suite, client, contacts.list(ListOptions::default().with_limit(2)))?;
            same((page.has_more, [&page[0].id, &page[1].id]), (true, [&ids[2], &ids[1]]))?;
            same(page.data.iter().all(|row| row.properties.is_none()), true)?;
            let options = ListOptions::default().with_limit(1).list_after(&ids[1]);
            same(&call!(suite, client, contacts.list(options))?[0].id, &ids[0])?;
            let options = ListOptions::default().with_limit(1).list_before(&ids[1]);
            same(&call!(suite, client, contacts.list(options))?[0].id, &ids[2])?;
            let options = ListOptions::default().list_after(UNKNOWN_ID);
            refused(422, "validation_error", call!(suite, client, contacts.list(options)))?;
            Ok(())
        })
        .await;
    for id in &ids {
        call!(suite, client, contacts.delete(id))?;
    }
    Ok(())
}

async fn updating(suite: &Suite, client: &Resend) -> Checked {
    let email = "rust-changing@customer.example.net";
    let create = CreateContactOptions::new(email).with_first_name("Ada").with_property("rust_city", "London");
    let id = call!(suite, client, contacts.create(create))?;
    suite
        .check("contacts.update", "by id and by email; other fields stay unchanged", async {
            let changes = ContactChanges::new().with_last_name("Hopper");
            same(&call!(suite, client, contacts.update(&id, changes))?.id, &id)?;
            let changes = ContactChanges::new().with_first_name("Grace");
            call!(suite, client, contacts.update(email, changes))?;
            let contact = call!(suite, client, contacts.get(&id))?;
            same(names(&contact), (Some("Grace"), Some("Hopper")))?;
            same(text(&contact, "rust_city"), Some("London"))?;
            let changes = ContactChanges::new().with_first_name("Ada");
            refused(404, "not_found", call!(suite, client, contacts.update(UNKNOWN_ID, changes)))?;
            Ok(())
        })
        .await;
    suite
        .check("contacts.update", "properties merge key by key; null removes one", async {
            let properties = HashMap::from([("rust_city".to_owned(), None), ("rust_team".to_owned(), Some("Blue"))]);
            call!(suite, client, contacts.update(&id, ContactChanges::new().with_properties(properties)))?;
            let contact = call!(suite, client, contacts.get(&id))?;
            same((text(&contact, "rust_city"), text(&contact, "rust_team")), (None, Some("Blue")))
        })
        .await;
    suite
        .check("contacts.update", "unsubscribed, then subscribed again", async {
            for unsubscribed in [true, false] {
                let changes = ContactChanges::new().with_unsubscribed(unsubscribed);
                call!(suite, client, contacts.update(email, changes))?;
                same(call!(suite, client, contacts.get(email))?.unsubscribed, unsubscribed)?;
            }
            Ok(())
        })
        .await;
    call!(suite, client, contacts.delete(&id))?;
    Ok(())
}

async fn in_audience(suite: &Suite, client: &Resend, audience: &str) {
    suite
        .check("contacts.create", "into an audience", async {
            let create = CreateContactOptions::new(EMAIL).with_audience_id(audience);
            let id = call!(suite, client, contacts.create(create))?;
            let page = call!(suite, client, segments.list_contacts(audience, ListOptions::default()))?;
            same((page.len(), &page[0].id), (1, &id))?;
            let foreign = CreateContactOptions::new(EMAIL).with_audience_id(UNKNOWN_ID);
            refused(404, "not_found", call!(suite, client, contacts.create(foreign)))?;
            same(call!(suite, client, contacts.delete(&id))?, true)
        })
        .await;
}

/// Checks that a number value cannot be decoded. The server returns a number, and the SDK expects a string.
async fn numbers(suite: &Suite, client: &Resend) -> Checked {
    let create = CreateContactPropertyOptions::new("rust_age", PropertyType::Number);
    let property = call!(suite, client, contacts.create_property(create))?.id;
    let create = CreateContactOptions::new(EMAIL).with_properties(HashMap::from([("rust_age".to_owned(), 36)]));
    let id = call!(suite, client, contacts.create(create))?;
    let note = "the SDK cannot read a number among the properties";
    suite.must_not_decode("contacts.get", note, call!(suite, client, contacts.get(&id)));
    call!(suite, client, contacts.delete(&id))?;
    call!(suite, client, contacts.delete_property(&property))?;
    Ok(())
}

async fn imports(suite: &Suite, client: &Resend) -> Checked {
    let path = Path::new(&std::env::var("CLIENT_DIR")?).join("contacts.csv");
    std::fs::write(&path, "email\none@example.net\n")?;
    let created = call!(suite, client, contacts.create_import(File::open(&path)?, CreateContactImportOptions::new()));
    suite.must_fail("contacts.create_import", "no CSV import", 404, "not_found", created);
    let list = call!(suite, client, contacts.list_imports(ListOptions::default()));
    suite.must_fail("contacts.list_imports", "no CSV import", 404, "not_found", list.map(drop));
    let one = call!(suite, client, contacts.get_import(UNKNOWN_ID));
    suite.must_fail("contacts.get_import", "no CSV import", 404, "not_found", one);
    Ok(())
}

fn names(contact: &Contact) -> (Option<&str>, Option<&str>) {
    (contact.first_name.as_deref(), contact.last_name.as_deref())
}

fn text<'a>(contact: &'a Contact, key: &str) -> Option<&'a str> {
    Some(contact.properties.as_ref()?.get(key)?.value.as_str())
}
