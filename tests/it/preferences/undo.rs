//! The undo of an opt-out.

use std::time::Duration;

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

fn undo_form(page: &PageResponse) -> String {
    format!("undo={}", page.field("undo"))
}

#[test]
fn an_undo_restores_the_subscription_to_a_topic() {
    let server = TestServer::start();
    let news = create_topic(&server, "News");
    let contact = server.add_contact(ADA, false);
    let path = topic_path(&server, news, ADA);
    let done = post_and_follow(&server, &path, "unsubscribe=topic");
    assert_suppressed(&server, news, ADA);

    let back = post_and_follow(&server, &path, &undo_form(&done));

    assert!(back.text().contains("You are subscribed again."), "{}", back.body);
    // The contact had no topic choice before.
    assert_eq!(topic_choice(&server, contact, news), None);
    assert_accepted(&server, news, ADA);
    let expected =
        [("contact.topic_opt_out", ChangeSource::HostedPage), ("contact.topic_opt_in", ChangeSource::HostedPage)];
    assert_eq!(contact_events(&server), expected);
    // The earlier page in the browser history shows the current state.
    let stale = get_page(&server, &format!("{path}?done={}", done.field("undo")));
    assert!(!stale.text().contains("You are unsubscribed"), "{}", stale.body);
}

#[test]
fn an_undo_restores_the_earlier_topic_choice() {
    let server = TestServer::start();
    let offers = create_topic_with(&server, "Offers", Subscription::OptOut, TopicVisibility::Public);
    let contact = server.add_contact(ADA, false);
    server.put_topic_choice(contact, offers, Subscription::OptIn);
    let path = topic_path(&server, offers, ADA);
    let done = post_and_follow(&server, &path, "unsubscribe=topic");

    post_and_follow(&server, &path, &undo_form(&done));

    assert_eq!(topic_choice(&server, contact, offers), Some(Subscription::OptIn));
}

#[test]
fn a_second_undo_changes_nothing() {
    let server = TestServer::start();
    let news = create_topic(&server, "News");
    server.add_contact(ADA, false);
    for (path, form) in [
        (topic_path(&server, news, ADA), "unsubscribe=topic"),
        (preferences_path(&server, ADA), "unsubscribe=everything"),
        (topic_path(&server, news, "bob@example.org"), "unsubscribe=topic"),
    ] {
        let done = post_and_follow(&server, &path, form);
        assert_eq!(post(&server, &path, &undo_form(&done)).header("location"), "?undone=1");

        let again = post(&server, &path, &undo_form(&done));

        assert_eq!((again.status, again.header("location")), (303, "?"), "{form}");
    }
}

#[test]
fn an_undo_restores_the_subscription_to_all_topics() {
    let server = TestServer::start();
    let news = create_topic(&server, "News");
    server.add_contact(ADA, false);
    let path = preferences_path(&server, ADA);
    let done = post_and_follow(&server, &path, "unsubscribe=everything");

    post_and_follow(&server, &path, &undo_form(&done));

    assert_accepted(&server, news, ADA);
    assert!(contact_events(&server).contains(&("contact.resubscribed", ChangeSource::HostedPage)));
}

#[test]
fn an_undo_removes_the_suppression_of_the_opt_out() {
    let server = TestServer::start();
    let news = create_topic(&server, "News");
    for path in [topic_path(&server, news, ADA), preferences_path(&server, ADA)] {
        let done = post_and_follow(&server, &path, "");
        assert_eq!(suppression_origins(&server), [SuppressionOrigin::Unsubscribe]);

        post_and_follow(&server, &path, &undo_form(&done));

        assert_eq!(suppression_origins(&server), []);
        assert_accepted(&server, news, ADA);
    }
}

#[test]
fn an_undo_removes_only_the_opt_out_from_an_entry_with_another_origin() {
    let server = TestServer::start();
    let news = create_topic(&server, "News");
    server.suppress(ADA, SuppressionOrigin::Bounce);
    let path = topic_path(&server, news, ADA);
    let done = post_and_follow(&server, &path, "unsubscribe=topic");

    let back = post_and_follow(&server, &path, &undo_form(&done));

    assert!(back.text().contains("You are subscribed again."), "{}", back.body);
    assert_eq!(suppression_origins(&server), [SuppressionOrigin::Bounce]);
    server.delete(&format!("/suppressions/{ADA}")).ok(200);
    assert_eq!(suppression_origins(&server), []);
    assert_accepted(&server, news, ADA);
}

