//! Contact properties, topics, segments and suppressions.

use millionsend::{
    AddSuppressionOptions, BatchAddSuppressionOptions, BatchRemoveSuppressionOptions, ContactAddress,
    ContactPropertyType, ContactTopicUpdate, CreateContactOptions, CreateContactPropertyOptions, CreateSegmentOptions,
    CreateTopicOptions, ListContactsOptions, ListOptions, ListSuppressionsOptions, MillionSend, SegmentCondition,
    SegmentFilter, SegmentMatch, SuppressionOrigin, TopicSubscription, TopicVisibility, UpdateContactPropertyOptions,
    UpdateSegmentOptions, UpdateTopicOptions,
};
use serde_json::Value;

use crate::check::{Checked, Suite, UNKNOWN_ID, refused, same};

const EMAIL: &str = "msrust-member@filter.example.org";
const NEWEST: ListOptions = ListOptions { limit: Some(1), after: None, before: None };

pub(crate) async fn properties(suite: &Suite, client: &MillionSend) -> Checked {
    let create = CreateContactPropertyOptions {
        key: "msrust_level".to_owned(),
        r#type: ContactPropertyType::Number,
        fallback_value: Some(1.into()),
    };
    let id = call!(suite, client, contacts.properties.create(&create))?.id;
    suite
        .check("contacts.properties.update", "another fallback, then none", async {
            for (fallback, stored) in [(Value::from(2), Some("2".into())), (Value::Null, None)] {
                let changes = UpdateContactPropertyOptions { fallback_value: Some(fallback) };
                same(&call!(suite, client, contacts.properties.update(&id, &changes))?.id, &id)?;
                same(call!(suite, client, contacts.properties.get(&id))?.fallback_value, stored)?;
            }
            Ok(())
        })
        .await;
    suite
        .check("contacts.properties.list", "newest first; a key that exists is 409", async {
            let page = call!(suite, client, contacts.properties.list(Some(&NEWEST)))?;
            same((&page.data[0].id, page.data[0].key.as_str()), (&id, "msrust_level"))?;
            refused(409, "validation_error", call!(suite, client, contacts.properties.create(&create)))?;
            Ok(())
        })
        .await;
    suite
        .check("contacts.properties.delete", "deleted, then 404", async {
            let response = call!(suite, client, contacts.properties.delete(&id))?;
            same((response.object.as_str(), &response.id, response.deleted), ("contact_property", &id, true))?;
            refused(404, "not_found", call!(suite, client, contacts.properties.get(&id)))?;
            Ok(())
        })
        .await;
    Ok(())
}

pub(crate) async fn topics(suite: &Suite, client: &MillionSend) -> Checked {
    let create = CreateTopicOptions::new("Msrust news", TopicSubscription::OptIn);
    let id = call!(suite, client, topics.create(&create))?.id;
    suite
        .check("topics.update", "a description and the visibility", async {
            let changes = UpdateTopicOptions {
                name: None,
                description: Some("Once a month".to_owned()),
                visibility: Some(TopicVisibility::Public),
            };
            same(&call!(suite, client, topics.update(&id, &changes))?.id, &id)?;
            let topic = call!(suite, client, topics.get(&id))?;
            same(
                (topic.description.as_deref(), topic.visibility),
                (Some("Once a month"), Some(TopicVisibility::Public)),
            )?;
            same(&call!(suite, client, topics.list())?.data[0].id, &id)
        })
        .await;
    suite
        .check("contacts.topics.update", "an explicit choice, read back by email", async {
            let contact = call!(suite, client, contacts.create(&CreateContactOptions::new(EMAIL)))?.id;
            for (choice, explicit) in [(None, false), (Some(TopicSubscription::OptOut), true)] {
                if let Some(subscription) = choice {
                    let update = ContactTopicUpdate { id: id.clone(), subscription };
                    same(&call!(suite, client, contacts.topics.update(&contact, &[update]))?.id, &contact)?;
                }
                let rows = call!(suite, client, contacts.topics.list(ContactAddress::email(EMAIL)))?.data;
                let row = rows.iter().find(|row| row.id == id).ok_or("the topic is not listed")?;
                same((row.subscription, row.explicit), (choice.unwrap_or(TopicSubscription::OptIn), explicit))?;
            }
            same(call!(suite, client, contacts.delete(&contact, None))?.deleted, true)
        })
        .await;
    suite
        .check("topics.delete", "deleted, then 404", async {
            let response = call!(suite, client, topics.delete(&id))?;
            same((response.object.as_str(), &response.id, response.deleted), ("topic", &id, true))?;
            refused(404, "not_found", call!(suite, client, topics.get(&id)))?;
            Ok(())
        })
        .await;
    Ok(())
}

fn filter(match_: SegmentMatch, conditions: &[(&str, &str, Option<&str>)]) -> SegmentFilter {
    let conditions = conditions
        .iter()
        .map(|&(field, op, value)| SegmentCondition {
            field: field.to_owned(),
            op: op.to_owned(),
            value: value.map(str::to_owned),
        })
        .collect();
    SegmentFilter { match_, conditions }
}

