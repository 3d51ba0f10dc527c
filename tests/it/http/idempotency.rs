//! The `Idempotency-Key` header of `POST /emails` and `POST /emails/batch`.

use std::time::Duration;

use ringmail::suppressions::SuppressionOrigin;
use serde_json::{Value, json};

use crate::support::{ApiResponse, TestServer, email};

const OTHER_PAYLOAD: &str = "409 invalid_idempotent_request: This idempotency key has been used on this endpoint \
                             with another payload. Use a new key, or send the original payload.";

fn send(server: &TestServer, path: &str, key: &str, body: &str) -> ApiResponse {
    server.call("POST", path, server.key(), &[("idempotency-key", key)], Some(body.as_bytes()))
}

fn send_one(server: &TestServer, key: &str, fields: &Value) -> ApiResponse {
    send(server, "/emails", key, &email(fields).to_string())
}

#[test]
fn a_repeated_request_sends_one_email() {
    let server = TestServer::start();

    let first = send_one(&server, "order-7", &json!({})).ok(200);
    let second = send_one(&server, "order-7", &json!({})).ok(200);

    assert_eq!(first, second);
    assert_eq!(server.stored_emails(), 1);
}

#[test]
fn a_key_lives_for_the_configured_hours() {
    const LIFETIME: Duration = Duration::from_secs(2 * 3_600);
    let server = TestServer::start_with(&["--idempotency-retention-hours", "2"]);
    let first = send_one(&server, "order-7", &json!({})).ok(200);

    server.advance(LIFETIME - Duration::from_millis(1));
    assert_eq!(send_one(&server, "order-7", &json!({})).ok(200), first);
    server.advance(Duration::from_millis(1));
    assert_ne!(send_one(&server, "order-7", &json!({})).ok(200), first);
}

#[test]
fn key_order_white_space_escapes_and_nulls_do_not_change_the_payload() {
    let server = TestServer::start();
    let id = send(
        &server,
        "/emails",
        "k",
        r#"{"from":"hello@example.com","to":["delivered@resend.dev"],"subject":"Hello","text":"t","headers":{"X-A":"1","X-B":"2"}}"#,
    )
    .ok(200);

    let again = r#"{ "headers": { "X-B": "2", "X-A": "\u0031" }, "cc": null,
        "text": "t", "subject": "Hell\u006f", "to": ["delivered@resend.dev"], "from": "hello@example.com" }"#;

    assert_eq!(send(&server, "/emails", "k", again).ok(200), id);
    assert_eq!(server.stored_emails(), 1);
}

#[test]
fn another_payload_under_the_same_key_is_a_conflict() {
    let server = TestServer::start();
    send_one(&server, "k", &json!({ "to": ["delivered@resend.dev", "delivered+b@resend.dev"] })).ok(200);
    for fields in [
        json!({ "subject": "Other" }),
        json!({ "to": ["delivered+b@resend.dev", "delivered@resend.dev"] }),
        json!({ "to": "delivered@resend.dev" }),
        json!({ "to": ["delivered@resend.dev", "delivered+b@resend.dev"], "tags": [] }),
    ] {
        assert_eq!(send_one(&server, "k", &fields).refusal(), OTHER_PAYLOAD, "{fields}");
    }
    assert_eq!(server.stored_emails(), 1);
}

#[test]
fn a_key_is_valid_for_its_team_and_route() {
    let server = TestServer::start();
    let other = server.other_team("Other", "other.example");
    send_one(&server, "k", &json!({})).ok(200);

    let batch = json!([email(&json!({}))]).to_string();
    send(&server, "/emails/batch", "k", &batch).ok(200);
    let theirs = email(&json!({ "from": "hello@other.example" })).to_string();
    server.call("POST", "/emails", other.key(), &[("idempotency-key", "k")], Some(theirs.as_bytes())).ok(200);
    // The idempotency key is the same for another API key of the team.
    let second = server.create_key(&json!({ "name": "Second" }));
    let body = email(&json!({})).to_string();
    server.call("POST", "/emails", &second, &[("idempotency-key", "k")], Some(body.as_bytes())).ok(200);

    assert_eq!(server.stored_emails(), 2);
}

#[test]
fn a_repeated_batch_has_the_same_response_with_its_errors() {
    let server = TestServer::start();
    let batch = json!([email(&json!({})), email(&json!({ "to": "nobody" })), email(&json!({}))]).to_string();
    let headers = [("idempotency-key", "k"), ("x-batch-validation", "permissive")];
    let send = || server.call("POST", "/emails/batch", server.key(), &headers, Some(batch.as_bytes())).ok(200);

    let (first, second) = (send(), send());

    assert_eq!(first, second);
    assert_eq!(first["errors"][0]["index"], 1);
    assert_eq!(server.stored_emails(), 2);
    let server = server.restart_with(&[]);
    let third = server.call("POST", "/emails/batch", server.key(), &headers, Some(batch.as_bytes())).ok(200);
    assert_eq!(first, third);
}

