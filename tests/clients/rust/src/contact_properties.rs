//! Contact properties, which are methods of the contacts in this SDK.

use resend_rs::Resend;
use resend_rs::list_opts::ListOptions;
use resend_rs::types::{ContactProperty, ContactPropertyChanges, CreateContactPropertyOptions, PropertyType};

use crate::check::{Checked, Suite, UNKNOWN_ID, refused, same};

pub(crate) async fn run(suite: &Suite, client: &Resend) -> Checked {
    let create = CreateContactPropertyOptions::new("rust_plan", PropertyType::String).with_fallback("free");
    let text = call!(suite, client, contacts.create_property(create))?.id;
    let create = CreateContactPropertyOptions::new("rust_seats", PropertyType::Number).with_fallback(5);
    let number = call!(suite, client, contacts.create_property(create))?.id;
    suite
        .check("contacts.create_property", "a key that exists is 409, a fallback of the wrong type 422", async {
            let again = CreateContactPropertyOptions::new("rust_plan", PropertyType::String);
            refused(409, "validation_error", call!(suite, client, contacts.create_property(again)))?;
            let wrong = CreateContactPropertyOptions::new("rust_kind", PropertyType::Number).with_fallback("many");
            refused(422, "validation_error", call!(suite, client, contacts.create_property(wrong)))?;
            Ok(())
        })
        .await;
    suite
        .check("contacts.list_properties", "newest first, limit and cursors", async {
            let page = call!(suite, client, contacts.list_properties(ListOptions::default().with_limit(2)))?;
            same([&page[0].id, &page[1].id], [&number, &text])?;
            let options = ListOptions::default().with_limit(1).list_after(&number);
            same(&call!(suite, client, contacts.list_properties(options))?[0].id, &text)?;
            let options = ListOptions::default().with_limit(1).list_before(&text);
            same(&call!(suite, client, contacts.list_properties(options))?[0].id, &number)
        })
        .await;
    suite
        .check("contacts.get_property", "every field; an unknown id is 404", async {
            let property = call!(suite, client, contacts.get_property(&text))?;
            same((property.key.as_str(), property.r#type), ("rust_plan", PropertyType::String))?;
            same(fallback(&property), Some("free"))?;
            let property = call!(suite, client, contacts.get_property(&number))?;
            same((property.r#type, fallback(&property)), (PropertyType::Number, Some("5")))?;
            let unknown = refused(404, "not_found", call!(suite, client, contacts.get_property(UNKNOWN_ID)))?;
            same(unknown.as_str(), "Contact property not found")
        })
        .await;
    suite
        .check("contacts.update_property", "another fallback, then none", async {
            let changes = ContactPropertyChanges::default().with_fallback(7.5);
            same(&call!(suite, client, contacts.update_property(&number, changes))?.id, &number)?;
            same(fallback(&call!(suite, client, contacts.get_property(&number))?), Some("7.5"))?;
            let changes = ContactPropertyChanges::default().with_fallback(None::<&str>);
            call!(suite, client, contacts.update_property(&number, changes))?;
            same(fallback(&call!(suite, client, contacts.get_property(&number))?), None)
        })
        .await;
    suite
        .check("contacts.delete_property", "deleted, then 404", async {
            for id in [&text, &number] {
                let response = call!(suite, client, contacts.delete_property(id))?;
                same((&response.id, response.deleted), (id, true))?;
                refused(404, "not_found", call!(suite, client, contacts.get_property(id)))?;
            }
            Ok(())
        })
        .await;
    Ok(())
}

fn fallback(property: &ContactProperty) -> Option<&str> {
    property.fallback_value.as_ref().and_then(|value| value.as_str())
}
