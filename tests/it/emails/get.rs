//! `GET /emails/{id}`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::TestServer;

#[test]
fn an_id_is_accepted_in_upper_and_lower_case() {
    let server = TestServer::start();
    let id = server.send(&json!({}));

    assert_eq!(server.get(&format!("/emails/{}", id.to_uppercase())).ok(200)["id"], id);
}

#[test]
fn an_unknown_email_is_not_found_and_a_malformed_id_is_invalid() {
    let server = TestServer::start();

    server.get("/emails/0190a6c0-0000-7000-8000-000000000001").refused(404, "not_found", "Email not found");
    for malformed in ["1", "0190a6c0000070008000000000000001", "%7B0190a6c0-0000-7000-8000-000000000001%7D", "a%00b"] {
        let response = server.get(&format!("/emails/{malformed}"));

        response.refused(422, "validation_error", "The `id` must be a valid UUID.");
    }
}

#[test]
fn the_message_id_is_constant_and_has_the_domain_of_the_sender() {
    let server = TestServer::start();
    let id = server.send(&json!({ "to": "delayed@resend.dev" }));
    let before = server.wait_for(&id, "delivery_delayed");

    server.advance(Duration::from_secs(120));

    let after = server.wait_for(&id, "delivered");
    assert_eq!(before["message_id"], format!("<{id}@example.com>"));
    assert_eq!(after["message_id"], before["message_id"]);
}

#[test]
fn retention_deletes_the_content_first_and_the_email_later() {
    let server = TestServer::start();
    let id = server.send(&json!({
        "html": "<p>Hello</p>", "attachments": [{ "filename": "a.txt", "content": "YQ==" }],
    }));
    let before = server.wait_for(&id, "delivered");
    let path = format!("/emails/{id}");

    let server = server.restart_after(Duration::from_secs(31 * 86_400), &[]);
    server.wait_for_purge(&id);
    let without_content = server.get(&path).ok(200);
    let server = server.restart_after(Duration::from_secs(335 * 86_400), &[]);
    let deleted = server.poll(&path, "the deletion of the email", |response| response.status == 404);

    assert_eq!((&without_content["html"], &without_content["text"]), (&Value::Null, &Value::Null));
    for field in ["subject", "to", "attachments", "events", "recipients", "tags", "last_event"] {
        assert_eq!(without_content[field], before[field], "{field}");
    }
    deleted.refused(404, "not_found", "Email not found");
}

#[test]
fn a_scheduled_email_keeps_its_content() {
    let server = TestServer::start_with(&["--content-retention-days", "1"]);
    let scheduled = server.send(&json!({ "scheduled_at": "in 10 days" }));
    let delivered = server.send(&json!({}));
    server.wait_for(&delivered, "delivered");

    let server = server.restart_after(Duration::from_secs(2 * 86_400), &["--content-retention-days", "1"]);
    server.wait_for_purge(&delivered);

    assert_eq!(server.get(&format!("/emails/{scheduled}")).ok(200)["text"], "Hello there");
    server.advance(Duration::from_secs(8 * 86_400));
    server.wait_for(&scheduled, "delivered");
}
