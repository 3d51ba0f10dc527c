//! What a stream shows, and when it ends.

use std::time::Duration;

use ringmail::clock::monotonic;
use serde_json::{Value, json};

use super::{PATH, open};
use crate::support::{TestServer, email};

#[test]
fn a_team_sees_its_own_events_in_their_order_and_no_other_s() {
    let server = TestServer::start();
    let other = server.other_team("Other", "other.example");
    let mut ours = open(&server, PATH, server.key());
    let mut theirs = open(&server, PATH, other.key());

    let id = server.send(&json!({ "to": "delivered@resend.dev" }));
    server.wait_for(&id, "delivered");
    let email = email(&json!({ "from": "hello@other.example", "to": "bounced@resend.dev" }));
    other.post("/emails", &email).ok(200);
    server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201);

    let seen = [ours.message(), ours.message(), ours.message()];
    let types: Vec<&str> = seen.iter().map(|message| message.event.as_str()).collect();
    assert_eq!(types, ["email.sent", "email.delivered", "contact.created"]);
    for message in &seen {
        assert_eq!(message.data["type"], message.event.as_str());
        assert_eq!(message.id.len(), 36, "{}", message.id);
    }
    assert!(seen[0].id < seen[1].id && seen[1].id < seen[2].id, "{seen:?}");
    assert_eq!(
        (&seen[0].data["data"]["email_id"], &seen[2].data["data"]["email"]),
        (&json!(id), &json!("ada@example.net"))
    );
    assert_eq!([theirs.message().event, theirs.message().event], ["email.sent", "email.bounced"]);
}

#[test]
fn a_filter_lets_types_and_groups_through() {
    let server = TestServer::start();
    let mut stream = open(&server, &format!("{PATH}?types=email.delivered,contact.*"), server.key());

    let id = server.send(&json!({}));
    server.wait_for(&id, "delivered");
    server.post("/suppressions", &json!({ "email": "gone@example.net" })).ok(201);
    server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201);

    assert_eq!([stream.message().event, stream.message().event], ["email.delivered", "contact.created"]);
}

#[test]
fn a_stream_ends_with_its_key() {
    let server = TestServer::start();
    let domain = server.post("/domains", &json!({ "name": "scoped.example" })).ok(201)["id"].clone();
    let make = |fields| server.post("/api-keys", &fields).ok(201);
    let (deleted, scoped) = (make(json!({ "name": "a" })), make(json!({ "name": "b", "domain_id": domain })));
    let token = |key: &Value| key["token"].as_str().unwrap().to_owned();
    let mut ours = open(&server, PATH, server.key());
    let mut of_deleted = open(&server, PATH, &token(&deleted));
    let mut of_scoped = open(&server, PATH, &token(&scoped));

    server.delete(&format!("/api-keys/{}", deleted["id"].as_str().unwrap())).ok(200);
    assert!(of_deleted.next().is_none());
    server.delete(&format!("/domains/{}", domain.as_str().unwrap())).ok(200);
    assert!(of_scoped.next().is_none());

    server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201);
    assert_eq!(ours.message().event, "contact.created");
}

#[test]
fn a_stop_ends_streams_at_once() {
    let server = TestServer::start();
    let mut stream = open(&server, PATH, server.key());
    let reading = std::thread::spawn(move || stream.next().is_none());
    let started = monotonic();

    drop(server.into_directory());

    assert!(reading.join().unwrap(), "the stream ends in order");
    // Requests that do not end have ten seconds.
    assert!(started.elapsed() < Duration::from_secs(9), "{:?}", started.elapsed());
}
