//! `POST /webhooks/{id}/test`.

use serde_json::{Value, json};

use super::{UNKNOWN, create};
use crate::support::{TestServer, assert_body};

#[test]
fn a_test_event_is_delivered_with_its_payload() {
    let server = TestServer::start();
    let path = create(&server, &json!({ "events": ["email.opened", "email.delivered"] }));

    let tested = server.call("POST", &format!("{path}/test"), server.key(), &[], None).ok(200);

    let read = server.get(&format!("{path}/events/{}", tested["id"].as_str().unwrap())).ok(200);
    assert_body!(json!([tested, read["payload"]]));
    assert_eq!(read["type"], "email.delivered");
}

#[test]
fn a_test_event_has_a_subscribed_type() {
    let server = TestServer::start();
    let path = create(&server, &json!({ "events": ["contact.updated", "suppression.added"] }));
    let test = format!("{path}/test");
    for (body, event_type) in [
        (json!({}), "contact.updated"),
        (json!({ "type": null }), "contact.updated"),
        (json!({ "type": "suppression.added" }), "suppression.added"),
    ] {
        assert_eq!(server.post(&test, &body).ok(200)["type"], event_type, "{body}");
    }
    let message = "The webhook endpoint is not subscribed to `email.sent`. Use a `type` from its `events`, or add the \
                   type to them.";
    server.post(&test, &json!({ "type": "email.sent" })).refused(422, "validation_error", message);
    let refused = server.post(&test, &json!({ "type": "email.received" })).refusal();
    assert!(refused.starts_with("422 validation_error: Invalid `type` field: `email.received` is never"), "{refused}");
    let refused = server.post(&test, &json!({ "event": "email.sent" })).refusal();
    assert!(refused.starts_with("422 validation_error: Invalid `event` field: unknown field"), "{refused}");
    let listed: Value = server.get(&format!("{path}/events")).ok(200);
    assert_eq!(listed["data"].as_array().unwrap().len(), 3);
}

#[test]
fn a_disabled_or_unknown_endpoint_gets_no_test_event() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));
    server.patch(&path, &json!({ "status": "disabled" })).ok(200);

    let message = "The webhook endpoint is disabled. Enable it first, with `PATCH /webhooks/{id}`.";
    server.post(&format!("{path}/test"), &json!({})).refused(422, "validation_error", message);
    let unknown = server.post(&format!("{UNKNOWN}/test"), &json!({}));
    unknown.refused(404, "not_found", "Webhook endpoint not found");
    assert_eq!(server.get(&format!("{path}/events")).ok(200)["data"], json!([]));
}
