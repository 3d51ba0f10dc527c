//! Topics and the topic choices of one contact.

use resend_rs::Resend;
use resend_rs::list_opts::ListOptions;
use resend_rs::types::{
    CreateContactOptions, CreateTopicOptions, SubscriptionType, TopicId, TopicVisibility, UpdateContactTopicOptions,
    UpdateTopicOptions,
};

use crate::check::{Checked, Suite, UNKNOWN_ID, refused, same};

const EMAIL: &str = "rust-topics@customer.example.net";

pub(crate) async fn run(suite: &Suite, client: &Resend) -> Checked {
    let create = CreateTopicOptions::new("Rust news", SubscriptionType::OptIn)
        .with_description("What is new".to_owned())
        .with_visibility(TopicVisibility::Public);
    let news = call!(suite, client, topics.create(create))?.id;
    let create = CreateTopicOptions::new("Rust offers", SubscriptionType::OptOut);
    let offers = call!(suite, client, topics.create(create))?.id;
    suite
        .check("topics.create", "no name is 422", async {
            let unnamed = CreateTopicOptions::new("", SubscriptionType::OptIn);
            refused(422, "validation_error", call!(suite, client, topics.create(unnamed)))?;
            Ok(())
        })
        .await;
    suite
        .check("topics.list", "newest first, limit and cursors", async {
            let page = call!(suite, client, topics.list(ListOptions::default().with_limit(2)))?;
            same([&page[0].id, &page[1].id], [&offers, &news])?;
            let options = ListOptions::default().with_limit(1).list_after(&offers);
            same(&call!(suite, client, topics.list(options))?[0].id, &news)?;
            let options = ListOptions::default().with_limit(1).list_before(&news);
            same(&call!(suite, client, topics.list(options))?[0].id, &offers)
        })
        .await;
    suite
        .check("topics.get", "every field; an unknown id is 404", async {
            let topic = call!(suite, client, topics.get(&news))?;
            same((topic.name.as_str(), topic.description.as_deref()), ("Rust news", Some("What is new")))?;
            same((topic.default_subscription, topic.visibility), (SubscriptionType::OptIn, TopicVisibility::Public))?;
            let topic = call!(suite, client, topics.get(&offers))?;
            same((topic.description, topic.visibility), (None, TopicVisibility::Private))?;
            let unknown = refused(404, "not_found", call!(suite, client, topics.get(UNKNOWN_ID)))?;
            same(unknown.as_str(), "Topic not found")
        })
        .await;
    suite
        .check("topics.update", "a null name does not change the name; then name and description", async {
            let changes = UpdateTopicOptions::new().with_visibility(TopicVisibility::Private);
            same(&call!(suite, client, topics.update(&news, changes))?.id, &news)?;
            let topic = call!(suite, client, topics.get(&news))?;
            same((topic.name.as_str(), topic.visibility), ("Rust news", TopicVisibility::Private))?;
            let changes = UpdateTopicOptions::new().with_name("Rust letters").with_description("Once a month");
            call!(suite, client, topics.update(&news, changes))?;
            let topic = call!(suite, client, topics.get(&news))?;
            same((topic.name.as_str(), topic.description.as_deref()), ("Rust letters", Some("Once a month")))
        })
        .await;
    choices(suite, client, &news, &offers).await?;
    suite
        .check("topics.delete", "deleted, then 404", async {
            for id in [&news, &offers] {
                let response = call!(suite, client, topics.delete(id))?;
                same((&response.id, response.deleted), (id, true))?;
                refused(404, "not_found", call!(suite, client, topics.get(id)))?;
            }
            Ok(())
        })
        .await;
    Ok(())
}

async fn choices(suite: &Suite, client: &Resend, news: &TopicId, offers: &TopicId) -> Checked {
    let opted_in = UpdateContactTopicOptions::new(offers.to_string(), SubscriptionType::OptIn);
    let contact = call!(suite, client, contacts.create(CreateContactOptions::new(EMAIL).with_topic(opted_in)))?;
    suite
        .check("contacts.get_contact_topics", "the default without a choice, by id and by email", async {
            for key in [&*contact, EMAIL] {
                same(chosen(suite, client, key, [news, offers]).await?, [true, true])?;
            }
            let unknown = call!(suite, client, contacts.get_contact_topics(UNKNOWN_ID, ListOptions::default()));
            same(refused(404, "not_found", unknown)?.as_str(), "Contact not found")
        })
        .await;
    suite
        .check("contacts.update_contact_topics", "by id and by email; an unknown topic is 404", async {
            for (key, topic) in [(&*contact, news), (EMAIL, offers)] {
                let opted_out = UpdateContactTopicOptions::new(topic.to_string(), SubscriptionType::OptOut);
                same(&call!(suite, client, contacts.update_contact_topics(key, [opted_out]))?.id, &contact)?;
            }
            same(chosen(suite, client, EMAIL, [news, offers]).await?, [false, false])?;
            let foreign = UpdateContactTopicOptions::new(UNKNOWN_ID, SubscriptionType::OptOut);
            let foreign = call!(suite, client, contacts.update_contact_topics(EMAIL, [foreign]));
            refused(404, "not_found", foreign)?;
            Ok(())
        })
        .await;
    call!(suite, client, contacts.delete(EMAIL))?;
    Ok(())
}

/// Whether the contact is opted in to each of the topics.
async fn chosen<const N: usize>(
    suite: &Suite,
    client: &Resend,
    key: &str,
    topics: [&TopicId; N],
) -> Checked<[bool; N]> {
    let page = call!(suite, client, contacts.get_contact_topics(key, ListOptions::default()))?;
    Ok(topics.map(|topic| page.data.iter().any(|row| row.id == *topic && row.subscription == SubscriptionType::OptIn)))
}
