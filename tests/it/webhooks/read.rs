//! `GET /webhooks`, `GET /webhooks/{id}` and `DELETE /webhooks/{id}`.

use serde_json::json;

use super::{NOBODY, create, id};
use crate::support::{TestServer, assert_body};

#[test]
fn an_endpoint_is_shown_with_its_secret_and_listed_without() {
    let server = TestServer::start();
    let path = create(&server, &json!({ "events": ["email.delivered", "email.bounced"] }));
    create(&server, &json!({ "endpoint": "https://hooks.example/other" }));

    let shown = server.get(&path).ok(200);
    let listed = server.get("/webhooks").ok(200);

    assert_body!(json!([shown, listed]));
    assert!(!listed.to_string().contains("whsec_"));
}

#[test]
fn a_deleted_endpoint_is_gone_with_its_deliveries() {
    let server = TestServer::start();
    let (gone, kept) = (create(&server, &json!({})), create(&server, &json!({})));
    let event = server.add_webhook_delivery(id(&gone));

    let deleted = server.delete(&gone).ok(200);

    assert_eq!(deleted, json!({ "object": "webhook", "id": id(&gone), "deleted": true }));
    let events = format!("{gone}/events");
    for answer in [
        server.get(&gone),
        server.delete(&gone),
        server.patch(&gone, &json!({})),
        server.get(&events),
        server.get(&format!("{events}/{event}")),
        server.get(&format!("{events}/{event}/attempts")),
        server.post(&format!("{events}/{event}/replay"), &json!({})),
        server.post(&format!("{gone}/test"), &json!({})),
        server.post(&format!("{gone}/rotate"), &json!({})),
    ] {
        answer.refused(404, "not_found", "Webhook endpoint not found");
    }
    let listed = server.get("/webhooks").ok(200);
    assert_eq!(listed["data"].as_array().unwrap().len(), 1);
    assert_eq!(listed["data"][0]["id"], id(&kept));
}

#[test]
fn what_nobody_has_is_not_found_and_what_is_no_id_is_named() {
    let server = TestServer::start();
    let own = create(&server, &json!({}));
    server.get(NOBODY).refused(404, "not_found", "Webhook endpoint not found");
    server.delete(NOBODY).refused(404, "not_found", "Webhook endpoint not found");

    let message = "The `id` must be a valid UUID.";
    server.get("/webhooks/mine").refused(422, "validation_error", message);
    let message = "The `event_id` must be a valid UUID.";
    server.get(&format!("{own}/events/msg_1")).refused(422, "validation_error", message);
    let unknown = format!("{own}/events/{}", id(NOBODY));
    server.get(&unknown).refused(404, "not_found", "Webhook event not found");
}