pub(crate) async fn segments(suite: &Suite, client: &MillionSend) -> Checked {
    let here = filter(
        SegmentMatch::All,
        &[("email", "ends_with", Some("@filter.example.org")), ("last_name", "is_not_set", None)],
    );
    let create = CreateSegmentOptions { name: "Msrust segment".to_owned(), filter: Some(here.clone()) };
    let id = call!(suite, client, segments.create(&create))?.id;
    let contact = call!(suite, client, contacts.create(&CreateContactOptions::new(EMAIL)))?.id;
    suite
        .check("segments.get", "the stored filter and the current count", async {
            let segment = call!(suite, client, segments.get(&id))?;
            same((segment.object.as_str(), segment.filter, segment.contact_count), ("segment", Some(here), Some(1)))?;
            same(&call!(suite, client, segments.list(Some(&NEWEST)))?.data[0].id, &id)?;
            refused(404, "not_found", call!(suite, client, segments.get(UNKNOWN_ID)))?;
            Ok(())
        })
        .await;
    suite
        .check("segments.list_contacts", "the members", async {
            let options = ListContactsOptions { limit: Some(1), ..ListContactsOptions::default() };
            let page = call!(suite, client, segments.list_contacts(&id, Some(&options)))?;
            same((page.has_more, page.data[0].id.as_str()), (false, contact.as_str()))
        })
        .await;
    suite
        .check("segments.update", "any condition, then no filter: the explicit members remain", async {
            let any = filter(SegmentMatch::Any, &[("first_name", "is_set", None), ("email", "equals", Some(EMAIL))]);
            let changes = UpdateSegmentOptions { name: None, filter: Some(Some(any.clone())) };
            same(call!(suite, client, segments.update(&id, &changes))?.filter, Some(any))?;
            call!(suite, client, contacts.segments.add(ContactAddress::email(EMAIL), &id))?;
            let changes = UpdateSegmentOptions { name: Some("Explicit".to_owned()), filter: Some(None) };
            let segment = call!(suite, client, segments.update(&id, &changes))?;
            same((segment.name.as_str(), segment.filter), ("Explicit", None))?;
            same(call!(suite, client, segments.get(&id))?.contact_count, Some(1))
        })
        .await;
    suite
        .check("contacts.segments.remove", "removed from the segment; the contact stays", async {
            let response = call!(suite, client, contacts.segments.remove(&contact, &id))?;
            same((response.audience_id.as_str(), response.deleted), (id.as_str(), true))?;
            same(call!(suite, client, segments.get(&id))?.contact_count, Some(0))?;
            same(call!(suite, client, contacts.get(&contact))?.email.as_str(), EMAIL)
        })
        .await;
    suite
        .check("segments.create", "an unknown field or operator is 422", async {
            for condition in [("shoe_size", "equals", Some("44")), ("email", "resembles", Some("x"))] {
                let bad = Some(filter(SegmentMatch::All, &[condition]));
                let bad = CreateSegmentOptions { name: "Bad".to_owned(), filter: bad };
                refused(422, "validation_error", call!(suite, client, segments.create(&bad)))?;
            }
            Ok(())
        })
        .await;
    suite
        .check("segments.delete", "deleted, then 404", async {
            let response = call!(suite, client, segments.delete(&id))?;
            same((response.object.as_str(), &response.id, response.deleted), ("segment", &id, true))?;
            refused(404, "not_found", call!(suite, client, segments.get(&id)))?;
            Ok(())
        })
        .await;
    call!(suite, client, contacts.delete(&contact, None))?;
    Ok(())
}

pub(crate) async fn suppressions(suite: &Suite, client: &MillionSend) -> Checked {
    let (one, two) = ("msrust-one@suppressed.example.net", "msrust-two@suppressed.example.net");
    let id = call!(suite, client, suppressions.add(&AddSuppressionOptions::new(one)))?.id;
    suite
        .check("suppressions.get", "by id and by email", async {
            for key in [id.as_str(), one] {
                let row = call!(suite, client, suppressions.get(key))?;
                same((&row.id, row.email.as_str(), row.origin), (&id, one, SuppressionOrigin::Manual))?;
            }
            let options = ListSuppressionsOptions {
                limit: Some(1),
                origin: Some(SuppressionOrigin::Manual),
                ..Default::default()
            };
            same(&call!(suite, client, suppressions.list(Some(&options)))?.data[0].id, &id)
        })
        .await;
    suite
        .check("suppressions.remove", "removed, then 404", async {
            same(call!(suite, client, suppressions.remove(one))?.deleted, true)?;
            refused(404, "not_found", call!(suite, client, suppressions.get(&id)))?;
            Ok(())
        })
        .await;
    suite
        .check("suppressions.list", "the opt-out of a deleted contact has the origin unsubscribe", async {
            let opted_out = CreateContactOptions { unsubscribed: Some(true), ..CreateContactOptions::new(two) };
            let contact = call!(suite, client, contacts.create(&opted_out))?.id;
            call!(suite, client, contacts.delete(&contact, None))?;
            let options =
                ListSuppressionsOptions { origin: Some(SuppressionOrigin::Unsubscribe), ..Default::default() };
            same(call!(suite, client, suppressions.list(Some(&options)))?.data[0].email.as_str(), two)?;
            same(call!(suite, client, suppressions.remove(two))?.deleted, true)
        })
        .await;
    suite
        .check("suppressions.batch_add", "ids in order, removed by ids and by emails", async {
            let add = BatchAddSuppressionOptions { emails: vec![one.to_owned(), two.to_owned()], origin: None };
            let added = call!(suite, client, suppressions.batch_add(&add))?.data;
            same((added.len(), &call!(suite, client, suppressions.get(two))?.id), (2, &added[1].id))?;
            let ids = BatchRemoveSuppressionOptions::Ids(vec![added[1].id.clone(), UNKNOWN_ID.to_owned()]);
            same(call!(suite, client, suppressions.batch_remove(&ids))?.data.len(), 1)?;
            let emails = BatchRemoveSuppressionOptions::Emails(vec![one.to_owned(), two.to_owned()]);
            let removed = call!(suite, client, suppressions.batch_remove(&emails))?.data;
            same((removed.len(), &removed[0].id), (1, &added[0].id))
        })
        .await;
    Ok(())
}
