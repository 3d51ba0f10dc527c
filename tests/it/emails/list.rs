//! `GET /emails`.

use serde_json::json;

use crate::support::{TestServer, assert_body};

#[test]
fn a_row_has_every_field_except_the_content() {
    let server = TestServer::start();
    let id = server.send(&json!({
        "html": "<p>Hello</p>", "cc": "delivered+cc@resend.dev", "bcc": "delivered+bcc@resend.dev",
        "reply_to": "answers@example.com", "tags": [{ "name": "a", "value": "1" }],
        "attachments": [{ "filename": "a.txt", "content": "YQ==" }],
    }));
    server.wait_for(&id, "delivered");
    server.send(&json!({ "scheduled_at": "in 1 hour" }));

    assert_body!(server.get("/emails").ok(200));
}

#[test]
fn the_emails_of_a_batch_are_listed() {
    let server = TestServer::start();
    let emails: Vec<_> = (0..3).map(|n| crate::support::email(&json!({ "subject": format!("{n}") }))).collect();
    server.post("/emails/batch", &json!(emails)).ok(200);

    let list = server.get("/emails").ok(200);

    let subjects: Vec<&str> =
        list["data"].as_array().unwrap().iter().map(|email| email["subject"].as_str().unwrap()).collect();
    assert_eq!(subjects, ["2", "1", "0"]);
}

#[test]
fn a_refused_email_is_not_listed() {
    let server = TestServer::start();

    server.post("/emails", &crate::support::email(&json!({ "to": "nobody" }))).refusal();

    assert_eq!(server.get("/emails").ok(200)["data"], json!([]));
}
