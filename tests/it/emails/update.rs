//! `PATCH /emails/{id}`.

use std::time::Duration;

use serde_json::json;

use crate::support::{TestServer, assert_body};

#[test]
fn a_rescheduled_email_is_sent_at_the_new_time_only() {
    let server = TestServer::start();
    let id = server.send(&json!({ "scheduled_at": "in 1 hour" }));
    let path = format!("/emails/{id}");

    let response = server.patch(&path, &json!({ "scheduled_at": "in 3 hours" })).ok(200);

    assert_eq!(server.get(&path).ok(200)["scheduled_at"], "2026-01-05T12:00:00.000Z");
    server.advance(Duration::from_secs(2 * 3_600));
    // The delivery of an email that was accepted later shows that all due emails are sent.
    let later = server.send(&json!({}));
    server.wait_for(&later, "delivered");
    assert_eq!(server.get(&path).ok(200)["last_event"], "scheduled");
    server.advance(Duration::from_secs(3_600));
    server.wait_for(&id, "delivered");
    assert_body!(response);
}

#[test]
fn a_scheduled_email_can_be_rescheduled_to_an_earlier_time() {
    let server = TestServer::start();
    let id =
        server.send(&json!({ "scheduled_at": "in 20 days", "to": ["delivered@resend.dev", "bounced@resend.dev"] }));

    server.patch(&format!("/emails/{id}"), &json!({ "scheduled_at": "in 1 min" })).ok(200);
    server.advance(Duration::from_secs(60));

    let email = server.wait_for(&id, "bounced");
    assert_eq!(email["scheduled_at"], "2026-01-05T09:01:00.000Z");
}

#[test]
fn an_email_rescheduled_to_the_past_is_sent_immediately() {
    let server = TestServer::start();
    let id = server.send(&json!({ "scheduled_at": "in 1 hour" }));

    server.patch(&format!("/emails/{id}"), &json!({ "scheduled_at": "2026-01-05T08:58:00Z" })).ok(200);

    server.wait_for(&id, "delivered");
}

#[test]
fn a_new_time_survives_a_restart() {
    let server = TestServer::start();
    let id = server.send(&json!({ "scheduled_at": "in 1 hour" }));
    server.patch(&format!("/emails/{id}"), &json!({ "scheduled_at": "in 2 hours" })).ok(200);

    let server = server.restart_with(&[]);
    server.advance(Duration::from_secs(2 * 3_600));

    server.wait_for(&id, "delivered");
}

#[test]
fn an_update_checks_the_time_like_a_send() {
    let server = TestServer::start();
    let id = server.send(&json!({ "scheduled_at": "in 1 hour" }));
    for time in ["2026-01-05T08:00:00Z", "in 31 days", "whenever", ""] {
        let refused = server.patch(&format!("/emails/{id}"), &json!({ "scheduled_at": time })).refusal();

        assert!(refused.starts_with("422 validation_error: Invalid `scheduled_at` field: "), "{time}: {refused}");
    }
    for body in [json!({}), json!({ "scheduled_at": null })] {
        let message = "Missing `scheduled_at` field.";
        server.patch(&format!("/emails/{id}"), &body).refused(422, "missing_required_field", message);
    }
    assert_eq!(server.get(&format!("/emails/{id}")).ok(200)["scheduled_at"], "2026-01-05T10:00:00.000Z");
}

#[test]
fn only_the_time_can_be_changed() {
    let server = TestServer::start();
    let id = server.send(&json!({ "scheduled_at": "in 1 hour" }));

    let refused =
        server.patch(&format!("/emails/{id}"), &json!({ "scheduled_at": "in 2 hours", "subject": "New" })).refusal();

    assert!(refused.starts_with("422 validation_error: Invalid `subject` field: unknown field"), "{refused}");
}

#[test]
fn an_email_that_is_not_scheduled_cannot_be_rescheduled() {
    let server = TestServer::start();
    let delivered = server.send(&json!({}));
    server.wait_for(&delivered, "delivered");
    let canceled = server.send(&json!({ "scheduled_at": "in 1 hour" }));
    server.post(&format!("/emails/{canceled}/cancel"), &json!({})).ok(200);
    for (id, status) in [(delivered, "delivered"), (canceled, "canceled")] {
        let response = server.patch(&format!("/emails/{id}"), &json!({ "scheduled_at": "in 1 hour" }));

        let message = format!(
            "The email is not scheduled: its status is `{status}`. Only scheduled emails can be changed or canceled."
        );
        response.refused(422, "validation_error", &message);
    }
}

#[test]
fn a_sending_key_can_reschedule_an_email() {
    let server = TestServer::start();
    let id = server.send(&json!({ "scheduled_at": "in 1 hour" }));

    let body = json!({ "scheduled_at": "in 2 hours" }).to_string();
    server.call("PATCH", &format!("/emails/{id}"), &server.create_sending_key(), &[], Some(body.as_bytes())).ok(200);
}
