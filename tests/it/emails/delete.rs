//! `DELETE /emails/{id}`.

use std::time::Duration;

use serde_json::json;

use crate::support::{TestServer, assert_body};

#[test]
fn a_deleted_email_is_not_found_on_any_route() {
    let server = TestServer::start();
    let kept = server.send(&json!({}));
    let id = server.send(&json!({ "attachments": [{ "filename": "a.txt", "content": "YQ==" }] }));
    let attachment = server.wait_for(&id, "delivered")["attachments"][0]["id"].as_str().unwrap().to_owned();

    let response = server.delete(&format!("/emails/{id}")).ok(200);

    for path in
        [format!("/emails/{id}"), format!("/emails/{id}/attachments"), format!("/emails/{id}/attachments/{attachment}")]
    {
        server.get(&path).refused(404, "not_found", "Email not found");
    }
    server.delete(&format!("/emails/{id}")).refused(404, "not_found", "Email not found");
    server.post(&format!("/emails/{id}/cancel"), &json!({})).refused(404, "not_found", "Email not found");
    let list = server.get("/emails").ok(200);
    assert_eq!(list["data"].as_array().unwrap().len(), 1);
    assert_eq!(list["data"][0]["id"], kept);
    assert!(!server.has_content(&id), "the content remains after the deletion");
    assert_body!(response);
}

#[test]
fn a_deleted_scheduled_email_is_not_sent() {
    let server = TestServer::start();
    let id = server.send(&json!({ "scheduled_at": "in 1 hour" }));

    server.delete(&format!("/emails/{id}")).ok(200);

    server.advance(Duration::from_secs(2 * 3_600));
    let later = server.send(&json!({}));
    server.wait_for(&later, "delivered");
    assert!(server.recorded_events(&id).is_empty(), "the events remain, or an event was added");
    assert!(!server.has_content(&id));
}

#[test]
fn a_deleted_deferred_email_is_not_attempted_again() {
    let server = TestServer::start();
    let id = server.send(&json!({ "to": "delayed@resend.dev" }));
    server.wait_for(&id, "delivery_delayed");

    server.delete(&format!("/emails/{id}")).ok(200);

    server.advance(Duration::from_secs(3_600));
    let later = server.send(&json!({}));
    server.wait_for(&later, "delivered");
    assert!(server.recorded_events(&id).is_empty(), "the events remain, or an event was added");
}

#[test]
fn a_deleted_email_in_flight_is_not_found_and_its_outcome_is_recorded() {
    let smarthost = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let relay = format!("smtp://{}", smarthost.local_addr().unwrap());
    let server = TestServer::start_with(&["--delivery", "relay", "--relay", &relay]);
    let id = server.send(&json!({ "to": "jane@example.net" }));
    server.wait_for(&id, "sent");

    server.delete(&format!("/emails/{id}")).ok(200);

    server.get(&format!("/emails/{id}")).refused(404, "not_found", "Email not found");
    assert!(server.has_content(&id), "the attempt in flight needs the content");
    // The SMTP session is interrupted, which is a deferral.
    drop(smarthost);
    server.wait_for_recorded_event(&id, "email.delivery_delayed");
}

#[test]
fn the_idempotency_key_of_a_deleted_email_stays_used() {
    let server = TestServer::start();
    let body = crate::support::email(&json!({})).to_string();
    let send = || server.call("POST", "/emails", server.key(), &[("idempotency-key", "once")], Some(body.as_bytes()));
    let id = send().ok(200)["id"].as_str().unwrap().to_owned();
    server.wait_for(&id, "delivered");
    server.delete(&format!("/emails/{id}")).ok(200);

    assert_eq!(send().ok(200)["id"], id);
    server.get(&format!("/emails/{id}")).refused(404, "not_found", "Email not found");
}