#[test]
fn an_opt_out_counts_once_for_its_email_until_it_is_undone() {
    let server = TestServer::start();
    let news = create_topic(&server, "News");
    server.add_contact(ADA, false);
    let path = unsubscribe_path(&server, &deliver(&server, news, ADA, &json!({})));
    assert_eq!(counted_opt_outs(&server), 0);

    for _ in 0..2 {
        let done = post_and_follow(&server, &path, "unsubscribe=topic");
        assert_eq!(counted_opt_outs(&server), 1);
        // The undo is in another quarter hour than the opt-out.
        server.advance(Duration::from_secs(1_800));
        post_and_follow(&server, &path, &undo_form(&done));
        assert_eq!(counted_opt_outs(&server), 0);
    }
    post_and_follow(&server, &path, "unsubscribe=topic");
    let everything = post_and_follow(&server, &path, "unsubscribe=everything");
    assert_eq!(counted_opt_outs(&server), 1, "both opt-outs are with the link of one email");
    post_and_follow(&server, &path, &undo_form(&everything));
    assert_eq!(counted_opt_outs(&server), 1, "the opt-out of the topic remains");
    // A link on request is in no email.
    post_and_follow(&server, &preferences_path(&server, ADA), "unsubscribe=everything");
    assert_eq!(counted_opt_outs(&server), 1);
}

#[test]
fn an_undo_expires_after_an_hour() {
    let server = TestServer::start();
    let news = create_topic(&server, "News");
    server.add_contact(ADA, false);
    let path = topic_path(&server, news, ADA);
    let done = post_and_follow(&server, &path, "unsubscribe=topic");
    let at = format!("{path}?done={}", done.field("undo"));

    server.advance(Duration::from_secs(3599));
    assert!(get_page(&server, &at).text().contains("Undo"));
    server.advance(Duration::from_secs(1));

    let page = get_page(&server, &at);
    assert!(page.text().contains("You are unsubscribed") && !page.text().contains("Undo"), "{}", page.body);
    let late = post(&server, &path, &undo_form(&done));
    assert_eq!((late.status, late.header("location")), (303, "?"));
    assert_suppressed(&server, news, ADA);
}

#[test]
fn an_undo_token_of_another_link_changes_nothing() {
    let server = TestServer::start();
    let (news, other) = (create_topic(&server, "News"), create_topic(&server, "Other"));
    server.add_contact(ADA, false);
    server.add_contact("bob@example.org", false);
    let done = post_and_follow(&server, &topic_path(&server, news, ADA), "unsubscribe=topic");
    let bobs = topic_path(&server, news, "bob@example.org");
    post_and_follow(&server, &bobs, "unsubscribe=topic");

    for path in [&bobs, &topic_path(&server, other, ADA), &preferences_path(&server, ADA)] {
        assert_eq!(post(&server, path, &undo_form(&done)).header("location"), "?");
        assert_eq!(post(&server, path, "undo=x").header("location"), "?");
    }

    assert_suppressed(&server, news, ADA);
    assert_suppressed(&server, news, "bob@example.org");
}

#[test]
fn an_opt_out_that_existed_before_has_no_undo() {
    let server = TestServer::start();
    let offers = create_topic_with(&server, "Offers", Subscription::OptOut, TopicVisibility::Public);
    let news = create_topic(&server, "News");
    let contact = server.add_contact(ADA, false);
    server.put_topic_choice(contact, news, Subscription::OptOut);
    server.suppress("bob@example.org", SuppressionOrigin::Unsubscribe);

    for path in
        [topic_path(&server, offers, ADA), topic_path(&server, news, ADA), topic_path(&server, news, "bob@example.org")]
    {
        let page = post_and_follow(&server, &path, "unsubscribe=topic");

        assert!(page.text().contains("You are unsubscribed") && !page.text().contains("Undo"), "{}", page.body);
    }
    assert_eq!(contact_events(&server), []);
}

#[test]
fn a_get_request_with_an_undo_parameter_changes_nothing() {
    let server = TestServer::start();
    let news = create_topic(&server, "News");
    let path = topic_path(&server, news, ADA);
    let done = post_and_follow(&server, &path, "unsubscribe=topic");

    for query in
        [format!("done={}", done.field("undo")), format!("undo={}", done.field("undo")), "resubscribe=1".into()]
    {
        get_page(&server, &format!("{path}?{query}"));
    }

    assert_eq!(suppression_origins(&server), [SuppressionOrigin::Unsubscribe]);
}
