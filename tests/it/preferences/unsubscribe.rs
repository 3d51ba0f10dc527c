//! The opt-out of a link, at `/unsubscribe/{token}`.

use std::time::Duration;

use ringmail::events::Source;
use ringmail::suppressions::Origin;
use ringmail::topics::Subscription;
use serde_json::json;

use super::{
    FORM, ONE_CLICK, choice, contact_events, delivered, link_path, may_not_send, may_send, post, post_and_follow,
    request, show, suppressed, topic, topic_path,
};
use crate::support::TestServer;

#[test]
fn following_the_link_changes_nothing_and_its_button_opts_out() {
    let server = TestServer::start();
    let (news, other) = (topic(&server, "News & <more>"), topic(&server, "Other"));
    let message = delivered(&server, news, "Ada <ada@example.org>", &json!({}));
    let path = link_path(&server, &message);

    let page = show(&server, &path);
    assert_eq!(page.status, 200);
    assert!(page.body.contains("a•••@example.org") && !page.body.contains("ada@"), "{}", page.body);
    assert!(page.body.contains("News &amp; &lt;more&gt;"), "{}", page.body);
    assert!(page.body.contains("<form method=\"post\">") && !page.body.contains("<script"), "{}", page.body);
    assert_eq!(request(&server, "HEAD", &path, &[], "").status, 200);
    may_send(&server, news, "ada@example.org");
    assert_eq!(suppressed(&server), []);

    let done = post_and_follow(&server, &path, "unsubscribe=topic");
    assert!(done.body.contains("You are unsubscribed") && done.body.contains("Undo"), "{}", done.body);
    may_not_send(&server, news, "ADA@example.org");
    assert_eq!(suppressed(&server), [Origin::Unsubscribe]);
    assert!(show(&server, &path).body.contains("You are unsubscribed"));

    // An opt-out of an address without a contact counts for every topic, and for no other email.
    may_not_send(&server, other, "ada@example.org");
    server.send(&json!({ "to": "ada@example.org" }));
}

#[test]
fn a_mail_program_opts_out_with_one_request_and_repeats_change_nothing() {
    let server = TestServer::start();
    let news = topic(&server, "News");
    let path = link_path(&server, &delivered(&server, news, "ada@example.org", &json!({})));
    let multipart = "--b\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--b--\r\n";

    for (content_type, body) in
        [(FORM, ONE_CLICK), ("multipart/form-data; boundary=b", multipart), ("text/plain", ONE_CLICK), ("", ONE_CLICK)]
    {
        let headers = [("content-type", content_type)];
        let headers = if content_type.is_empty() { &[][..] } else { &headers };
        let answer = request(&server, "POST", &path, headers, body);

        assert_eq!((answer.status, answer.body.as_str()), (200, "OK\n"), "{content_type}");
        assert!(answer.header("content-type").starts_with("text/plain"));
        assert_eq!(suppressed(&server), [Origin::Unsubscribe]);
    }
    may_not_send(&server, news, "ada@example.org");
}

#[test]
fn a_contact_opts_out_of_the_topic_alone() {
    let server = TestServer::start();
    let (news, other) = (topic(&server, "News"), topic(&server, "Other"));
    let contact = server.add_contact("Ada@example.org", false);
    let path = link_path(&server, &delivered(&server, news, "ada@example.org", &json!({})));

    for _ in 0..2 {
        assert_eq!(post(&server, &path, ONE_CLICK).status, 200);
    }

    assert_eq!(choice(&server, contact, news), Some(Subscription::OptOut));
    assert!(choice(&server, contact, other).is_none());
    assert_eq!(suppressed(&server), []);
    may_not_send(&server, news, "ada@example.org");
    may_send(&server, other, "ada@example.org");
    assert!(show(&server, &path).body.contains("You are unsubscribed"));
}

#[test]
fn a_token_that_was_not_made_here_leads_to_one_neutral_page() {
    let (server, elsewhere) = (TestServer::start(), TestServer::start());
    let news = topic(&server, "News");
    let path = link_path(&server, &delivered(&server, news, "ada@example.org", &json!({})));
    let theirs = topic(&elsewhere, "News");
    let foreign = link_path(&elsewhere, &delivered(&elsewhere, theirs, "ada@example.org", &json!({})));
    let mut tampered = path.clone();
    let last = if tampered.pop() == Some('A') { 'B' } else { 'A' };
    tampered.push(last);
    let neutral = show(&server, "/unsubscribe/x");
    assert_eq!(neutral.status, 404);
    assert!(neutral.body.contains("This link does not work"), "{}", neutral.body);

    for path in [&tampered, &foreign, &format!("{path}x"), &format!("/unsubscribe/{}", "x".repeat(5_000))] {
        for shown in [show(&server, path), post(&server, path, ONE_CLICK), post(&server, path, "prefs=1")] {
            assert_eq!((shown.status, &shown.body), (404, &neutral.body), "{path}");
        }
    }
    assert_eq!(suppressed(&server), []);
    assert_eq!(show(&server, &path).status, 200);
}

