//! The whole page: every public topic, and everything at once.

use ringmail::events::Source;
use ringmail::id::{Id, TopicId};
use ringmail::suppressions::Origin;
use ringmail::topics::{Subscription, Visibility};
use serde_json::json;

use super::{
    Shown, choice, contact_events, everything_path, may_not_send, may_send, post, post_and_follow, show, suppressed,
    topic, topic_of, topic_path,
};
use crate::support::TestServer;

const ADA: &str = "ada@example.org";

/// Returns the topics that the page lists, with whether each is checked.
fn listed(server: &TestServer, path: &str) -> Vec<(String, bool)> {
    let page = show(server, path);
    let boxes = page.body.split("<input type=\"checkbox\"").skip(1).map(|row| {
        let (input, rest) = row.split_once('>').unwrap();
        let (_, name) = rest.split_once("<bdi>").unwrap();
        (name.split("</bdi>").next().unwrap().to_owned(), input.contains(" checked"))
    });
    boxes.collect()
}

/// Returns the form of a page that shows topics, some of them checked.
fn save(shown: &[TopicId], checked: &[TopicId]) -> String {
    let form = shown.iter().fold("prefs=1".to_owned(), |form, topic| format!("{form}&shown={topic}"));
    checked.iter().fold(form, |form, topic| format!("{form}&topic={topic}"))
}

/// Returns the ids of the topics that a page shows.
fn shown(page: &Shown) -> Vec<TopicId> {
    let fields = page.body.split("name=\"shown\" value=\"").skip(1);
    fields.map(|rest| rest.split('"').next().and_then(TopicId::parse).expect("an id")).collect()
}

#[test]
fn the_public_topics_are_listed_as_they_are_received() {
    let server = TestServer::start();
    let news = topic(&server, "News");
    topic_of(&server, "Offers", Subscription::OptOut, Visibility::Public);
    let secret = topic_of(&server, "Secret", Subscription::OptIn, Visibility::Private);
    let chosen = topic_of(&server, "Events", Subscription::OptOut, Visibility::Public);
    let contact = server.add_contact(ADA, false);
    server.put_topic_choice(contact, chosen, Subscription::OptIn);

    let expected = [("News".to_owned(), true), ("Offers".to_owned(), false), ("Events".to_owned(), true)];
    assert_eq!(listed(&server, &everything_path(&server, ADA)), expected);
    assert_eq!(listed(&server, &topic_path(&server, news, ADA)), expected);
    let private = show(&server, &topic_path(&server, secret, ADA));
    assert!(private.text().contains("Secret") && !private.text().contains("News"), "{}", private.body);
    assert_eq!(private.text().matches("<button").count(), 1, "{}", private.body);
    // There is nowhere to keep the choices of an address without a contact.
    assert_eq!(listed(&server, &everything_path(&server, "bob@example.org")), []);
}

#[test]
fn saving_writes_every_listed_topic_down_and_records_the_flips() {
    let server = TestServer::start();
    let (news, events) = (topic(&server, "News"), topic(&server, "Events"));
    let offers = topic_of(&server, "Offers", Subscription::OptOut, Visibility::Public);
    let secret = topic_of(&server, "Secret", Subscription::OptIn, Visibility::Private);
    let contact = server.add_contact(ADA, false);
    let path = everything_path(&server, ADA);

    let listed = shown(&show(&server, &path));
    assert_eq!(listed, [news, events, offers]);

    let page = post_and_follow(&server, &path, &save(&[news, events, offers, secret], &[news, offers, Id::MAX]));

    assert!(page.text().contains("Your choices have been saved."), "{}", page.body);
    assert_eq!(choice(&server, contact, news), Some(Subscription::OptIn));
    assert_eq!(choice(&server, contact, events), Some(Subscription::OptOut));
    assert_eq!(choice(&server, contact, offers), Some(Subscription::OptIn));
    assert_eq!(choice(&server, contact, secret), None);
    assert_eq!(choice(&server, contact, Id::MAX), None);
    let flips = [("contact.topic_opt_out", Source::HostedPage), ("contact.topic_opt_in", Source::HostedPage)];
    assert_eq!(sorted(contact_events(&server)), sorted(flips.to_vec()));

    post_and_follow(&server, &path, &save(&listed, &[news, offers]));
    assert_eq!(contact_events(&server).len(), 2);
    may_not_send(&server, events, ADA);
    may_send(&server, offers, ADA);
}

#[test]
fn saving_leaves_what_it_does_not_list_and_the_global_opt_out_alone() {
    let server = TestServer::start();
    let (news, secret) =
        (topic(&server, "News"), topic_of(&server, "Secret", Subscription::OptIn, Visibility::Private));
    let contact = server.add_contact(ADA, true);

    post_and_follow(&server, &everything_path(&server, ADA), &save(&[news], &[news]));
    assert_eq!(choice(&server, contact, news), Some(Subscription::OptIn));
    may_not_send(&server, news, ADA);

    // The page of a private topic lists nothing.
    post_and_follow(&server, &topic_path(&server, secret, ADA), &save(&[news, secret], &[]));
    assert_eq!((choice(&server, contact, news), choice(&server, contact, secret)), (Some(Subscription::OptIn), None));
    // Nor does that of an address without a contact.
    post_and_follow(&server, &everything_path(&server, "bob@example.org"), &save(&[news], &[]));
    assert_eq!(suppressed(&server), []);
}

