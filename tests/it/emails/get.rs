//! `GET /emails/{id}`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::TestServer;

#[test]
fn an_id_is_read_in_either_case() {
    let server = TestServer::start();
    let id = server.send(&json!({}));

    assert_eq!(server.get(&format!("/emails/{}", id.to_uppercase())).ok(200)["id"], id);
}

#[test]
fn an_unknown_id_is_not_found_and_a_malformed_one_is_invalid() {
    let server = TestServer::start();

    server.get("/emails/0190a6c0-0000-7000-8000-000000000001").refused(404, "not_found", "Email not found");
    for malformed in ["1", "0190a6c0000070008000000000000001", "%7B0190a6c0-0000-7000-8000-000000000001%7D", "a%00b"] {
        let answer = server.get(&format!("/emails/{malformed}"));

        answer.refused(422, "validation_error", "The `id` must be a valid UUID.");
    }
}

#[test]
fn the_message_id_is_the_same_at_every_read_and_names_the_sender_s_domain() {
    let server = TestServer::start();
    let id = server.send(&json!({ "to": "delayed@resend.dev" }));
    let before = server.wait_for(&id, "delivery_delayed");

    server.advance(Duration::from_secs(120));

    let after = server.wait_for(&id, "delivered");
    assert_eq!(before["message_id"], format!("<{id}@example.com>"));
    assert_eq!(after["message_id"], before["message_id"]);
}

#[test]
fn an_email_outlives_its_content_and_later_goes_too() {
    let server = TestServer::start();
    let id = server.send(&json!({
        "html": "<p>Hello</p>", "attachments": [{ "filename": "a.txt", "content": "YQ==" }],
    }));
    let before = server.wait_for(&id, "delivered");
    let path = format!("/emails/{id}");

    let server = server.restart_after(Duration::from_secs(31 * 86_400), &[]);
    server.wait_for_purge(&id);
    let without = server.get(&path).ok(200);
    let server = server.restart_after(Duration::from_secs(335 * 86_400), &[]);
    let gone = server.poll(&path, "the row's end", |answer| answer.status == 404);

    assert_eq!((&without["html"], &without["text"]), (&Value::Null, &Value::Null));
    for kept in ["subject", "to", "attachments", "events", "recipients", "tags", "last_event"] {
        assert_eq!(without[kept], before[kept], "{kept}");
    }
    gone.refused(404, "not_found", "Email not found");
}

#[test]
fn an_email_that_still_waits_keeps_its_content() {
    let server = TestServer::start_with(&["--content-retention-days", "1"]);
    let waiting = server.send(&json!({ "scheduled_at": "in 10 days" }));
    let done = server.send(&json!({}));
    server.wait_for(&done, "delivered");

    let server = server.restart_after(Duration::from_secs(2 * 86_400), &["--content-retention-days", "1"]);
    server.wait_for_purge(&done);

    assert_eq!(server.get(&format!("/emails/{waiting}")).ok(200)["text"], "Hello there");
    server.advance(Duration::from_secs(8 * 86_400));
    server.wait_for(&waiting, "delivered");
}
