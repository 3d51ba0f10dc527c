//! The preference page with every public topic, and the opt-out of all topics.

use ringmail::base::id::{Id, TopicId};
use ringmail::events::ChangeSource;
use ringmail::suppressions::SuppressionOrigin;
use ringmail::topics::{Subscription, TopicVisibility};
use serde_json::json;

use super::{
    PageResponse, assert_accepted, assert_suppressed, contact_events, counted_opt_outs, create_topic,
    create_topic_with, deliver, get_page, post, post_and_follow, preferences_path, suppression_origins, topic_choice,
    topic_path, unsubscribe_path,
};
use crate::support::TestServer;

const ADA: &str = "ada@example.org";

/// Returns the topics that the page lists, and whether each is checked.
fn listed_topics(server: &TestServer, path: &str) -> Vec<(String, bool)> {
    let page = get_page(server, path);
    let boxes = page.body.split("<input type=\"checkbox\"").skip(1).map(|row| {
        let (input, rest) = row.split_once('>').unwrap();
        let (_, name) = rest.split_once("<bdi>").unwrap();
        (name.split("</bdi>").next().unwrap().to_owned(), input.contains(" checked"))
    });
    boxes.collect()
}

/// Returns the form data of a page with the topics `shown`, of which `checked` are checked.
fn save_form(shown: &[TopicId], checked: &[TopicId]) -> String {
    let form = shown.iter().fold("prefs=1".to_owned(), |form, topic| format!("{form}&shown={topic}"));
    checked.iter().fold(form, |form, topic| format!("{form}&topic={topic}"))
}

/// Returns the ids of the topics that a page shows.
fn shown_topics(page: &PageResponse) -> Vec<TopicId> {
    let fields = page.body.split("name=\"shown\" value=\"").skip(1);
    fields.map(|rest| rest.split('"').next().and_then(TopicId::parse).expect("an id")).collect()
}

#[test]
fn the_page_lists_the_public_topics_with_their_subscriptions() {
    let server = TestServer::start();
    let news = create_topic(&server, "News");
    create_topic_with(&server, "Offers", Subscription::OptOut, TopicVisibility::Public);
    let secret = create_topic_with(&server, "Secret", Subscription::OptIn, TopicVisibility::Private);
    let chosen = create_topic_with(&server, "Events", Subscription::OptOut, TopicVisibility::Public);
    let contact = server.add_contact(ADA, false);
    server.put_topic_choice(contact, chosen, Subscription::OptIn);

    let expected = [("News".to_owned(), true), ("Offers".to_owned(), false), ("Events".to_owned(), true)];
    assert_eq!(listed_topics(&server, &preferences_path(&server, ADA)), expected);
    assert_eq!(listed_topics(&server, &topic_path(&server, news, ADA)), expected);
    let private = get_page(&server, &topic_path(&server, secret, ADA));
    assert!(private.text().contains("Secret") && !private.text().contains("News"), "{}", private.body);
    assert_eq!(private.text().matches("<button").count(), 1, "{}", private.body);
    // Topic choices belong to a contact, so the page of an address without a contact lists no topic.
    assert_eq!(listed_topics(&server, &preferences_path(&server, "bob@example.org")), []);
}

#[test]
fn saving_stores_every_listed_topic_and_emits_events_for_changes() {
    let server = TestServer::start();
    let (news, events) = (create_topic(&server, "News"), create_topic(&server, "Events"));
    let offers = create_topic_with(&server, "Offers", Subscription::OptOut, TopicVisibility::Public);
    let secret = create_topic_with(&server, "Secret", Subscription::OptIn, TopicVisibility::Private);
    let contact = server.add_contact(ADA, false);
    let path = preferences_path(&server, ADA);

    let listed = shown_topics(&get_page(&server, &path));
    assert_eq!(listed, [news, events, offers]);

    let page = post_and_follow(&server, &path, &save_form(&[news, events, offers, secret], &[news, offers, Id::MAX]));

    assert!(page.text().contains("Your choices have been saved."), "{}", page.body);
    assert_eq!(topic_choice(&server, contact, news), Some(Subscription::OptIn));
    assert_eq!(topic_choice(&server, contact, events), Some(Subscription::OptOut));
    assert_eq!(topic_choice(&server, contact, offers), Some(Subscription::OptIn));
    assert_eq!(topic_choice(&server, contact, secret), None);
    assert_eq!(topic_choice(&server, contact, Id::MAX), None);
    let changes =
        [("contact.topic_opt_out", ChangeSource::HostedPage), ("contact.topic_opt_in", ChangeSource::HostedPage)];
    assert_eq!(sorted(contact_events(&server)), sorted(changes.to_vec()));

    post_and_follow(&server, &path, &save_form(&listed, &[news, offers]));
    assert_eq!(contact_events(&server).len(), 2);
    assert_suppressed(&server, events, ADA);
    assert_accepted(&server, offers, ADA);
}

