//! `POST /emails/{id}/cancel`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{TestServer, assert_body};

fn not_scheduled(status: &str) -> String {
    format!("The email is not scheduled: its status is `{status}`. Only scheduled emails can be changed or canceled.")
}

#[test]
fn a_canceled_email_is_not_sent() {
    let server = TestServer::start();
    let id = server.send(&json!({ "scheduled_at": "in 1 hour", "cc": "delivered+cc@resend.dev" }));

    let response = server.call("POST", &format!("/emails/{id}/cancel"), server.key(), &[], None).ok(200);

    server.advance(Duration::from_secs(2 * 3_600));
    let later = server.send(&json!({}));
    server.wait_for(&later, "delivered");
    let email = server.get(&format!("/emails/{id}")).ok(200);
    let timeline: Vec<&Value> = email["events"].as_array().unwrap().iter().map(|event| &event["type"]).collect();
    assert_eq!(timeline, ["email.scheduled", "email.canceled"]);
    assert_eq!(email["last_event"], "canceled");
    let statuses: Vec<&Value> =
        email["recipients"].as_array().unwrap().iter().map(|recipient| &recipient["last_event"]).collect();
    assert_eq!(statuses, ["canceled", "canceled"]);
    assert_body!(response);
}

#[test]
fn a_canceled_email_cannot_be_canceled_again() {
    let server = TestServer::start();
    let id = server.send(&json!({ "scheduled_at": "in 1 hour" }));
    let path = format!("/emails/{id}/cancel");
    server.post(&path, &json!({})).ok(200);

    server.post(&path, &json!({})).refused(422, "validation_error", &not_scheduled("canceled"));
}

#[test]
fn an_email_in_an_smtp_session_cannot_be_canceled() {
    // The smarthost sends no greeting, so the SMTP session starts and does not end.
    let smarthost = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let relay = format!("smtp://{}", smarthost.local_addr().unwrap());
    let server = TestServer::start_with(&["--delivery", "relay", "--relay", &relay]);
    let id = server.send(&json!({ "scheduled_at": "in 1 hour", "to": "jane@example.net" }));
    server.advance(Duration::from_secs(3_600));
    server.wait_for(&id, "sent");

    let response = server.post(&format!("/emails/{id}/cancel"), &json!({}));

    response.refused(422, "validation_error", &not_scheduled("sent"));
    let email = server.get(&format!("/emails/{id}")).ok(200);
    assert_eq!(email["last_event"], "sent");
    drop(smarthost);
}

#[test]
fn a_deferred_email_cannot_be_canceled() {
    let server = TestServer::start();
    let id = server.send(&json!({ "scheduled_at": "in 1 hour", "to": "delayed@resend.dev" }));
    server.advance(Duration::from_secs(3_600));
    server.wait_for(&id, "delivery_delayed");

    let response = server.post(&format!("/emails/{id}/cancel"), &json!({}));

    response.refused(422, "validation_error", &not_scheduled("delivery_delayed"));
    server.advance(Duration::from_secs(120));
    server.wait_for(&id, "delivered");
}

#[test]
fn an_unscheduled_email_cannot_be_canceled() {
    let server = TestServer::start();
    let id = server.send(&json!({}));
    server.wait_for(&id, "delivered");

    let response = server.post(&format!("/emails/{id}/cancel"), &json!({}));

    response.refused(422, "validation_error", &not_scheduled("delivered"));
}

#[test]
fn a_sending_key_can_cancel_an_email() {
    let server = TestServer::start();
    let id = server.send(&json!({ "scheduled_at": "in 1 hour" }));

    server.call("POST", &format!("/emails/{id}/cancel"), &server.create_sending_key(), &[], Some(b"")).ok(200);

    server.wait_for(&id, "canceled");
}
