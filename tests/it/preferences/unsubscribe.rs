//! The opt-out of a link, at `/unsubscribe/{token}`.

use std::time::Duration;

use ringmail::events::ChangeSource;
use ringmail::suppressions::SuppressionOrigin;
use ringmail::topics::Subscription;
use serde_json::json;

use super::{
    FORM, ONE_CLICK, assert_accepted, assert_suppressed, contact_events, create_topic, deliver, get_page, post,
    post_and_follow, request, suppression_origins, topic_choice, topic_path, unsubscribe_path,
};
use crate::support::TestServer;

#[test]
fn a_get_request_changes_nothing_and_the_button_opts_out() {
    let server = TestServer::start();
    let (news, other) = (create_topic(&server, "News & <more>"), create_topic(&server, "Other"));
    let message = deliver(&server, news, "Ada <ada@example.org>", &json!({}));
    let path = unsubscribe_path(&server, &message);

    let page = get_page(&server, &path);
    assert_eq!(page.status, 200);
    assert!(page.body.contains("a•••@example.org") && !page.body.contains("ada@"), "{}", page.body);
    assert!(page.body.contains("News &amp; &lt;more&gt;"), "{}", page.body);
    assert!(page.body.contains("<form method=\"post\">") && !page.body.contains("<script"), "{}", page.body);
    assert_eq!(request(&server, "HEAD", &path, &[], "").status, 200);
    assert_accepted(&server, news, "ada@example.org");
    assert_eq!(suppression_origins(&server), []);

    let done = post_and_follow(&server, &path, "unsubscribe=topic");
    assert!(done.body.contains("You are unsubscribed") && done.body.contains("Undo"), "{}", done.body);
    assert_suppressed(&server, news, "ADA@example.org");
    assert_eq!(suppression_origins(&server), [SuppressionOrigin::Unsubscribe]);
    assert!(get_page(&server, &path).body.contains("You are unsubscribed"));

    // An opt-out of an address without a contact applies to every topic, but not to email without a topic.
    assert_suppressed(&server, other, "ada@example.org");
    server.send(&json!({ "to": "ada@example.org" }));
}

#[test]
fn a_one_click_request_opts_out_and_repeated_requests_change_nothing() {
    let server = TestServer::start();
    let news = create_topic(&server, "News");
    let path = unsubscribe_path(&server, &deliver(&server, news, "ada@example.org", &json!({})));
    let multipart = "--b\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--b--\r\n";

    for (content_type, body) in
        [(FORM, ONE_CLICK), ("multipart/form-data; boundary=b", multipart), ("text/plain", ONE_CLICK), ("", ONE_CLICK)]
    {
        let headers = [("content-type", content_type)];
        let headers = if content_type.is_empty() { &[][..] } else { &headers };
        let response = request(&server, "POST", &path, headers, body);

        assert_eq!((response.status, response.body.as_str()), (200, "OK\n"), "{content_type}");
        assert!(response.header("content-type").starts_with("text/plain"));
        assert_eq!(suppression_origins(&server), [SuppressionOrigin::Unsubscribe]);
    }
    assert_suppressed(&server, news, "ada@example.org");
}

#[test]
fn a_contact_opts_out_only_of_the_topic() {
    let server = TestServer::start();
    let (news, other) = (create_topic(&server, "News"), create_topic(&server, "Other"));
    let contact = server.add_contact("Ada@example.org", false);
    let path = unsubscribe_path(&server, &deliver(&server, news, "ada@example.org", &json!({})));

    for _ in 0..2 {
        assert_eq!(post(&server, &path, ONE_CLICK).status, 200);
    }

    assert_eq!(topic_choice(&server, contact, news), Some(Subscription::OptOut));
    assert!(topic_choice(&server, contact, other).is_none());
    assert_eq!(suppression_origins(&server), []);
    assert_suppressed(&server, news, "ada@example.org");
    assert_accepted(&server, other, "ada@example.org");
    assert!(get_page(&server, &path).body.contains("You are unsubscribed"));
}

#[test]
fn an_invalid_or_foreign_token_shows_the_neutral_page() {
    let (server, other_server) = (TestServer::start(), TestServer::start_with_own_key());
    let news = create_topic(&server, "News");
    let path = unsubscribe_path(&server, &deliver(&server, news, "ada@example.org", &json!({})));
    let theirs = create_topic(&other_server, "News");
    let foreign = unsubscribe_path(&other_server, &deliver(&other_server, theirs, "ada@example.org", &json!({})));
    let mut tampered = path.clone();
    let last = if tampered.pop() == Some('A') { 'B' } else { 'A' };
    tampered.push(last);
    let neutral = get_page(&server, "/unsubscribe/x");
    assert_eq!(neutral.status, 404);
    assert!(neutral.body.contains("This link does not work"), "{}", neutral.body);

    for path in [&tampered, &foreign, &format!("{path}x"), &format!("/unsubscribe/{}", "x".repeat(5_000))] {
        for shown in [get_page(&server, path), post(&server, path, ONE_CLICK), post(&server, path, "prefs=1")] {
            assert_eq!((shown.status, &shown.body), (404, &neutral.body), "{path}");
        }
    }
    assert_eq!(suppression_origins(&server), []);
    assert_eq!(get_page(&server, &path).status, 200);
}

