//! `POST /broadcasts/{id}/send` and `POST /broadcasts/{id}/cancel`.

use serde_json::json;

use super::{broadcast, create, id, schedule, status};
use crate::support::TestServer;

const NOT_CANCELABLE: &str = "Only queued or scheduled broadcasts can be canceled";

#[test]
fn a_draft_is_scheduled_and_canceled_once() {
    let server = TestServer::start();
    for number in 0..3 {
        server.post("/contacts", &json!({ "email": format!("c{number}@example.net") })).ok(201);
    }
    server.post("/contacts", &json!({ "email": "left@example.net", "unsubscribed": true })).ok(201);
    let path = create(&server, &json!({}));
    let (send, cancel) = (format!("{path}/send"), format!("{path}/cancel"));
    server.post(&cancel, &json!({})).refused(403, "validation_error", NOT_CANCELABLE);

    let sent = server.post(&send, &json!({ "scheduled_at": "in 1 hour" })).ok(200);

    assert_eq!((&sent["id"], &sent["estimated"]), (&json!(id(&path)), &json!(true)));
    assert!(sent["finishes_at"].is_string(), "{sent}");
    assert_eq!(status(&server, &path), "scheduled");
    let again = server.post(&send, &json!({})).refusal();
    assert_eq!(again, "403 validation_error: Only drafts can be sent. The status of this broadcast is `scheduled`.");
    let canceled = server.post(&cancel, &json!({})).ok(200);
    assert_eq!(canceled, json!({ "object": "broadcast", "id": id(&path), "canceled_remaining": 3 }));
    let read = server.get(&path).ok(200);
    assert_eq!(
        (&read["status"], &read["finishes_at"], &read["sent_count"]),
        (&json!("canceled"), &json!(null), &json!(0))
    );
    server.post(&cancel, &json!({})).refused(403, "validation_error", NOT_CANCELABLE);
    let again = server.post(&send, &json!({})).refusal();
    assert_eq!(again, "403 validation_error: Only drafts can be sent. The status of this broadcast is `canceled`.");
}

#[test]
fn an_empty_due_time_or_body_sends_now() {
    let server = TestServer::start();
    for body in [Some("{\"scheduled_at\":\"\"}"), Some("{}"), None] {
        let path = create(&server, &json!({}));

        let send = format!("{path}/send");
        let sent = server.call("POST", &send, server.key(), &[], body.map(str::as_bytes)).ok(200);

        assert_eq!(sent["id"], id(&path));
        let status = status(&server, &path);
        assert!(["queued", "sent"].contains(&status.as_str()), "{status}");
    }
}

#[test]
fn an_invalid_due_time_is_refused() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));
    for text in ["soon", "in 31 days", "2025-01-01T00:00:00Z"] {
        let refused = server.post(&format!("{path}/send"), &json!({ "scheduled_at": text })).refusal();

        assert!(refused.starts_with("422 validation_error: Invalid `scheduled_at` field"), "{text}: {refused}");
    }
    assert_eq!(status(&server, &path), "draft");
}

#[test]
fn a_sender_without_a_verified_domain_can_draft_but_not_send() {
    let server = TestServer::start();
    let path = create(&server, &json!({ "from": "news@unverified.example" }));

    let refused = server.post(&format!("{path}/send"), &json!({}));

    let message = "The unverified.example domain is not verified. Please, add and verify your domain.";
    refused.refused(403, "validation_error", message);
    let now = broadcast(&json!({ "from": "news@unverified.example", "send": true }));
    server.post("/broadcasts", &now).refused(403, "validation_error", message);
    assert_eq!(status(&server, &path), "draft");
}

#[test]
fn a_broadcast_without_visible_content_is_not_sent() {
    let server = TestServer::start();
    let message = "The broadcast has no content. Set `html` or `text` before you send it.";
    for text in [json!(null), json!(""), json!(" \n")] {
        let path = create(&server, &json!({ "text": text }));

        server.post(&format!("{path}/send"), &json!({})).refused(422, "validation_error", message);

        server.patch(&path, &json!({ "html": "<p>Hi</p>" })).ok(200);
        server.post(&format!("{path}/send"), &json!({ "scheduled_at": "in 1 hour" })).ok(200);
    }
}

#[test]
fn a_server_whose_links_cannot_be_opened_sends_no_broadcast() {
    let server = TestServer::start_with(&["--delivery", "direct", "--hold"]);
    let path = create(&server, &json!({}));

    let refused = server.post(&format!("{path}/send"), &json!({})).refusal();

    assert!(refused.starts_with("422 validation_error: The broadcast cannot be sent: its emails carry"), "{refused}");
    assert_eq!(status(&server, &path), "draft");
}

#[test]
fn usage_counts_sent_and_scheduled_broadcasts() {
    let server = TestServer::start();
    let used = || server.get("/usage").ok(200)["broadcasts"]["used"].as_u64().unwrap();
    create(&server, &json!({}));
    assert_eq!(used(), 0);

    let path = schedule(&server);
    assert_eq!(used(), 1);

    server.post(&format!("{path}/cancel"), &json!({})).ok(200);
    create(&server, &json!({ "send": true }));
    assert_eq!(used(), 2);
}
