//! `PATCH /topics/{id}`.

use serde_json::json;

use super::{UNKNOWN, create};
use crate::support::{TestServer, assert_body};

const IMMUTABLE: &str = "The `default_subscription` field cannot be changed: it decides for everyone who never chose, \
                         and they would be subscribed or taken out without being asked. Leave the field out, or make \
                         another topic.";

#[test]
fn an_update_returns_all_fields_of_the_topic() {
    let server = TestServer::start();
    let path = create(&server, &json!({ "description": "Once a month.", "default_subscription": "opt_out" }));

    let changed = server
        .patch(&path, &json!({ "name": " Offers ", "description": "Twice a month.", "visibility": "public" }))
        .ok(200);

    assert_eq!(server.get(&path).ok(200), changed);
    assert_body!(changed);
}

#[test]
fn an_absent_or_null_field_is_unchanged_and_null_clears_the_description() {
    let server = TestServer::start();
    let path = create(&server, &json!({ "description": "Once a month.", "visibility": "public" }));
    let before = server.get(&path).ok(200);
    for body in [
        json!({}),
        json!({ "name": null, "visibility": null, "default_subscription": null }),
        json!({ "name": "News" }),
        json!({ "description": " Once a month. " }),
    ] {
        assert_eq!(server.patch(&path, &body).ok(200), before, "{body}");
    }

    for clearing in [json!(null), json!(""), json!(" \n")] {
        server.patch(&path, &json!({ "description": "Again." })).ok(200);

        let cleared = server.patch(&path, &json!({ "description": clearing })).ok(200);

        assert_eq!(cleared["description"], json!(null));
        assert_eq!((&cleared["name"], &cleared["visibility"]), (&before["name"], &before["visibility"]));
    }
}

#[test]
fn the_default_subscription_cannot_be_changed() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));
    for value in ["opt_in", "opt_out", "neither"] {
        let body = json!({ "name": "Changed", "default_subscription": value });

        server.patch(&path, &body).refused(422, "validation_error", IMMUTABLE);
    }
    let topic = server.get(&path).ok(200);
    assert_eq!((&topic["name"], &topic["default_subscription"]), (&json!("News"), &json!("opt_in")));
}

#[test]
fn an_update_checks_fields_like_a_create() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));
    let before = server.get(&path).ok(200);
    for (body, field) in [
        (json!({ "name": "" }), "name"),
        (json!({ "name": "n".repeat(51) }), "name"),
        (json!({ "name": "a\u{7}" }), "name"),
        (json!({ "name": 1 }), "name"),
        (json!({ "description": "d".repeat(201) }), "description"),
        (json!({ "description": false }), "description"),
        (json!({ "visibility": "secret" }), "visibility"),
        (json!({ "visibility": [] }), "visibility"),
        (json!({ "created_at": "2026-01-05" }), "created_at"),
    ] {
        let refused = server.patch(&path, &body).refusal();

        assert!(refused.starts_with(&format!("422 validation_error: Invalid `{field}` field: ")), "{body}: {refused}");
    }
    assert_eq!(server.get(&path).ok(200), before);
    server.patch(UNKNOWN, &json!({ "name": "New" })).refused(404, "not_found", "Topic not found");
    server.patch("/topics/1", &json!({})).refused(422, "validation_error", "The `id` must be a valid UUID.");
}

#[test]
fn a_change_survives_a_restart() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));
    let changed = server.patch(&path, &json!({ "description": "Kept." })).ok(200);

    let server = server.restart_with(&[]);

    assert_eq!(server.get(&path).ok(200), changed);
}
