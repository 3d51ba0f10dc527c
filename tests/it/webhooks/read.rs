//! `GET /webhooks`, `GET /webhooks/{id}` and `DELETE /webhooks/{id}`.

use serde_json::json;

use super::{UNKNOWN, create, id};
use crate::support::{TestServer, assert_body};

#[test]
fn an_endpoint_is_read_with_its_secret_and_listed_without() {
    let server = TestServer::start();
    let path = create(&server, &json!({ "events": ["email.delivered", "email.bounced"] }));
    create(&server, &json!({ "endpoint": "https://hooks.example/other" }));

    let shown = server.get(&path).ok(200);
    let listed = server.get("/webhooks").ok(200);

    assert_body!(json!([shown, listed]));
    assert!(!listed.to_string().contains("whsec_"));
}

#[test]
fn a_deleted_endpoint_and_its_deliveries_are_not_found() {
    let server = TestServer::start();
    let (removed, kept) = (create(&server, &json!({})), create(&server, &json!({})));
    let event = server.add_webhook_delivery(id(&removed));

    let deleted = server.delete(&removed).ok(200);

    assert_eq!(deleted, json!({ "object": "webhook", "id": id(&removed), "deleted": true }));
    let events = format!("{removed}/events");
    for response in [
        server.get(&removed),
        server.delete(&removed),
        server.patch(&removed, &json!({})),
        server.get(&events),
        server.get(&format!("{events}/{event}")),
        server.get(&format!("{events}/{event}/attempts")),
        server.post(&format!("{events}/{event}/replay"), &json!({})),
        server.post(&format!("{removed}/test"), &json!({})),
        server.post(&format!("{removed}/rotate"), &json!({})),
    ] {
        response.refused(404, "not_found", "Webhook endpoint not found");
    }
    let listed = server.get("/webhooks").ok(200);
    assert_eq!(listed["data"].as_array().unwrap().len(), 1);
    assert_eq!(listed["data"][0]["id"], id(&kept));
}

#[test]
fn an_unknown_endpoint_is_not_found_and_a_malformed_id_is_invalid() {
    let server = TestServer::start();
    let own = create(&server, &json!({}));
    server.get(UNKNOWN).refused(404, "not_found", "Webhook endpoint not found");
    server.delete(UNKNOWN).refused(404, "not_found", "Webhook endpoint not found");

    let message = "The `id` must be a valid UUID.";
    server.get("/webhooks/mine").refused(422, "validation_error", message);
    let message = "The `event_id` must be a valid UUID.";
    server.get(&format!("{own}/events/msg_1")).refused(422, "validation_error", message);
    let unknown = format!("{own}/events/{}", id(UNKNOWN));
    server.get(&unknown).refused(404, "not_found", "Webhook event not found");
}
