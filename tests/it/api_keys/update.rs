//! `PATCH /api-keys/{id}`.

use serde_json::json;

use crate::support::{TestServer, assert_body};

#[test]
fn a_renamed_key_keeps_its_token_and_permission() {
    let server = TestServer::start();
    let created = server.post("/api-keys", &json!({ "name": "Before", "permission": "sending_access" })).ok(201);
    let path = format!("/api-keys/{}", created["id"].as_str().unwrap());

    let response = server.patch(&path, &json!({ "name": " After " })).ok(200);

    assert_eq!(server.get("/api-keys").ok(200)["data"][0]["name"], "After");
    let status = server.call("GET", "/emails", created["token"].as_str().unwrap(), &[], None).status;
    assert_eq!(status, 403, "the permission is unchanged");
    assert_body!(response);
}

#[test]
fn only_the_name_can_be_changed() {
    let server = TestServer::start();
    let created = server.post("/api-keys", &json!({ "name": "Key" })).ok(201);
    let path = format!("/api-keys/{}", created["id"].as_str().unwrap());

    let refused = server.patch(&path, &json!({ "name": "New", "permission": "full_access" })).refusal();

    assert!(refused.starts_with("422 validation_error: Invalid `permission` field: unknown field"), "{refused}");
    assert_eq!(server.get("/api-keys").ok(200)["data"][0]["name"], "Key");
}

#[test]
fn an_update_checks_the_name_like_a_create() {
    let server = TestServer::start();
    let created = server.post("/api-keys", &json!({ "name": "Key" })).ok(201);
    let path = format!("/api-keys/{}", created["id"].as_str().unwrap());

    for body in [json!({}), json!({ "name": null })] {
        server.patch(&path, &body).refused(422, "missing_required_field", "Missing `name` field.");
    }
    for name in ["", " ", "a\u{7}", &"n".repeat(81)] {
        let message = "Invalid `name` field: it must have 1 to 80 characters and no control characters.";
        server.patch(&path, &json!({ "name": name })).refused(422, "validation_error", message);
    }
    let unknown = "/api-keys/0190a6c0-0000-7000-8000-000000000001";
    server.patch(unknown, &json!({ "name": "New" })).refused(404, "not_found", "API key not found");
    server.patch("/api-keys/1", &json!({ "name": "New" })).refused(
        422,
        "validation_error",
        "The `id` must be a valid UUID.",
    );
}
