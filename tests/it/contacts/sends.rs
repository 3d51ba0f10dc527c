//! The effect of opt-outs and topic choices on emails under a topic.

use std::time::Duration;

use serde_json::{Value, json};

use super::{create, create_topic};
use crate::support::{TestServer, email};

const SUPPRESSED: (u16, &str, &str) = (422, "all_recipients_suppressed", "All recipients are suppressed");

/// Checks whether an email to the address under `topic` is accepted. An email without a topic must be accepted.
#[track_caller]
fn assert_accepts(server: &TestServer, to: &str, topic: &str, expected: bool) {
    let response = server.post("/emails", &email(&json!({ "to": to, "topic_id": topic })));
    if expected {
        response.ok(200);
    } else {
        let (status, name, message) = SUPPRESSED;
        response.refused(status, name, message);
    }
    server.post("/emails", &email(&json!({ "to": to }))).ok(200);
}

#[track_caller]
fn put_choice(server: &TestServer, topic: &str, subscription: &str) {
    let choices = json!([{ "id": topic, "subscription": subscription }]);
    server.patch("/contacts/ada@example.net/topics", &choices).ok(200);
}

#[test]
fn an_opt_out_of_a_topic_applies_only_to_that_topic() {
    let server = TestServer::start();
    let (news, offers) = (create_topic(&server, "News", "opt_in"), create_topic(&server, "Offers", "opt_in"));
    create(&server, "ada@example.net", &json!({}));
    assert_accepts(&server, "ada@example.net", &news, true);

    put_choice(&server, &news, "opt_out");

    assert_accepts(&server, "Ada@EXAMPLE.net", &news, false);
    assert_accepts(&server, "ada@example.net", &offers, true);
    put_choice(&server, &news, "opt_in");
    assert_accepts(&server, "ada@example.net", &news, true);
}

#[test]
fn an_unsubscribed_contact_is_suppressed_under_every_topic_until_resubscribed() {
    let server = TestServer::start();
    let news = create_topic(&server, "News", "opt_in");
    create(&server, "ada@example.net", &json!({ "topics": [{ "id": news, "subscription": "opt_in" }] }));

    server.patch("/contacts/ada@example.net", &json!({ "unsubscribed": true })).ok(200);
    assert_accepts(&server, "ada@example.net", &news, false);
    let batch = json!([{ "email": "ada@example.net", "unsubscribed": false }]);
    server.post("/contacts/batch?on_conflict=upsert", &batch).ok(200);
    assert_accepts(&server, "ada@example.net", &news, false);

    server.patch("/contacts/ada@example.net", &json!({ "unsubscribed": false })).ok(200);
    assert_accepts(&server, "ada@example.net", &news, true);
}

#[test]
fn an_opt_out_topic_is_sent_only_to_contacts_who_opted_in() {
    let server = TestServer::start();
    let offers = create_topic(&server, "Offers", "opt_out");
    assert_accepts(&server, "ada@example.net", &offers, false);
    create(&server, "ada@example.net", &json!({}));
    assert_accepts(&server, "ada@example.net", &offers, false);

    put_choice(&server, &offers, "opt_in");

    assert_accepts(&server, "ada@example.net", &offers, true);
    assert_accepts(&server, "bob@example.net", &offers, false);
}

#[test]
fn an_opt_out_stays_valid_after_its_topic_is_deleted() {
    let server = TestServer::start();
    let news = create_topic(&server, "News", "opt_in");
    create(&server, "ada@example.net", &json!({}));
    let later = |to: &str| server.send(&json!({ "to": to, "topic_id": news, "scheduled_at": "in 1 hour" }));
    let (opted_out, subscribed) = (later("ada@example.net"), later("bob@example.net"));

    put_choice(&server, &news, "opt_out");
    server.delete(&format!("/topics/{news}")).ok(200);
    server.advance(Duration::from_secs(3601));

    server.wait_for(&opted_out, "suppressed");
    server.wait_for(&subscribed, "delivered");
}

#[test]
fn an_opt_out_of_a_deleted_topic_stays_valid_after_its_contact_is_deleted() {
    let server = TestServer::start();
    let news = create_topic(&server, "News", "opt_in");
    create(&server, "ada@example.net", &json!({}));
    let scheduled = server.send(&json!({ "to": "ada@example.net", "topic_id": news, "scheduled_at": "in 1 hour" }));
    put_choice(&server, &news, "opt_out");
    server.delete(&format!("/topics/{news}")).ok(200);

    server.delete("/contacts/ada@example.net").ok(200);
    server.advance(Duration::from_secs(3601));

    server.wait_for(&scheduled, "suppressed");
    assert_eq!(server.get("/suppressions/ada@example.net").ok(200)["origin"], "unsubscribe");
}

#[test]
fn an_email_to_several_recipients_omits_those_who_opted_out() {
    let server = TestServer::start();
    let news = create_topic(&server, "News", "opt_in");
    create(&server, "ada@example.net", &json!({ "unsubscribed": true }));
    create(&server, "bob@example.net", &json!({ "topics": [{ "id": news, "subscription": "opt_out" }] }));
    create(&server, "eve@example.net", &json!({}));
    let everyone = json!(["ada@example.net", "eve@example.net"]);

    let id = server.send(&json!({ "to": everyone, "cc": ["Bob <bob@example.net>"], "topic_id": news }));

    let sent = server.get(&format!("/emails/{id}")).ok(200);
    assert_eq!((&sent["to"], &sent["cc"]), (&json!(["eve@example.net"]), &Value::Null));
}

#[test]
fn an_opt_out_applies_to_a_new_contact_with_the_same_address() {
    let server = TestServer::start();
    let news = create_topic(&server, "News", "opt_in");
    create(&server, "ada@example.net", &json!({ "unsubscribed": true }));

    server.delete("/contacts/ada@example.net").ok(200);
    assert_accepts(&server, "ada@example.net", &news, false);

    create(&server, "ada@example.net", &json!({ "topics": [{ "id": news, "subscription": "opt_in" }] }));
    assert_accepts(&server, "ada@example.net", &news, false);
    server.delete("/suppressions/ada@example.net").ok(200);
    assert_accepts(&server, "ada@example.net", &news, true);
}