#[test]
fn a_topic_that_became_public_after_the_page_was_shown_is_not_decided_about() {
    let server = TestServer::start();
    let news = topic(&server, "News");
    let contact = server.add_contact(ADA, false);
    let path = everything_path(&server, ADA);
    let listed = shown(&show(&server, &path));
    let later = topic(&server, "Later");

    post_and_follow(&server, &path, &save(&listed, &[]));

    assert_eq!(choice(&server, contact, news), Some(Subscription::OptOut));
    assert_eq!(choice(&server, contact, later), None);
    may_send(&server, later, ADA);
    // A box that is checked was shown.
    post_and_follow(&server, &path, &save(&[], &[later]));
    assert_eq!(choice(&server, contact, later), Some(Subscription::OptIn));
    assert_eq!(choice(&server, contact, news), Some(Subscription::OptOut));
}

#[test]
fn a_form_that_breaks_off_saves_nothing() {
    let server = TestServer::start();
    let news = topic(&server, "News");
    let contact = server.add_contact(ADA, false);

    let form = format!("{}&x={}", save(&[news], &[]), "x".repeat(70_000));
    let answer = post(&server, &everything_path(&server, ADA), &form);

    assert_eq!(answer.status, 400);
    assert_eq!(choice(&server, contact, news), None);
}

#[test]
fn everything_is_opted_out_of_with_one_button_from_either_link() {
    for of_topic in [true, false] {
        let server = TestServer::start();
        let news = topic(&server, "News");
        let contact = server.add_contact(ADA, false);
        let path = if of_topic { topic_path(&server, news, ADA) } else { everything_path(&server, ADA) };

        let done = post_and_follow(&server, &path, "unsubscribe=everything");

        assert!(done.text().contains("no more newsletters or offers"), "{}", done.body);
        let told = [("contact.updated", Source::HostedPage), ("contact.unsubscribed", Source::HostedPage)];
        assert_eq!(contact_events(&server), told);
        assert_eq!(choice(&server, contact, news), None);
        may_not_send(&server, news, ADA);
        server.send(&json!({ "to": ADA }));
        post_and_follow(&server, &path, "unsubscribe=everything");
        assert_eq!(contact_events(&server).len(), 2);
    }
}

#[test]
fn one_click_on_a_link_to_everything_opts_out_of_everything() {
    let server = TestServer::start();
    let news = topic(&server, "News");
    server.add_contact(ADA, false);

    let answer = post(&server, &everything_path(&server, ADA), super::ONE_CLICK);

    assert_eq!((answer.status, answer.body.as_str()), (200, "OK\n"));
    let told = [("contact.updated", Source::OneClick), ("contact.unsubscribed", Source::OneClick)];
    assert_eq!(contact_events(&server), told);
    may_not_send(&server, news, ADA);

    assert_eq!(post(&server, &everything_path(&server, "bob@example.org"), super::ONE_CLICK).status, 200);
    assert_eq!(suppressed(&server), [Origin::Unsubscribe]);
}

#[test]
fn whoever_has_opted_out_of_everything_is_told_so_and_no_link_takes_it_back() {
    let server = TestServer::start();
    let news = topic(&server, "News");
    server.add_contact(ADA, true);
    for path in [topic_path(&server, news, ADA), everything_path(&server, ADA)] {
        let page = show(&server, &path);
        assert!(page.text().contains("You are unsubscribed"), "{}", page.body);
        assert!(!page.text().contains("checkbox") && !page.text().contains("<button"), "{}", page.body);

        for form in ["resubscribe=1", "undo=1", &save(&[news], &[news])] {
            post(&server, &path, form);
        }

        may_not_send(&server, news, ADA);
    }
    assert!(!contact_events(&server).contains(&("contact.resubscribed", Source::HostedPage)));
}

#[test]
fn an_opt_out_on_the_suppression_list_is_shown_and_stays_and_no_other_entry_is_shown() {
    let server = TestServer::start();
    let news = topic(&server, "News");
    server.add_contact(ADA, false);
    server.suppress(ADA, Origin::Unsubscribe);
    server.suppress("bob@example.org", Origin::Complaint);

    let path = topic_path(&server, news, ADA);
    assert!(show(&server, &path).text().contains("You are unsubscribed"));
    post_and_follow(&server, &path, "resubscribe=1");
    may_not_send(&server, news, ADA);

    // What the team or a complaint put there is not shown.
    let path = topic_path(&server, news, "bob@example.org");
    assert!(!show(&server, &path).text().contains("You are unsubscribed"));
    let page = post_and_follow(&server, &path, "unsubscribe=topic");
    assert!(page.text().contains("You are unsubscribed") && page.text().contains("Undo"), "{}", page.body);
    assert!(show(&server, &path).text().contains("You are unsubscribed"));
    assert_eq!(suppressed(&server), [Origin::Unsubscribe, Origin::Complaint]);
    may_not_send(&server, news, "bob@example.org");

    // The opt-out stands when the complaint has been removed, and its owner can take it back.
    server.delete("/suppressions/bob@example.org").ok(200);
    assert_eq!(suppressed(&server), [Origin::Unsubscribe; 2]);
    may_not_send(&server, news, "bob@example.org");
    post_and_follow(&server, &path, &format!("undo={}", page.field("undo")));
    may_send(&server, news, "bob@example.org");
}

fn sorted(mut events: Vec<(&'static str, Source)>) -> Vec<(&'static str, Source)> {
    events.sort_by_key(|(kind, _)| *kind);
    events
}
