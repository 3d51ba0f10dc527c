//! `PATCH /templates/{id}` and `POST /templates/{id}/duplicate`.

use std::time::Duration;

use serde_json::json;

use super::{create, publish};
use crate::support::TestServer;

#[test]
fn an_update_changes_only_the_given_fields() {
    let server = TestServer::start();
    let path = create(&server, &json!({ "alias": "receipt", "subject": "Hi", "text": "Hello" }));
    let mut expected = server.get(&path).ok(200);
    let mut last_version = expected["current_version_id"].clone();
    for (changes, makes_version) in [
        (json!({}), false),
        (json!({ "name": "New" }), false),
        (json!({ "name": null, "html": null }), false),
        (json!({ "from": null, "reply_to": null, "variables": [] }), false),
        (json!({ "html": "<p>New</p>" }), true),
        (json!({ "subject": "New" }), true),
        (json!({ "text": "New" }), true),
        (json!({ "alias": "new", "text": "New" }), false),
        (json!({ "subject": null, "text": "", "alias": null }), true),
    ] {
        server.advance(Duration::from_secs(1));
        let before = server.get(&path).ok(200);

        let changed = server.patch(&path, &changes).ok(200);

        assert_eq!(changed, json!({ "object": "template", "id": before["id"] }));
        let read = server.get(&path).ok(200);
        for (field, value) in changes.as_object().unwrap() {
            if !(value.is_null() && ["name", "html"].contains(&field.as_str())) {
                expected[field] = if value == "" { json!(null) } else { value.clone() };
            }
        }
        assert_eq!(read["current_version_id"] != last_version, makes_version, "{changes}");
        last_version = read["current_version_id"].clone();
        for field in ["current_version_id", "updated_at"] {
            expected[field] = read[field].clone();
        }
        assert_eq!(read, expected, "{changes}");
    }
}

#[test]
fn an_invalid_update_is_refused_and_changes_nothing() {
    let server = TestServer::start();
    let path = create(&server, &json!({ "alias": "receipt" }));
    let before = server.get(&path).ok(200);
    for (field, value) in [
        ("name", json!("")),
        ("html", json!("")),
        ("html", json!("a".repeat((1 << 20) + 1))),
        ("subject", json!("a\nb")),
        ("alias", json!("a/b")),
        ("from", json!("a@example.com")),
        ("reply_to", json!(["a@example.com"])),
        ("variables", json!([{ "key": "ID", "type": "string" }])),
        ("status", json!("published")),
    ] {
        let refused = server.patch(&path, &json!({ (field): value, "text": "New" })).refusal();

        assert!(refused.starts_with(&format!("422 validation_error: Invalid `{field}` ")), "{refused}");
    }
    assert_eq!(server.get(&path).ok(200), before);
}

#[test]
fn the_time_of_the_last_change_is_shown() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));
    let updated = || server.get(&path).ok(200)["updated_at"].as_str().unwrap().to_owned();
    let created = updated();

    server.advance(Duration::from_secs(1));
    server.patch(&path, &json!({ "name": "Receipt" })).ok(200);
    assert_eq!(updated(), created);
    server.patch(&path, &json!({ "name": "New" })).ok(200);
    assert!(updated() > created);
}

#[test]
fn a_copy_is_a_draft_with_the_newest_content() {
    let server = TestServer::start();
    let path = publish(&server, &json!({ "subject": "Hi", "text": "Hello" }));
    server.patch(&path, &json!({ "html": "<p>New</p>" })).ok(200);

    let copy = server.post(&format!("{path}/duplicate"), &json!({})).ok(200);
    let copy = server.get(&format!("/templates/{}", copy["id"].as_str().unwrap())).ok(200);

    let mut expected = server.get(&path).ok(200);
    let others = ["id", "created_at", "updated_at", "current_version_id"];
    for field in others {
        assert!(field.ends_with("_at") || copy[field] != expected[field], "{field}");
        expected[field] = copy[field].clone();
    }
    (expected["name"], expected["alias"]) = (json!("Receipt (copy)"), json!(null));
    (expected["status"], expected["published_at"]) = (json!("draft"), json!(null));
    assert_eq!(copy, expected);
}
