//! Undo: what a visit changed, taken back within it.

use std::time::Duration;

use ringmail::events::Source;
use ringmail::suppressions::Origin;
use ringmail::topics::{Subscription, Visibility};

use super::{
    Shown, choice, contact_events, everything_path, may_not_send, may_send, post, post_and_follow, show, suppressed,
    topic, topic_of, topic_path,
};
use crate::support::TestServer;

const ADA: &str = "ada@example.org";

fn undo(page: &Shown) -> String {
    format!("undo={}", page.field("undo"))
}

#[test]
fn an_opt_out_of_a_topic_is_taken_back() {
    let server = TestServer::start();
    let news = topic(&server, "News");
    let contact = server.add_contact(ADA, false);
    let path = topic_path(&server, news, ADA);
    let done = post_and_follow(&server, &path, "unsubscribe=topic");
    may_not_send(&server, news, ADA);

    let back = post_and_follow(&server, &path, &undo(&done));

    assert!(back.text().contains("You are subscribed again."), "{}", back.body);
    // There was no choice before.
    assert_eq!(choice(&server, contact, news), None);
    may_send(&server, news, ADA);
    let told = [("contact.topic_opt_out", Source::HostedPage), ("contact.topic_opt_in", Source::HostedPage)];
    assert_eq!(contact_events(&server), told);
    // Going back in the browser shows what is so, and not what was.
    let stale = show(&server, &format!("{path}?done={}", done.field("undo")));
    assert!(!stale.text().contains("You are unsubscribed"), "{}", stale.body);
}

#[test]
fn a_choice_that_was_made_before_is_given_back() {
    let server = TestServer::start();
    let offers = topic_of(&server, "Offers", Subscription::OptOut, Visibility::Public);
    let contact = server.add_contact(ADA, false);
    server.put_topic_choice(contact, offers, Subscription::OptIn);
    let path = topic_path(&server, offers, ADA);
    let done = post_and_follow(&server, &path, "unsubscribe=topic");

    post_and_follow(&server, &path, &undo(&done));

    assert_eq!(choice(&server, contact, offers), Some(Subscription::OptIn));
}

#[test]
fn an_undo_that_finds_nothing_to_take_back_says_nothing() {
    let server = TestServer::start();
    let news = topic(&server, "News");
    server.add_contact(ADA, false);
    for (path, form) in [
        (topic_path(&server, news, ADA), "unsubscribe=topic"),
        (everything_path(&server, ADA), "unsubscribe=everything"),
        (topic_path(&server, news, "bob@example.org"), "unsubscribe=topic"),
    ] {
        let done = post_and_follow(&server, &path, form);
        assert_eq!(post(&server, &path, &undo(&done)).header("location"), "?undone=1");

        let again = post(&server, &path, &undo(&done));

        assert_eq!((again.status, again.header("location")), (303, "?"), "{form}");
    }
}

#[test]
fn an_opt_out_of_everything_is_taken_back() {
    let server = TestServer::start();
    let news = topic(&server, "News");
    server.add_contact(ADA, false);
    let path = everything_path(&server, ADA);
    let done = post_and_follow(&server, &path, "unsubscribe=everything");

    post_and_follow(&server, &path, &undo(&done));

    may_send(&server, news, ADA);
    assert!(contact_events(&server).contains(&("contact.resubscribed", Source::HostedPage)));
}

#[test]
fn the_suppression_that_the_visit_added_is_removed() {
    let server = TestServer::start();
    let news = topic(&server, "News");
    for path in [topic_path(&server, news, ADA), everything_path(&server, ADA)] {
        let done = post_and_follow(&server, &path, "");
        assert_eq!(suppressed(&server), [Origin::Unsubscribe]);

        post_and_follow(&server, &path, &undo(&done));

        assert_eq!(suppressed(&server), []);
        may_send(&server, news, ADA);
    }
}

#[test]
fn an_opt_out_kept_with_another_reason_is_taken_back_and_the_reason_stays() {
    let server = TestServer::start();
    let news = topic(&server, "News");
    server.suppress(ADA, Origin::Bounce);
    let path = topic_path(&server, news, ADA);
    let done = post_and_follow(&server, &path, "unsubscribe=topic");

    let back = post_and_follow(&server, &path, &undo(&done));

    assert!(back.text().contains("You are subscribed again."), "{}", back.body);
    assert_eq!(suppressed(&server), [Origin::Bounce]);
    server.delete(&format!("/suppressions/{ADA}")).ok(200);
    assert_eq!(suppressed(&server), []);
    may_send(&server, news, ADA);
}

#[test]
fn an_undo_is_good_for_an_hour() {
    let server = TestServer::start();
    let news = topic(&server, "News");
    server.add_contact(ADA, false);
    let path = topic_path(&server, news, ADA);
    let done = post_and_follow(&server, &path, "unsubscribe=topic");
    let at = format!("{path}?done={}", done.field("undo"));

    server.advance(Duration::from_secs(3599));
    assert!(show(&server, &at).text().contains("Undo"));
    server.advance(Duration::from_secs(1));

    let page = show(&server, &at);
    assert!(page.text().contains("You are unsubscribed") && !page.text().contains("Undo"), "{}", page.body);
    let late = post(&server, &path, &undo(&done));
    assert_eq!((late.status, late.header("location")), (303, "?"));
    may_not_send(&server, news, ADA);
}

#[test]
fn an_undo_of_another_link_changes_nothing() {
    let server = TestServer::start();
    let (news, other) = (topic(&server, "News"), topic(&server, "Other"));
    server.add_contact(ADA, false);
    server.add_contact("bob@example.org", false);
    let done = post_and_follow(&server, &topic_path(&server, news, ADA), "unsubscribe=topic");
    let bobs = topic_path(&server, news, "bob@example.org");
    post_and_follow(&server, &bobs, "unsubscribe=topic");

    for path in [&bobs, &topic_path(&server, other, ADA), &everything_path(&server, ADA)] {
        assert_eq!(post(&server, path, &undo(&done)).header("location"), "?");
        assert_eq!(post(&server, path, "undo=x").header("location"), "?");
    }

    may_not_send(&server, news, ADA);
    may_not_send(&server, news, "bob@example.org");
}

#[test]
fn what_was_so_before_the_visit_is_not_undone() {
    let server = TestServer::start();
    let offers = topic_of(&server, "Offers", Subscription::OptOut, Visibility::Public);
    let news = topic(&server, "News");
    let contact = server.add_contact(ADA, false);
    server.put_topic_choice(contact, news, Subscription::OptOut);
    server.suppress("bob@example.org", Origin::Unsubscribe);

    for path in
        [topic_path(&server, offers, ADA), topic_path(&server, news, ADA), topic_path(&server, news, "bob@example.org")]
    {
        let page = post_and_follow(&server, &path, "unsubscribe=topic");

        assert!(page.text().contains("You are unsubscribed") && !page.text().contains("Undo"), "{}", page.body);
    }
    assert_eq!(contact_events(&server), []);
}

#[test]
fn showing_what_was_done_changes_nothing() {
    let server = TestServer::start();
    let news = topic(&server, "News");
    let path = topic_path(&server, news, ADA);
    let done = post_and_follow(&server, &path, "unsubscribe=topic");

    for query in
        [format!("done={}", done.field("undo")), format!("undo={}", done.field("undo")), "resubscribe=1".into()]
    {
        show(&server, &format!("{path}?{query}"));
    }

    assert_eq!(suppressed(&server), [Origin::Unsubscribe]);
}
