//! Contents and end of a live stream.

use std::time::Duration;

use ringmail::base::clock::monotonic;
use serde_json::{Value, json};

use super::{PATH, open};
use crate::support::{TestServer, email};

#[test]
fn a_stream_has_only_the_events_of_its_team_in_order() {
    let server = TestServer::start();
    let other = server.other_team("Other", "other.example");
    let mut ours = open(&server, PATH, server.key());
    let mut theirs = open(&server, PATH, other.key());

    let id = server.send(&json!({ "to": "delivered@resend.dev" }));
    server.wait_for(&id, "delivered");
    let email = email(&json!({ "from": "hello@other.example", "to": "bounced@resend.dev" }));
    other.post("/emails", &email).ok(200);
    server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201);

    let messages = [ours.message(), ours.message(), ours.message()];
    let types: Vec<&str> = messages.iter().map(|message| message.event.as_str()).collect();
    assert_eq!(types, ["email.sent", "email.delivered", "contact.created"]);
    for message in &messages {
        assert_eq!(message.data["type"], message.event.as_str());
        assert_eq!(message.id.len(), 36, "{}", message.id);
    }
    assert!(messages[0].id < messages[1].id && messages[1].id < messages[2].id, "{messages:?}");
    assert_eq!(
        (&messages[0].data["data"]["email_id"], &messages[2].data["data"]["email"]),
        (&json!(id), &json!("ada@example.net"))
    );
    assert_eq!([theirs.message().event, theirs.message().event], ["email.sent", "email.bounced"]);
}

#[test]
fn a_filter_matches_types_and_groups_of_types() {
    let server = TestServer::start();
    let mut stream = open(&server, &format!("{PATH}?types=email.delivered,contact.*"), server.key());

    let id = server.send(&json!({}));
    server.wait_for(&id, "delivered");
    server.post("/suppressions", &json!({ "email": "gone@example.net" })).ok(201);
    server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201);

    assert_eq!([stream.message().event, stream.message().event], ["email.delivered", "contact.created"]);
}

#[test]
fn a_stream_ends_when_its_key_is_deleted() {
    let server = TestServer::start();
    let domain = server.post("/domains", &json!({ "name": "scoped.example" })).ok(201)["id"].clone();
    let create_key = |fields| server.post("/api-keys", &fields).ok(201);
    let (deleted, scoped) =
        (create_key(json!({ "name": "a" })), create_key(json!({ "name": "b", "domain_id": domain })));
    let token = |key: &Value| key["token"].as_str().unwrap().to_owned();
    let mut ours = open(&server, PATH, server.key());
    let mut stream_of_deleted = open(&server, PATH, &token(&deleted));
    let mut stream_of_scoped = open(&server, PATH, &token(&scoped));

    server.delete(&format!("/api-keys/{}", deleted["id"].as_str().unwrap())).ok(200);
    assert!(stream_of_deleted.next().is_none());
    server.delete(&format!("/domains/{}", domain.as_str().unwrap())).ok(200);
    assert!(stream_of_scoped.next().is_none());

    server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201);
    assert_eq!(ours.message().event, "contact.created");
}

#[test]
fn a_shutdown_ends_a_stream_immediately() {
    let server = TestServer::start();
    let mut stream = open(&server, PATH, server.key());
    let reading = std::thread::spawn(move || stream.next().is_none());
    let started = monotonic();

    drop(server.into_directory());

    assert!(reading.join().unwrap(), "the stream ends without an error");
    // The shutdown waits up to ten seconds for requests in flight.
    assert!(started.elapsed() < Duration::from_secs(9), "{:?}", started.elapsed());
}