#[test]
fn saving_an_opt_out_of_the_topic_of_the_link_counts_once() {
    let server = TestServer::start();
    let (news, events) = (create_topic(&server, "News"), create_topic(&server, "Events"));
    server.add_contact(ADA, false);
    let path = unsubscribe_path(&server, &deliver(&server, news, ADA, &json!({})));

    for (checked, expected) in [(vec![news], 0), (vec![events], 1), (vec![], 1), (vec![news, events], 1), (vec![], 1)] {
        post_and_follow(&server, &path, &save_form(&[news, events], &checked));

        assert_eq!(counted_opt_outs(&server), expected, "{checked:?}");
    }
}

#[test]
fn saving_keeps_unlisted_topics_and_the_opt_out_of_all_topics() {
    let server = TestServer::start();
    let (news, secret) = (
        create_topic(&server, "News"),
        create_topic_with(&server, "Secret", Subscription::OptIn, TopicVisibility::Private),
    );
    let contact = server.add_contact(ADA, true);

    post_and_follow(&server, &preferences_path(&server, ADA), &save_form(&[news], &[news]));
    assert_eq!(topic_choice(&server, contact, news), Some(Subscription::OptIn));
    assert_suppressed(&server, news, ADA);

    // The page of a private topic lists no topic.
    post_and_follow(&server, &topic_path(&server, secret, ADA), &save_form(&[news, secret], &[]));
    assert_eq!(
        (topic_choice(&server, contact, news), topic_choice(&server, contact, secret)),
        (Some(Subscription::OptIn), None)
    );
    // The page of an address without a contact lists no topic either.
    post_and_follow(&server, &preferences_path(&server, "bob@example.org"), &save_form(&[news], &[]));
    assert_eq!(suppression_origins(&server), []);
}

#[test]
fn saving_keeps_a_topic_that_was_created_after_the_page_was_shown() {
    let server = TestServer::start();
    let news = create_topic(&server, "News");
    let contact = server.add_contact(ADA, false);
    let path = preferences_path(&server, ADA);
    let listed = shown_topics(&get_page(&server, &path));
    let later = create_topic(&server, "Later");

    post_and_follow(&server, &path, &save_form(&listed, &[]));

    assert_eq!(topic_choice(&server, contact, news), Some(Subscription::OptOut));
    assert_eq!(topic_choice(&server, contact, later), None);
    assert_accepted(&server, later, ADA);
    // A checked topic counts as shown.
    post_and_follow(&server, &path, &save_form(&[], &[later]));
    assert_eq!(topic_choice(&server, contact, later), Some(Subscription::OptIn));
    assert_eq!(topic_choice(&server, contact, news), Some(Subscription::OptOut));
}

#[test]
fn a_truncated_form_saves_nothing() {
    let server = TestServer::start();
    let news = create_topic(&server, "News");
    let contact = server.add_contact(ADA, false);

    let form = format!("{}&x={}", save_form(&[news], &[]), "x".repeat(70_000));
    let response = post(&server, &preferences_path(&server, ADA), &form);

    assert_eq!(response.status, 400);
    assert_eq!(topic_choice(&server, contact, news), None);
}

