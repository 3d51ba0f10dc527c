//! `POST /broadcasts`.

use serde_json::{Value, json};

use super::{broadcast, create, status};
use crate::support::TestServer;

#[test]
fn a_draft_needs_only_a_sender_and_a_subject() {
    let server = TestServer::start();

    let created = server.post("/broadcasts", &json!({ "from": "news@example.com", "subject": "June" })).ok(201);

    let id = created["id"].as_str().unwrap();
    assert_eq!(created, json!({ "object": "broadcast", "id": id, "finishes_at": null, "estimated": true }));
    let read = server.get(&format!("/broadcasts/{id}")).ok(200);
    let expected = json!({
        "object": "broadcast", "id": id, "name": "June", "segment_id": null, "audience_id": read["audience_id"],
        "status": "draft", "created_at": read["created_at"], "scheduled_at": null, "sent_at": null, "topic_id": null,
        "from": "news@example.com", "subject": "June", "reply_to": null, "preview_text": null, "html": null,
        "text": null, "sent_count": 0, "finishes_at": null,
    });
    assert_eq!(read, expected);
}

#[test]
fn a_draft_is_returned_with_the_given_fields() {
    let server = TestServer::start();
    let segment = server.post("/segments", &json!({ "name": "Everyone" })).ok(201)["id"].clone();
    let topic = json!({ "name": "News", "default_subscription": "opt_in" });
    let topic = server.post("/topics", &topic).ok(201)["id"].clone();
    let given = json!({
        "from": "Acme <news@example.com>", "subject": "Hi {{{FIRST_NAME|you}}}", "name": " June ", "topic_id": topic,
        "reply_to": ["a@example.com", "B <b@example.com>"], "preview_text": "News", "html": "<p>Hi</p>", "text": "Hi",
        "segment_id": segment,
    });

    let created = server.post("/broadcasts", &given).ok(201);

    let read = server.get(&format!("/broadcasts/{}", created["id"].as_str().unwrap())).ok(200);
    for (field, value) in given.as_object().unwrap() {
        let expected = if field == "name" { json!("June") } else { value.clone() };
        assert_eq!(read[field], expected, "{field}");
    }
    assert_eq!(read["audience_id"], segment);
}

#[test]
fn an_audience_is_a_segment_and_the_team_without_one() {
    let server = TestServer::start();
    let segment = server.post("/segments", &json!({ "name": "Everyone" })).ok(201)["id"].clone();

    let of_segment = server.get(&create(&server, &json!({ "audience_id": segment }))).ok(200);
    let of_all = server.get(&create(&server, &json!({ "audience_id": null }))).ok(200);

    assert_eq!((&of_segment["segment_id"], &of_segment["audience_id"]), (&segment, &segment));
    let team = server.get("/usage").ok(200)["team"]["id"].clone();
    assert_eq!((&of_all["segment_id"], &of_all["audience_id"]), (&Value::Null, &team));
}

#[test]
fn an_empty_optional_field_equals_an_absent_one() {
    let server = TestServer::start();
    let empty = json!({ "name": "", "preview_text": " ", "html": "", "text": "", "reply_to": [], "scheduled_at": "" });

    let read = server.get(&create(&server, &empty)).ok(200);

    assert_eq!(read["name"], "June");
    for field in ["preview_text", "html", "text", "reply_to", "scheduled_at"] {
        assert_eq!(read[field], Value::Null, "{field}");
    }
}