#[test]
fn an_opt_out_of_a_deleted_topic_applies_to_scheduled_emails() {
    let server = TestServer::start();
    let (news, deleted) = (create_topic(&server, "News"), create_topic(&server, "Gone"));
    let ada = server.add_contact("ada@example.org", false);
    let (ada_path, bob_path) =
        (topic_path(&server, deleted, "ada@example.org"), topic_path(&server, deleted, "bob@example.org"));
    let later =
        |to: &str| server.send(&json!({ "to": to, "topic_id": deleted.to_string(), "scheduled_at": "in 1 hour" }));
    let [to_ada, to_bob, to_eve] = ["ada@example.org", "bob@example.org", "eve@example.org"].map(later);
    server.delete(&format!("/topics/{deleted}")).ok(200);

    let page = get_page(&server, &ada_path);
    assert_eq!(page.status, 200);
    assert!(page.text().contains("Unsubscribe from these emails") && !page.text().contains("Gone"), "{}", page.body);
    assert!(page.text().contains("News"), "{}", page.body);
    // The first recipient uses the button of the page, and the second a one-click request.
    let done = post_and_follow(&server, &ada_path, "unsubscribe=topic");
    assert!(done.text().contains("no more emails of this kind") && done.text().contains("Undo"), "{}", done.body);
    let response = post(&server, &bob_path, ONE_CLICK);
    assert_eq!((response.status, response.body.as_str()), (200, "OK\n"));

    assert_eq!(topic_choice(&server, ada, deleted), Some(Subscription::OptOut));
    assert_eq!(topic_choice(&server, ada, news), None);
    assert_eq!(suppression_origins(&server), [SuppressionOrigin::Unsubscribe]);
    assert_eq!(
        contact_events(&server),
        [] as [(&str, ChangeSource); 0],
        "an opt-out of a deleted topic emits no event"
    );
    assert!(get_page(&server, &ada_path).text().contains("You are unsubscribed"));
    server.advance(Duration::from_secs(3_601));
    server.wait_for(&to_ada, "suppressed");
    server.wait_for(&to_bob, "suppressed");
    server.wait_for(&to_eve, "delivered");
    assert_accepted(&server, news, "ada@example.org");
}

#[test]
fn an_opt_out_of_a_deleted_topic_can_be_undone() {
    let server = TestServer::start();
    let deleted = create_topic(&server, "Gone");
    let ada = server.add_contact("ada@example.org", false);
    let path = topic_path(&server, deleted, "ada@example.org");
    server.delete(&format!("/topics/{deleted}")).ok(200);
    let done = post_and_follow(&server, &path, "unsubscribe=topic");

    let back = post_and_follow(&server, &path, &format!("undo={}", done.field("undo")));

    assert!(back.text().contains("You are subscribed again."), "{}", back.body);
    assert_eq!(topic_choice(&server, ada, deleted), None);
}

#[test]
fn every_page_has_headers_that_protect_its_url() {
    let server = TestServer::start();
    let news = create_topic(&server, "News");
    let path = unsubscribe_path(&server, &deliver(&server, news, "ada@example.org", &json!({})));

    for page in [get_page(&server, &path), get_page(&server, "/unsubscribe/x"), post(&server, "/unsubscribe/x", "")] {
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
fn only_the_start_of_a_body_is_read() {
    let server = TestServer::start();
    let news = create_topic(&server, "News");
    let path = unsubscribe_path(&server, &deliver(&server, news, "ada@example.org", &json!({})));

    let unclear = post(&server, &path, &format!("unsubscribe=topic&x={}", "x".repeat(100_000)));
    assert_eq!(unclear.status, 400);
    assert!(unclear.body.contains("Something went wrong"), "{}", unclear.body);
    assert_accepted(&server, news, "ada@example.org");

    let response = post(&server, &path, &format!("{ONE_CLICK}&x={}", "x".repeat(100_000)));

    assert_eq!((response.status, response.body.as_str()), (200, "OK\n"));
    assert_suppressed(&server, news, "ada@example.org");
}

#[test]
fn an_empty_post_opts_out() {
    let server = TestServer::start();
    let news = create_topic(&server, "News");
    let path = unsubscribe_path(&server, &deliver(&server, news, "ada@example.org", &json!({})));

    // Some mail programs know the header field but send no body.
    let response = post(&server, &path, "");

    assert_eq!(response.status, 303);
    assert_eq!(response.header("cache-control"), "no-store");
    assert_suppressed(&server, news, "ada@example.org");
}

#[test]
fn the_openapi_document_omits_the_unsubscribe_routes() {
    let server = TestServer::start();

    let document = server.get("/docs/openapi.json").ok(200);

    let paths = document["paths"].as_object().unwrap();
    assert!(paths.keys().all(|path| !path.contains("unsubscribe")));
}
