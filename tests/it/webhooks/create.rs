//! `POST /webhooks`.

use serde_json::{Value, json};

use super::{SECRET, create, endpoint};
use crate::support::{TestServer, assert_body, assert_lines};

#[test]
fn a_create_returns_the_signing_secret() {
    let server = TestServer::start();

    let created = server.post("/webhooks", &endpoint(&json!({ "events": ["email.sent", "contact.created"] }))).ok(201);

    assert_body!(created);
    let secret = created["signing_secret"].as_str().unwrap();
    assert_eq!(secret.len(), "whsec_".len() + 32, "24 bytes");
    let shown = server.get(&format!("/webhooks/{}", created["id"].as_str().unwrap())).ok(200);
    assert_eq!(shown["signing_secret"], secret);
    let other = server.post("/webhooks", &endpoint(&json!({}))).ok(201);
    assert_ne!(other["signing_secret"], secret);
}

#[test]
fn a_create_accepts_a_signing_secret() {
    let server = TestServer::start();

    let created = server.post("/webhooks", &endpoint(&json!({ "signing_secret": SECRET }))).ok(201);

    assert_eq!(created["signing_secret"], SECRET);
}

#[test]
fn an_endpoint_that_is_created_disabled_receives_events_only_after_it_is_enabled() {
    let server = TestServer::start();
    for (status, stored) in [(json!(null), "enabled"), (json!("enabled"), "enabled"), (json!("disabled"), "disabled")] {
        let path = create(&server, &json!({ "status": status }));
        assert_eq!(server.get(&path).ok(200)["status"], stored);
        server.delete(&path).ok(200);
    }
    let path = create(&server, &json!({ "status": "disabled", "events": ["email.sent"] }));

    server.send(&json!({}));

    assert_eq!(server.get(&format!("{path}/events")).ok(200)["data"], json!([]));
    server.patch(&path, &json!({ "status": "enabled" })).ok(200);
    server.send(&json!({}));
    server.poll(&format!("{path}/events"), "an event", |events| {
        events.json["data"].as_array().is_some_and(|data| !data.is_empty())
    });
}

#[test]
fn the_events_of_an_endpoint_are_unique_and_in_documentation_order() {
    let server = TestServer::start();
    let requested =
        ["suppression.added", "email.prefetched", "email.sent", "email.sent", "quota.paused", "email.failed"];

    let path = create(&server, &json!({ "events": requested }));

    let shown = server.get(&path).ok(200);
    let stored = json!(["email.sent", "email.prefetched", "email.failed", "suppression.added", "quota.paused"]);
    assert_eq!(shown["events"], stored);
}

#[test]
fn each_invalid_field_of_an_endpoint_is_reported_and_nothing_is_stored() {
    let server = TestServer::start();
    let long = format!("https://hooks.example/{}", "x".repeat(2_048));
    let mut refused = Vec::new();
    for fields in [
        json!({ "endpoint": null }),
        json!({ "events": null }),
        json!({ "endpoint": "" }),
        json!({ "endpoint": "hooks.example/mail" }),
        json!({ "endpoint": "ftp://hooks.example/" }),
        json!({ "endpoint": "javascript:alert(1)" }),
        json!({ "endpoint": 5 }),
        json!({ "endpoint": long }),
        json!({ "events": [] }),
        json!({ "events": "email.sent" }),
        json!({ "events": {} }),
        json!({ "events": ["email.sent", 5] }),
        json!({ "events": ["email.sent", "email.send"] }),
        json!({ "events": ["email.received"] }),
        json!({ "events": ["email.suppressed"] }),
        json!({ "events": ["domain.created"] }),
        json!({ "events": ["contact.topics.updated"] }),
        json!({ "events": ["email.canceled"] }),
        json!({ "events": ["*"] }),
        json!({ "events": vec!["email.sent"; 101] }),
        json!({ "status": "paused" }),
        json!({ "signing_secret": "" }),
        json!({ "signing_secret": "whsec_c2hvcnQ=" }),
        json!({ "signing_secret": [SECRET] }),
        json!({ "name": "Mine" }),
    ] {
        let response = server.post("/webhooks", &endpoint(&fields)).refusal();
        let shown: String = fields.to_string().chars().take(60).collect();
        refused.push(format!("{shown}\n  {response}"));
    }
    assert_eq!(server.get("/webhooks").ok(200)["data"], json!([]));
    assert_lines!(refused);
}

#[test]
fn a_url_with_a_private_address_or_an_invalid_part_is_refused() {
    let server = TestServer::start();
    for url in [
        "https://10.0.0.1/",
        "https://192.168.1.1/",
        "https://169.254.169.254/latest/meta-data",
        "https://[fe80::1]/",
        "https://[fd00::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://user:password@hooks.example/",
        "https://hooks.example/#part",
        "https://hooks.example:0/",
        "https://",
        "https:///mail",
    ] {
        let refused = server.post("/webhooks", &endpoint(&json!({ "endpoint": url }))).refusal();

        assert!(refused.starts_with("422 validation_error: Invalid `endpoint` field: "), "{url}: {refused}");
    }
}

#[test]
fn a_body_that_is_not_json_is_a_400_and_an_array_is_a_422() {
    let server = TestServer::start();
    let status = |body: &[u8]| server.call("POST", "/webhooks", server.key(), &[], Some(body)).status;
    let deep = format!("{{\"events\": {}", "[".repeat(200_000));

    assert_eq!(status(b"{\"endpoint\": "), 400);
    assert_eq!(status(b""), 400);
    assert_eq!(status(b"\xff"), 400);
    assert_eq!(status(b"[]"), 422);
    assert_eq!(status(b"{\"endpoint\": \"a\", \"endpoint\": \"b\", \"events\": [\"email.sent\"]}"), 422);
    assert_eq!(status(deep.as_bytes()), 422);
    assert_eq!(server.get("/webhooks").ok(200)["data"], json!([]));
}

#[test]
fn webhooks_require_a_full_access_key() {
    let server = TestServer::start();
    let key = server.create_sending_key();
    let one = create(&server, &json!({}));
    let event = format!("{one}/events/{}", server.add_webhook_delivery(super::id(&one)));
    for (method, path) in [
        ("POST", "/webhooks".to_owned()),
        ("GET", "/webhooks".to_owned()),
        ("GET", one.clone()),
        ("PATCH", one.clone()),
        ("DELETE", one.clone()),
        ("POST", format!("{one}/rotate")),
        ("POST", format!("{one}/signing-secret/rotate")),
        ("POST", format!("{one}/test")),
        ("GET", format!("{one}/events")),
        ("GET", event.clone()),
        ("GET", format!("{event}/attempts")),
        ("POST", format!("{event}/replay")),
    ] {
        assert_eq!(server.call(method, &path, "", &[], None).status, 401, "{method} {path}");
        let refused = server.call(method, &path, &key, &[], None);
        refused.refused(403, "restricted_api_key", "This API key is restricted to only send emails");
    }
}

#[test]
fn a_team_has_at_most_200_endpoints() {
    let server = TestServer::start();
    for _ in 0..200 {
        create(&server, &json!({}));
    }

    let message = "A team has at most 200 webhook endpoints. Delete one that is not used.";
    server.post("/webhooks", &endpoint(&json!({}))).refused(422, "validation_error", message);
    let other = server.other_team("Other", "other.example");
    let created: Value = other.post("/webhooks", &endpoint(&json!({}))).ok(201);
    assert_eq!(created["object"], "webhook");
}