#[test]
fn one_button_unsubscribes_from_all_topics_on_every_link() {
    for of_topic in [true, false] {
        let server = TestServer::start();
        let news = create_topic(&server, "News");
        let contact = server.add_contact(ADA, false);
        let path = if of_topic { topic_path(&server, news, ADA) } else { preferences_path(&server, ADA) };

        let done = post_and_follow(&server, &path, "unsubscribe=everything");

        assert!(done.text().contains("no more newsletters or offers"), "{}", done.body);
        let expected =
            [("contact.updated", ChangeSource::HostedPage), ("contact.unsubscribed", ChangeSource::HostedPage)];
        assert_eq!(contact_events(&server), expected);
        assert_eq!(topic_choice(&server, contact, news), None);
        assert_suppressed(&server, news, ADA);
        server.send(&json!({ "to": ADA }));
        post_and_follow(&server, &path, "unsubscribe=everything");
        assert_eq!(contact_events(&server).len(), 2);
    }
}

#[test]
fn a_one_click_request_on_a_preferences_link_unsubscribes_from_all_topics() {
    let server = TestServer::start();
    let news = create_topic(&server, "News");
    server.add_contact(ADA, false);

    let response = post(&server, &preferences_path(&server, ADA), super::ONE_CLICK);

    assert_eq!((response.status, response.body.as_str()), (200, "OK\n"));
    let expected = [("contact.updated", ChangeSource::OneClick), ("contact.unsubscribed", ChangeSource::OneClick)];
    assert_eq!(contact_events(&server), expected);
    assert_suppressed(&server, news, ADA);

    assert_eq!(post(&server, &preferences_path(&server, "bob@example.org"), super::ONE_CLICK).status, 200);
    assert_eq!(suppression_origins(&server), [SuppressionOrigin::Unsubscribe]);
}

#[test]
fn the_page_of_an_unsubscribed_contact_has_no_undo() {
    let server = TestServer::start();
    let news = create_topic(&server, "News");
    server.add_contact(ADA, true);
    for path in [topic_path(&server, news, ADA), preferences_path(&server, ADA)] {
        let page = get_page(&server, &path);
        assert!(page.text().contains("You are unsubscribed"), "{}", page.body);
        assert!(!page.text().contains("checkbox") && !page.text().contains("<button"), "{}", page.body);

        for form in ["resubscribe=1", "undo=1", &save_form(&[news], &[news])] {
            post(&server, &path, form);
        }

        assert_suppressed(&server, news, ADA);
    }
    assert!(!contact_events(&server).contains(&("contact.resubscribed", ChangeSource::HostedPage)));
}

#[test]
fn the_page_shows_only_suppressions_with_the_origin_unsubscribe() {
    let server = TestServer::start();
    let news = create_topic(&server, "News");
    server.add_contact(ADA, false);
    server.suppress(ADA, SuppressionOrigin::Unsubscribe);
    server.suppress("bob@example.org", SuppressionOrigin::Complaint);

    let path = topic_path(&server, news, ADA);
    assert!(get_page(&server, &path).text().contains("You are unsubscribed"));
    post_and_follow(&server, &path, "resubscribe=1");
    assert_suppressed(&server, news, ADA);

    // Entries with another origin are not shown.
    let path = topic_path(&server, news, "bob@example.org");
    assert!(!get_page(&server, &path).text().contains("You are unsubscribed"));
    let page = post_and_follow(&server, &path, "unsubscribe=topic");
    assert!(page.text().contains("You are unsubscribed") && page.text().contains("Undo"), "{}", page.body);
    assert!(get_page(&server, &path).text().contains("You are unsubscribed"));
    assert_eq!(suppression_origins(&server), [SuppressionOrigin::Unsubscribe, SuppressionOrigin::Complaint]);
    assert_suppressed(&server, news, "bob@example.org");

    // The opt-out remains when the complaint is removed, and the recipient can undo the opt-out.
    server.delete("/suppressions/bob@example.org").ok(200);
    assert_eq!(suppression_origins(&server), [SuppressionOrigin::Unsubscribe; 2]);
    assert_suppressed(&server, news, "bob@example.org");
    post_and_follow(&server, &path, &format!("undo={}", page.field("undo")));
    assert_accepted(&server, news, "bob@example.org");
}

fn sorted(mut events: Vec<(&'static str, ChangeSource)>) -> Vec<(&'static str, ChangeSource)> {
    events.sort_by_key(|(kind, _)| *kind);
    events
}
