//! `RINGMAIL_COMPAT=events`.

use ringmail::events::{EventType, ForeignEventType};
use serde_json::{Value, json};

use crate::support::TestServer;

const SETTING: &str = "start the server with `RINGMAIL_COMPAT=events`";

fn endpoint(events: &Value) -> Value {
    json!({ "endpoint": "https://hooks.example/mail", "events": events })
}

#[test]
fn an_endpoint_can_name_every_type_of_the_compatible_api() {
    let server = TestServer::start_with(&["--compat", "events"]);
    let own = EventType::all().map(EventType::as_str);
    let all: Vec<&str> = own.chain(ForeignEventType::all().map(ForeignEventType::as_str)).collect();
    let reversed: Vec<&str> = all.iter().rev().copied().collect();

    let created = server.post("/webhooks", &endpoint(&json!(reversed))).ok(201);

    let path = format!("/webhooks/{}", created["id"].as_str().unwrap());
    assert_eq!(server.get(&path).ok(200)["events"], json!(all));
    let foreign = json!(["inbox.created", "email.received"]);
    server.patch(&path, &json!({ "events": foreign })).ok(200);
    assert_eq!(server.get(&path).ok(200)["events"], json!(["email.received", "inbox.created"]));
    let unknown = server.patch(&path, &json!({ "events": ["inbox.other"] })).refusal();
    assert!(unknown.starts_with("422 validation_error: Invalid `events[0]` field: `inbox.other` is no"), "{unknown}");

    // The stored types do not depend on the setting.
    let server = server.restart_with(&[]);
    assert_eq!(server.get("/webhooks").ok(200)["data"][0]["events"], json!(["email.received", "inbox.created"]));
}

#[test]
fn a_type_that_never_occurs_is_never_sent() {
    let server = TestServer::start_with(&["--compat", "events"]);
    let foreign: Vec<&str> = ForeignEventType::all().map(ForeignEventType::as_str).collect();
    let none = server.post("/webhooks", &endpoint(&json!(foreign))).ok(201);
    let some = server.post("/webhooks", &endpoint(&json!(["email.sent", "domain.created"]))).ok(201);
    let path = |endpoint: &Value| format!("/webhooks/{}", endpoint["id"].as_str().unwrap());

    server.post("/domains", &json!({ "name": "new.example" })).ok(201);
    server.post("/topics", &json!({ "name": "News", "default_subscription": "opt_in" })).ok(201);
    server.send(&json!({ "to": "delivered@resend.dev" }));

    let sent = server.poll(&format!("{}/events", path(&some)), "an event", |events| {
        events.json["data"].as_array().is_some_and(|data| !data.is_empty())
    });
    let types: Vec<&Value> = sent.json["data"].as_array().unwrap().iter().map(|event| &event["type"]).collect();
    assert_eq!(types, ["email.sent"]);
    assert_eq!(server.get(&format!("{}/events", path(&none))).ok(200)["data"], json!([]));
    for body in [json!({}), json!({ "type": "email.received" })] {
        let refused = server.post(&format!("{}/test", path(&none)), &body).refusal();
        assert!(refused.starts_with("422 validation_error: "), "{body}: {refused}");
    }
}

#[test]
fn a_type_that_never_occurs_is_refused_by_default() {
    let server = TestServer::start();
    let path = server.post("/webhooks", &endpoint(&json!(["email.sent"]))).ok(201);
    let path = format!("/webhooks/{}", path["id"].as_str().unwrap());

    for foreign in ForeignEventType::all().map(ForeignEventType::as_str) {
        let events = json!(["email.sent", foreign]);
        for refused in [
            server.post("/webhooks", &endpoint(&events)).refusal(),
            server.patch(&path, &json!({ "events": events })).refusal(),
        ] {
            let start = format!("422 validation_error: Invalid `events[1]` field: `{foreign}` is never emitted");
            assert!(refused.starts_with(&start) && refused.contains(SETTING), "{refused}");
        }
    }
    assert_eq!(server.get(&path).ok(200)["events"], json!(["email.sent"]));
}
