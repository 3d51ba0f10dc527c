//! `/unsubscribe/{token}`.

use std::time::Duration;

use ringmail::address::EmailAddress;
use ringmail::contacts::{ContactRow, TopicChoiceRow};
use ringmail::id::{ContactId, Id, TopicId};
use ringmail::store::tables::{CONTACT_ADDRESSES, CONTACTS, IdRow, SUPPRESSIONS, TOPIC_CHOICES, TOPICS};
use ringmail::store::{NEXT, Order, Reads as _, StoreError};
use ringmail::suppressions::{self, Origin};
use ringmail::topics::Subscription;
use serde_json::json;

use super::{SUPPRESSED, delivered, link_path, team, topic, wait};
use crate::support::{TestServer, email};

const ONE_CLICK: &str = "List-Unsubscribe=One-Click";
const FORM: &str = "application/x-www-form-urlencoded";

/// A page or a short answer.
struct Shown {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Shown {
    fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(other, _)| other == name).map_or("", |(_, value)| value)
    }
}

/// Makes a request without a key and without following anything.
fn request(server: &TestServer, method: &str, path: &str, content_type: &str, body: &str) -> Shown {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .allow_non_standard_methods(true)
        .timeout_global(Some(Duration::from_secs(30)))
        .build();
    let request = ureq::http::Request::builder().method(method).uri(format!("{}{path}", server.base()));
    let request = if content_type.is_empty() { request } else { request.header("content-type", content_type) };
    let agent = ureq::Agent::new_with_config(config);
    let response = if method == "POST" {
        agent.run(request.body(body.to_owned()).expect("a request"))
    } else {
        agent.run(request.body(()).expect("a request"))
    };
    let response = response.expect("the server answers");
    let status = response.status().as_u16();
    let headers = response
        .headers()
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_str().expect("a plain header").to_owned()))
        .collect();
    let body = response.into_body().read_to_string().expect("the answer is text");
    Shown { status, headers, body }
}

fn show(server: &TestServer, path: &str) -> Shown {
    request(server, "GET", path, "", "")
}

/// Tries to send to the address under the topic.
#[track_caller]
fn may_send(server: &TestServer, topic: TopicId, to: &str) {
    server.post("/emails", &email(&json!({ "topic_id": topic.to_string(), "to": to }))).ok(200);
}

#[track_caller]
fn may_not_send(server: &TestServer, topic: TopicId, to: &str) {
    let (status, name, message) = SUPPRESSED;
    server.post("/emails", &email(&json!({ "topic_id": topic.to_string(), "to": to }))).refused(status, name, message);
}

/// Returns the origins on the suppression list.
fn suppressed(server: &TestServer) -> Vec<Origin> {
    let team = team(server);
    let origins = server.context().store.read_now(|tx| {
        let mut origins = Vec::new();
        tx.scan(&SUPPRESSIONS, &(team, Id::MIN), &(team, Id::MAX), Order::Ascending, |_, row| {
            origins.push(row.decode()?.origin);
            NEXT
        })?;
        Ok::<_, StoreError>(origins)
    });
    origins.expect("the store reads")
}

/// Makes a contact.
fn contact(server: &TestServer, address: &str) -> ContactId {
    let context = server.context();
    let (team, id) = (team(server), context.id());
    let row = ContactRow::named(address.to_owned());
    let hash = suppressions::hash(&EmailAddress::parse(address).expect("an address"));
    let written = context.store.write::<_, StoreError>(move |tx| {
        tx.put(&CONTACTS, &(team, id), &row)?;
        tx.put(&CONTACT_ADDRESSES, &(team, hash), &IdRow { id })
    });
    wait(written).expect("the store writes");
    id
}

