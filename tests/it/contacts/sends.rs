//! What a send under a topic makes of what contacts said through the API.

use std::time::Duration;

use serde_json::{Value, json};

use super::{create, topic};
use crate::support::{TestServer, email};

const SUPPRESSED: (u16, &str, &str) = (422, "all_recipients_suppressed", "All recipients are suppressed");

/// Holds what becomes of a send to the address, with the topic and without.
#[track_caller]
fn receives(server: &TestServer, to: &str, topic: &str, expected: bool) {
    let under = server.post("/emails", &email(&json!({ "to": to, "topic_id": topic })));
    if expected {
        under.ok(200);
    } else {
        let (status, name, message) = SUPPRESSED;
        under.refused(status, name, message);
    }
    server.post("/emails", &email(&json!({ "to": to }))).ok(200);
}

#[track_caller]
fn choose(server: &TestServer, topic: &str, subscription: &str) {
    let choices = json!([{ "id": topic, "subscription": subscription }]);
    server.patch("/contacts/ada@example.net/topics", &choices).ok(200);
}

#[test]
fn an_opt_out_of_the_topic_counts_for_that_topic_alone() {
    let server = TestServer::start();
    let (news, offers) = (topic(&server, "News", "opt_in"), topic(&server, "Offers", "opt_in"));
    create(&server, "ada@example.net", &json!({}));
    receives(&server, "ada@example.net", &news, true);

    choose(&server, &news, "opt_out");

    receives(&server, "Ada@EXAMPLE.net", &news, false);
    receives(&server, "ada@example.net", &offers, true);
    choose(&server, &news, "opt_in");
    receives(&server, "ada@example.net", &news, true);
}

#[test]
fn an_opt_out_of_everything_counts_for_every_topic_until_it_is_lifted() {
    let server = TestServer::start();
    let news = topic(&server, "News", "opt_in");
    create(&server, "ada@example.net", &json!({ "topics": [{ "id": news, "subscription": "opt_in" }] }));

    server.patch("/contacts/ada@example.net", &json!({ "unsubscribed": true })).ok(200);
    receives(&server, "ada@example.net", &news, false);
    let batch = json!([{ "email": "ada@example.net", "unsubscribed": false }]);
    server.post("/contacts/batch?on_conflict=upsert", &batch).ok(200);
    receives(&server, "ada@example.net", &news, false);

    server.patch("/contacts/ada@example.net", &json!({ "unsubscribed": false })).ok(200);
    receives(&server, "ada@example.net", &news, true);
}

#[test]
fn a_topic_that_is_out_unless_asked_for_reaches_those_who_asked() {
    let server = TestServer::start();
    let offers = topic(&server, "Offers", "opt_out");
    receives(&server, "ada@example.net", &offers, false);
    create(&server, "ada@example.net", &json!({}));
    receives(&server, "ada@example.net", &offers, false);

    choose(&server, &offers, "opt_in");

    receives(&server, "ada@example.net", &offers, true);
    receives(&server, "bob@example.net", &offers, false);
}

#[test]
fn an_opt_out_outlives_its_topic() {
    let server = TestServer::start();
    let news = topic(&server, "News", "opt_in");
    create(&server, "ada@example.net", &json!({}));
    let later = |to: &str| server.send(&json!({ "to": to, "topic_id": news, "scheduled_at": "in 1 hour" }));
    let (refused, wanted) = (later("ada@example.net"), later("bob@example.net"));

    choose(&server, &news, "opt_out");
    server.delete(&format!("/topics/{news}")).ok(200);
    server.advance(Duration::from_secs(3601));

    server.wait_for(&refused, "suppressed");
    server.wait_for(&wanted, "delivered");
}

#[test]
fn an_opt_out_of_a_deleted_topic_outlives_its_contact() {
    let server = TestServer::start();
    let news = topic(&server, "News", "opt_in");
    create(&server, "ada@example.net", &json!({}));
    let waits = server.send(&json!({ "to": "ada@example.net", "topic_id": news, "scheduled_at": "in 1 hour" }));
    choose(&server, &news, "opt_out");
    server.delete(&format!("/topics/{news}")).ok(200);

    server.delete("/contacts/ada@example.net").ok(200);
    server.advance(Duration::from_secs(3601));

    server.wait_for(&waits, "suppressed");
    assert_eq!(server.get("/suppressions/ada@example.net").ok(200)["origin"], "unsubscribe");
}

#[test]
fn those_who_opted_out_are_left_out_of_a_send_to_several() {
    let server = TestServer::start();
    let news = topic(&server, "News", "opt_in");
    create(&server, "ada@example.net", &json!({ "unsubscribed": true }));
    create(&server, "bob@example.net", &json!({ "topics": [{ "id": news, "subscription": "opt_out" }] }));
    create(&server, "eve@example.net", &json!({}));
    let everyone = json!(["ada@example.net", "eve@example.net"]);

    let id = server.send(&json!({ "to": everyone, "cc": ["Bob <bob@example.net>"], "topic_id": news }));

    let sent = server.get(&format!("/emails/{id}")).ok(200);
    assert_eq!((&sent["to"], &sent["cc"]), (&json!(["eve@example.net"]), &Value::Null));
}

#[test]
fn an_opt_out_outlives_its_contact_and_the_next_of_that_address() {
    let server = TestServer::start();
    let news = topic(&server, "News", "opt_in");
    create(&server, "ada@example.net", &json!({ "unsubscribed": true }));

    server.delete("/contacts/ada@example.net").ok(200);
    receives(&server, "ada@example.net", &news, false);

    create(&server, "ada@example.net", &json!({ "topics": [{ "id": news, "subscription": "opt_in" }] }));
    receives(&server, "ada@example.net", &news, false);
    server.delete("/suppressions/ada@example.net").ok(200);
    receives(&server, "ada@example.net", &news, true);
}