#[test]
fn a_link_outlives_its_topic_and_its_opt_out_holds_for_mail_on_its_way() {
    let server = TestServer::start();
    let (news, gone) = (topic(&server, "News"), topic(&server, "Gone"));
    let ada = server.add_contact("ada@example.org", false);
    let (ada_path, bob_path) =
        (topic_path(&server, gone, "ada@example.org"), topic_path(&server, gone, "bob@example.org"));
    let later = |to: &str| server.send(&json!({ "to": to, "topic_id": gone.to_string(), "scheduled_at": "in 1 hour" }));
    let [to_ada, to_bob, to_eve] = ["ada@example.org", "bob@example.org", "eve@example.org"].map(later);
    server.delete(&format!("/topics/{gone}")).ok(200);

    let page = show(&server, &ada_path);
    assert_eq!(page.status, 200);
    assert!(page.text().contains("Unsubscribe from these emails") && !page.text().contains("Gone"), "{}", page.body);
    assert!(page.text().contains("News"), "{}", page.body);
    // One by the button, one by the mail program.
    let done = post_and_follow(&server, &ada_path, "unsubscribe=topic");
    assert!(done.text().contains("no more emails of this kind") && done.text().contains("Undo"), "{}", done.body);
    let answer = post(&server, &bob_path, ONE_CLICK);
    assert_eq!((answer.status, answer.body.as_str()), (200, "OK\n"));

    assert_eq!(choice(&server, ada, gone), Some(Subscription::OptOut));
    assert_eq!(choice(&server, ada, news), None);
    assert_eq!(suppressed(&server), [Origin::Unsubscribe]);
    assert_eq!(contact_events(&server), [] as [(&str, Source); 0], "there is no topic to tell of");
    assert!(show(&server, &ada_path).text().contains("You are unsubscribed"));
    server.advance(Duration::from_secs(3_601));
    server.wait_for(&to_ada, "suppressed");
    server.wait_for(&to_bob, "suppressed");
    server.wait_for(&to_eve, "delivered");
    may_send(&server, news, "ada@example.org");
}

#[test]
fn an_opt_out_of_a_deleted_topic_is_taken_back() {
    let server = TestServer::start();
    let gone = topic(&server, "Gone");
    let ada = server.add_contact("ada@example.org", false);
    let path = topic_path(&server, gone, "ada@example.org");
    server.delete(&format!("/topics/{gone}")).ok(200);
    let done = post_and_follow(&server, &path, "unsubscribe=topic");

    let back = post_and_follow(&server, &path, &format!("undo={}", done.field("undo")));

    assert!(back.text().contains("You are subscribed again."), "{}", back.body);
    assert_eq!(choice(&server, ada, gone), None);
}

#[test]
fn every_page_keeps_its_address_to_itself() {
    let server = TestServer::start();
    let news = topic(&server, "News");
    let path = link_path(&server, &delivered(&server, news, "ada@example.org", &json!({})));

    for page in [show(&server, &path), show(&server, "/unsubscribe/x"), post(&server, "/unsubscribe/x", "")] {
        assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
        let policy = page.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
        assert!(policy.ends_with("; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"), "{policy}");
        assert_eq!(page.header("referrer-policy"), "no-referrer");
        assert_eq!(page.header("cache-control"), "no-store");
        assert_eq!(page.header("x-robots-tag"), "noindex, nofollow");
        assert_eq!(page.header("x-content-type-options"), "nosniff");
    }
}

#[test]
fn only_the_start_of_a_body_is_looked_at() {
    let server = TestServer::start();
    let news = topic(&server, "News");
    let path = link_path(&server, &delivered(&server, news, "ada@example.org", &json!({})));

    let unclear = post(&server, &path, &format!("unsubscribe=topic&x={}", "x".repeat(100_000)));
    assert_eq!(unclear.status, 400);
    assert!(unclear.body.contains("Something went wrong"), "{}", unclear.body);
    may_send(&server, news, "ada@example.org");

    let answer = post(&server, &path, &format!("{ONE_CLICK}&x={}", "x".repeat(100_000)));

    assert_eq!((answer.status, answer.body.as_str()), (200, "OK\n"));
    may_not_send(&server, news, "ada@example.org");
}

#[test]
fn a_post_that_says_nothing_opts_out() {
    let server = TestServer::start();
    let news = topic(&server, "News");
    let path = link_path(&server, &delivered(&server, news, "ada@example.org", &json!({})));

    // Some programs know the header field and not what to send.
    let answer = post(&server, &path, "");

    assert_eq!(answer.status, 303);
    assert_eq!(answer.header("cache-control"), "no-store");
    may_not_send(&server, news, "ada@example.org");
}

#[test]
fn the_link_is_no_part_of_the_api() {
    let server = TestServer::start();

    let document = server.get("/docs/openapi.json").ok(200);

    let paths = document["paths"].as_object().unwrap();
    assert!(paths.keys().all(|path| !path.contains("unsubscribe")));
}