fn choice(server: &TestServer, contact: ContactId, topic: TopicId) -> Option<TopicChoiceRow> {
    let team = team(server);
    let read = server.context().store.read_now(|tx| tx.get(&TOPIC_CHOICES, &(team, contact, topic)));
    read.map_err(|error: StoreError| error).expect("the store reads")
}

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
    assert_eq!(request(&server, "HEAD", &path, "", "").status, 200);
    may_send(&server, news, "ada@example.org");
    assert_eq!(suppressed(&server), []);

    let done = request(&server, "POST", &path, FORM, "");
    assert_eq!(done.status, 200);
    assert!(done.body.contains("You are unsubscribed") && !done.body.contains("<form"), "{}", done.body);
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
        let answer = request(&server, "POST", &path, content_type, body);

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
    let contact = contact(&server, "Ada@example.org");
    let path = link_path(&server, &delivered(&server, news, "ada@example.org", &json!({})));

    for _ in 0..2 {
        assert_eq!(request(&server, "POST", &path, FORM, ONE_CLICK).status, 200);
    }

    let chosen = choice(&server, contact, news).map(|choice| choice.subscription);
    assert_eq!(chosen, Some(Subscription::OptOut));
    assert!(choice(&server, contact, other).is_none());
    assert_eq!(suppressed(&server), []);
    may_not_send(&server, news, "ada@example.org");
    may_send(&server, other, "ada@example.org");
    assert!(show(&server, &path).body.contains("You are unsubscribed"));
}

#[test]
fn a_token_that_was_not_made_here_or_has_lost_its_topic_leads_to_one_neutral_page() {
    let (server, elsewhere) = (TestServer::start(), TestServer::start());
    let (news, gone) = (topic(&server, "News"), topic(&server, "Gone"));
    let path = link_path(&server, &delivered(&server, news, "ada@example.org", &json!({})));
    let without_topic = link_path(&server, &delivered(&server, gone, "bob@example.org", &json!({})));
    let theirs = topic(&elsewhere, "News");
    let foreign = link_path(&elsewhere, &delivered(&elsewhere, theirs, "ada@example.org", &json!({})));
    let team = team(&server);
    let deleted = server.context().store.write::<_, StoreError>(move |tx| tx.delete(&TOPICS, &(team, gone)));
    assert!(wait(deleted).expect("the store writes"));
    let mut tampered = path.clone();
    let last = if tampered.pop() == Some('A') { 'B' } else { 'A' };
    tampered.push(last);
    let neutral = show(&server, "/unsubscribe/x");
    assert_eq!(neutral.status, 404);
    assert!(neutral.body.contains("This link does not work"), "{}", neutral.body);

    for path in
        [&tampered, &without_topic, &foreign, &format!("{path}x"), &format!("/unsubscribe/{}", "x".repeat(5_000))]
    {
        for shown in [show(&server, path), request(&server, "POST", path, FORM, ONE_CLICK)] {
            assert_eq!((shown.status, &shown.body), (404, &neutral.body), "{path}");
        }
    }
    assert_eq!(suppressed(&server), []);
    assert_eq!(show(&server, &path).status, 200);
}

#[test]
fn every_page_keeps_its_address_to_itself() {
    let server = TestServer::start();
    let news = topic(&server, "News");
    let path = link_path(&server, &delivered(&server, news, "ada@example.org", &json!({})));

    for page in [show(&server, &path), show(&server, "/unsubscribe/x"), request(&server, "POST", &path, FORM, "")] {
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

    let answer = request(&server, "POST", &path, FORM, &format!("{ONE_CLICK}&x={}", "x".repeat(100_000)));

    assert_eq!((answer.status, answer.body.as_str()), (200, "OK\n"));
    may_not_send(&server, news, "ada@example.org");
}

#[test]
fn the_link_is_no_part_of_the_api() {
    let server = TestServer::start();

    let document = server.get("/docs/openapi.json").ok(200);

    let paths = document["paths"].as_object().unwrap();
    assert!(paths.keys().all(|path| !path.contains("unsubscribe")));
}