#[test]
fn a_refused_request_releases_its_key() {
    let server = TestServer::start();
    for refused in [
        json!({ "to": "nobody" }),
        json!({ "from": "hello@example.org" }),
        json!({ "to": "suppressed@resend.dev" }),
        json!({ "topic_id": "0190a6c0-0000-7000-8000-000000000001" }),
    ] {
        assert!(send_one(&server, "k", &refused).status >= 400);
    }

    send_one(&server, "k", &json!({})).ok(200);

    assert_eq!(server.stored_emails(), 1);
}

#[test]
fn a_key_survives_a_restart() {
    let server = TestServer::start();
    let first = send_one(&server, "k", &json!({})).ok(200);

    let server = server.restart_with(&[]);

    assert_eq!(send_one(&server, "k", &json!({})).ok(200), first);
    assert_eq!(send_one(&server, "k", &json!({ "subject": "Other" })).refusal(), OTHER_PAYLOAD);
    assert_eq!(server.stored_emails(), 1);
}

#[test]
fn a_key_expires_after_a_day() {
    let server = TestServer::start();
    let first = send_one(&server, "k", &json!({})).ok(200);

    server.advance(Duration::from_secs(24 * 3_600 - 1));
    assert_eq!(send_one(&server, "k", &json!({})).ok(200), first);
    server.advance(Duration::from_secs(1));
    let second = send_one(&server, "k", &json!({ "subject": "Other" })).ok(200);

    assert_ne!(first, second);
    let server = server.restart_after(Duration::from_secs(24 * 3_600), &[]);
    assert_ne!(send_one(&server, "k", &json!({ "subject": "Other" })).ok(200), second);
}

#[test]
fn a_repeated_request_has_the_same_response_after_later_changes() {
    let server = TestServer::start_with(&["--domain", "example.com", "--domain", "other.example"]);
    let topic = server.add_topic(ringmail::topics::Subscription::OptIn).to_string();
    let plain = json!({ "from": "hello@other.example" });
    let timed = json!({ "scheduled_at": "2026-01-05T10:00:00Z", "to": "delivered+timed@resend.dev" });
    let under_topic = json!({ "topic_id": topic, "to": "delivered+topic@resend.dev" });
    let send_all = || {
        [("a", &plain), ("b", &timed), ("c", &under_topic)].map(|(key, fields)| send_one(&server, key, fields).ok(200))
    };
    let first = send_all();

    // Suppresses two recipients, deletes the domain, waits until the scheduled time is over, and deletes an email.
    server.suppress("delivered@resend.dev", SuppressionOrigin::Bounce);
    server.suppress("delivered+topic@resend.dev", SuppressionOrigin::Unsubscribe);
    server.delete(&format!("/domains/{}", server.domain_id("other.example"))).ok(200);
    server.advance(Duration::from_secs(2 * 3_600));
    server.wait_for(first[1]["id"].as_str().unwrap(), "delivered");
    server.delete(&format!("/emails/{}", first[2]["id"].as_str().unwrap())).ok(200);

    assert_eq!(send_all(), first);
    assert_eq!(server.stored_emails(), 2, "a repeated request stored another email");
}

#[test]
fn a_repeated_request_during_the_first_is_a_conflict() {
    let server = TestServer::start();
    let blocked = server.block_commits();

    // Neither request can commit, so the second request finds the first one running.
    let (refused, accepted) = std::thread::scope(|scope| {
        let (responses_tx, responses) = std::sync::mpsc::channel();
        for _ in 0..2 {
            let (responses_tx, server) = (responses_tx.clone(), &server);
            scope.spawn(move || {
                responses_tx.send(send_one(server, "k", &json!({}))).expect("the test waits for both responses")
            });
        }
        let first = responses.recv().expect("the first response");
        drop(blocked);
        (first, responses.recv().expect("the second response"))
    });

    let message = "The first request with this idempotency key is still running. Try again in a moment.";
    refused.refused(409, "concurrent_idempotent_requests", message);
    let id = accepted.ok(200);
    assert_eq!(send_one(&server, "k", &json!({})).ok(200), id);
    assert_eq!(server.stored_emails(), 1);
}

#[test]
fn a_key_has_1_to_256_characters() {
    let server = TestServer::start();
    let message = "The `Idempotency-Key` header must be between 1 and 256 characters.";
    for key in [String::new(), "k".repeat(257)] {
        for path in ["/emails", "/emails/batch"] {
            send(&server, path, &key, "{}").refused(400, "invalid_idempotency_key", message);
        }
    }
    assert_eq!(server.stored_emails(), 0);
    send_one(&server, &"k".repeat(256), &json!({})).ok(200);
}

#[test]
fn two_long_keys_that_differ_in_the_last_character_are_different_keys() {
    let server = TestServer::start();
    let long = "k".repeat(255);

    let first = send_one(&server, &format!("{long}a"), &json!({})).ok(200);
    let second = send_one(&server, &format!("{long}b"), &json!({})).ok(200);

    assert_ne!(first, second);
}

#[test]
fn other_routes_ignore_the_idempotency_key() {
    let server = TestServer::start();

    let create_key = || {
        let body = json!({ "name": "Same" }).to_string();
        server.call("POST", "/api-keys", server.key(), &[("idempotency-key", "k")], Some(body.as_bytes())).ok(201)
    };

    assert_ne!(create_key()["id"], create_key()["id"]);
}
