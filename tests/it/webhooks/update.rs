//! `PATCH /webhooks/{id}`.

use serde_json::json;

use super::{UNKNOWN, create, id};
use crate::support::TestServer;

#[test]
fn an_update_changes_only_the_given_fields() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));
    let before = server.get(&path).ok(200);
    for (changes, field, value) in [
        (json!({}), "status", json!("enabled")),
        (json!({ "endpoint": null, "events": null, "status": null }), "status", json!("enabled")),
        (json!({ "status": "disabled" }), "status", json!("disabled")),
        (json!({ "status": "disabled" }), "status", json!("disabled")),
        (json!({ "status": "enabled" }), "status", json!("enabled")),
        (json!({ "endpoint": "https://hooks.example/new?x=1" }), "endpoint", json!("https://hooks.example/new?x=1")),
        (json!({ "events": ["email.clicked", "email.clicked"] }), "events", json!(["email.clicked"])),
    ] {
        let mut expected = server.get(&path).ok(200);
        expected[field] = value;

        let response = server.patch(&path, &changes).ok(200);

        assert_eq!(response, json!({ "object": "webhook", "id": id(&path) }), "{changes}");
        assert_eq!(server.get(&path).ok(200), expected, "{changes}");
    }
    let after = server.get(&path).ok(200);
    assert_eq!(after["signing_secret"], before["signing_secret"]);
    assert_eq!(after["created_at"], before["created_at"]);
}

#[test]
fn each_invalid_field_of_an_update_is_reported_and_nothing_is_changed() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));
    let before = server.get(&path).ok(200);
    for (changes, start) in [
        (json!({ "events": [] }), "Invalid `events` field: the array is empty; give at least one of "),
        (json!({ "events": ["email.sent", "x"] }), "Invalid `events[1]` field: `x` is no type of event; there are "),
        (json!({ "endpoint": "hooks.example" }), "Invalid `endpoint` field: "),
        (json!({ "endpoint": "https://127.0.0.300/" }), "Invalid `endpoint` field: "),
        (json!({ "status": "paused" }), "Invalid `status` field: use `enabled` or `disabled`."),
        (json!({ "status": true }), "Invalid `status` field: invalid type: boolean `true`, expected a string."),
        (json!({ "status": "disabled", "events": [] }), "Invalid `events` field: the array is empty"),
        (json!({ "signing_secret": super::SECRET }), "Invalid `signing_secret` field: unknown field `signing_secret`"),
        (json!({ "id": "x" }), "Invalid `id` field: unknown field `id`"),
    ] {
        let refused = server.patch(&path, &changes).refusal();

        assert!(refused.starts_with(&format!("422 validation_error: {start}")), "{changes}: {refused}");
    }
    assert_eq!(server.get(&path).ok(200), before);
    let unknown = server.patch(UNKNOWN, &json!({ "status": "disabled" }));
    unknown.refused(404, "not_found", "Webhook endpoint not found");
}