#[test]
fn each_invalid_field_is_reported_and_nothing_is_stored() {
    let server = TestServer::start();
    let unknown = "0190a6c0-0000-7000-8000-000000000001";
    let other = "0190a6c0-0000-7000-8000-000000000002";
    for (fields, refusal) in [
        (json!({ "from": null }), "422 missing_required_field: Missing `from` field."),
        (json!({ "subject": null }), "422 missing_required_field: Missing `subject` field."),
        (json!({ "subject": "" }), "422 missing_required_field: Missing `subject` field."),
        (json!({ "subject": "s".repeat(999) }), "422 validation_error: Invalid `subject` field"),
        (json!({ "subject": "a\nb" }), "422 validation_error: Invalid `subject` field"),
        (json!({ "from": "a@example.com, b@example.com" }), "422 validation_error: Invalid `from` field"),
        (json!({ "from": "Acme" }), "422 validation_error: Invalid `from` field"),
        (json!({ "reply_to": "nobody" }), "422 validation_error: Invalid `reply_to` field"),
        (json!({ "reply_to": vec!["a@example.com"; 51] }), "422 validation_error: Invalid `reply_to` field"),
        (json!({ "name": "n".repeat(256) }), "422 validation_error: Invalid `name` field"),
        (json!({ "preview_text": "p".repeat(501) }), "422 validation_error: Invalid `preview_text` field"),
        (json!({ "preview_text": "a\nb" }), "422 validation_error: Invalid `preview_text` field"),
        (json!({ "html": "h".repeat((2 << 20) + 1) }), "422 validation_error: Invalid `html` or `text` field"),
        (json!({ "segment_id": "x" }), "422 validation_error: The `segment_id` must be a valid UUID."),
        (json!({ "audience_id": "" }), "422 validation_error: The `audience_id` must be a valid UUID."),
        (json!({ "topic_id": "x" }), "422 validation_error: The `topic_id` must be a valid UUID."),
        (
            json!({ "segment_id": unknown, "audience_id": other }),
            "422 validation_error: Use either `segment_id` or `audience_id`",
        ),
        (json!({ "segment_id": unknown }), "404 not_found: Segment not found"),
        (json!({ "audience_id": unknown }), "404 not_found: Segment not found"),
        (json!({ "topic_id": unknown }), "404 not_found: Topic not found"),
        (json!({ "scheduled_at": "in 1 hour" }), "422 validation_error: Invalid `scheduled_at` field: it requires"),
        (json!({ "send": true, "scheduled_at": "soon" }), "422 validation_error: Invalid `scheduled_at` field"),
        (json!({ "send": true, "scheduled_at": "in 31 days" }), "422 validation_error: Invalid `scheduled_at` field"),
        (json!({ "send": "yes" }), "422 validation_error: Invalid `send` field"),
        (json!({ "template": { "id": unknown } }), "422 validation_error: Invalid `template` field: unknown field"),
    ] {
        let refused = server.post("/broadcasts", &broadcast(&fields)).refusal();

        let shown = fields.to_string().chars().take(100).collect::<String>();
        assert!(refused.starts_with(refusal), "{shown}: {refused}");
    }
    assert_eq!(server.get("/broadcasts").ok(200)["data"], json!([]));
}

#[test]
fn a_create_with_send_schedules_the_broadcast() {
    let server = TestServer::start();
    server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201);

    let sent = broadcast(&json!({ "send": true, "scheduled_at": "2026-01-06T09:00:00Z" }));
    let created = server.post("/broadcasts", &sent).ok(201);

    assert_eq!(created["estimated"], true);
    assert!(created["finishes_at"].as_str().unwrap() >= "2026-01-06T09:00:00", "{created}");
    let read = server.get(&format!("/broadcasts/{}", created["id"].as_str().unwrap())).ok(200);
    assert_eq!((&read["status"], &read["scheduled_at"]), (&json!("scheduled"), &json!("2026-01-06T09:00:00.000Z")));
    assert!(read["finishes_at"].is_string(), "{read}");
}

#[test]
fn a_refused_send_leaves_the_draft() {
    let server = TestServer::start();
    let without_content = json!({ "from": "news@example.com", "subject": "June", "send": true });
    let message = "The broadcast has no content. Set `html` or `text` before you send it.";

    server.post("/broadcasts", &without_content).refused(422, "validation_error", message);

    let list = server.get("/broadcasts").ok(200);
    assert_eq!(list["data"].as_array().unwrap().len(), 1);
    let path = format!("/broadcasts/{}", list["data"][0]["id"].as_str().unwrap());
    assert_eq!(status(&server, &path), "draft");
}
