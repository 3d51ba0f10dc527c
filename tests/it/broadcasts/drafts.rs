//! `PATCH /broadcasts/{id}`, `DELETE /broadcasts/{id}` and `POST /broadcasts/{id}/duplicate`.

use serde_json::{Value, json};

use super::{UNKNOWN, create, id, schedule};
use crate::support::TestServer;

#[test]
fn an_update_changes_only_the_given_fields() {
    let server = TestServer::start();
    let path = create(&server, &json!({ "name": "First", "html": "<p>Hi</p>", "preview_text": "News" }));
    let before = server.get(&path).ok(200);
    for (field, value, read) in [
        ("name", json!("Second"), json!("Second")),
        ("name", json!(null), json!("June")),
        ("subject", json!("July"), json!("July")),
        ("from", json!("Other <other@example.com>"), json!("Other <other@example.com>")),
        ("reply_to", json!("a@example.com"), json!(["a@example.com"])),
        ("reply_to", json!([]), json!(null)),
        ("preview_text", json!(""), json!(null)),
        ("html", json!("<p>Hello</p>"), json!("<p>Hello</p>")),
        ("html", json!(null), json!(null)),
        ("text", json!("Hello"), json!("Hello")),
    ] {
        let response = server.patch(&path, &json!({ field: value })).ok(200);

        assert_eq!(response, json!({ "object": "broadcast", "id": id(&path) }));
        assert_eq!(server.get(&path).ok(200)[field], read, "{field}: {value}");
    }
    let after = server.get(&path).ok(200);
    for field in ["id", "status", "created_at", "segment_id", "topic_id", "sent_count"] {
        assert_eq!(after[field], before[field], "{field}");
    }
}

#[test]
fn an_update_without_a_field_changes_nothing() {
    let server = TestServer::start();
    let path = create(&server, &json!({ "name": "First", "html": "<p>Hi</p>" }));
    let before = server.get(&path).ok(200);

    server.patch(&path, &json!({})).ok(200);
    server.patch(&path, &json!({ "from": null, "subject": null, "audience_id": null })).ok(200);

    assert_eq!(server.get(&path).ok(200), before);
}

#[test]
fn an_update_sets_and_removes_the_target() {
    let server = TestServer::start();
    let segment = server.post("/segments", &json!({ "name": "Everyone" })).ok(201)["id"].clone();
    let topic = json!({ "name": "News", "default_subscription": "opt_in" });
    let topic = server.post("/topics", &topic).ok(201)["id"].clone();
    let path = create(&server, &json!({}));
    let target = || {
        let read = server.get(&path).ok(200);
        (read["segment_id"].clone(), read["topic_id"].clone())
    };

    server.patch(&path, &json!({ "segment_id": segment, "topic_id": topic })).ok(200);
    assert_eq!(target(), (segment.clone(), topic));
    server.patch(&path, &json!({ "segment_id": null, "topic_id": null })).ok(200);
    assert_eq!(target(), (Value::Null, Value::Null));
    server.patch(&path, &json!({ "audience_id": segment })).ok(200);
    assert_eq!(target(), (segment, Value::Null));

    let unknown = "0190a6c0-0000-7000-8000-000000000001";
    server.patch(&path, &json!({ "segment_id": unknown })).refused(404, "not_found", "Segment not found");
    server.patch(&path, &json!({ "topic_id": unknown })).refused(404, "not_found", "Topic not found");
    for field in ["send", "scheduled_at"] {
        let refused = server.patch(&path, &json!({ field: true })).refusal();
        let expected = format!("422 validation_error: Invalid `{field}` field: unknown field");
        assert!(refused.starts_with(&expected), "{refused}");
    }
}

#[test]
fn only_a_draft_can_be_changed_or_deleted() {
    let server = TestServer::start();
    let path = schedule(&server);
    let before = server.get(&path).ok(200);
    let refusal = |verb: &str, status: &str| {
        format!("403 validation_error: Only drafts can be {verb}. The status of this broadcast is `{status}`.")
    };

    assert_eq!(server.patch(&path, &json!({ "name": "New" })).refusal(), refusal("changed", "scheduled"));
    assert_eq!(server.patch(&path, &json!({ "html": "<p>New</p>" })).refusal(), refusal("changed", "scheduled"));
    assert_eq!(server.delete(&path).refusal(), refusal("deleted", "scheduled"));

    assert_eq!(server.get(&path).ok(200), before);
    server.post(&format!("{path}/cancel"), &json!({})).ok(200);
    assert_eq!(server.patch(&path, &json!({ "name": "New" })).refusal(), refusal("changed", "canceled"));
    assert_eq!(server.delete(&path).refusal(), refusal("deleted", "canceled"));
}

#[test]
fn a_deleted_draft_is_not_found() {
    let server = TestServer::start();
    let path = create(&server, &json!({ "html": "<p>Hi</p>" }));

    let response = server.delete(&path).ok(200);

    assert_eq!(response, json!({ "object": "broadcast", "id": id(&path), "deleted": true }));
    for refused in [
        server.get(&path),
        server.patch(&path, &json!({})),
        server.delete(&path),
        server.post(&format!("{path}/send"), &json!({})),
        server.post(&format!("{path}/cancel"), &json!({})),
        server.post(&format!("{path}/duplicate"), &json!({})),
        server.get(&format!("{path}/recipients?type=sent")),
        server.get(&format!("{path}/clicked-links")),
        server.get(UNKNOWN),
    ] {
        refused.refused(404, "not_found", "Broadcast not found");
    }
    assert_eq!(server.get("/broadcasts").ok(200)["data"], json!([]));
}

#[test]
fn a_copy_is_a_draft_with_the_content_of_the_original() {
    let server = TestServer::start();
    let fields = json!({
        "name": "June", "html": "<p>Hi</p>", "preview_text": "News", "reply_to": ["a@example.com"], "send": true,
        "scheduled_at": "in 1 day",
    });
    let path = create(&server, &fields);
    let original = server.get(&path).ok(200);

    let response = server.post(&format!("{path}/duplicate"), &json!({})).ok(200);

    let copy_id = response["id"].as_str().unwrap();
    assert_eq!(response, json!({ "object": "broadcast", "id": copy_id }));
    let copy = server.get(&format!("/broadcasts/{copy_id}")).ok(200);
    assert_ne!(copy["id"], original["id"]);
    assert_eq!((&copy["name"], &copy["status"]), (&json!("June (copy)"), &json!("draft")));
    assert_eq!((&copy["scheduled_at"], &copy["finishes_at"]), (&Value::Null, &Value::Null));
    for field in ["from", "subject", "reply_to", "preview_text", "html", "text", "segment_id", "topic_id"] {
        assert_eq!(copy[field], original[field], "{field}");
    }
    server.patch(&format!("/broadcasts/{copy_id}"), &json!({ "text": "Bye" })).ok(200);
    assert_eq!(server.get(&path).ok(200), original);
}

#[test]
fn a_copy_of_a_broadcast_without_a_name_is_named_after_its_subject() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));

    let copy = server.post(&format!("{path}/duplicate"), &json!({})).ok(200);

    let copy = server.get(&format!("/broadcasts/{}", copy["id"].as_str().unwrap())).ok(200);
    assert_eq!(copy["name"], "June (copy)");
}
