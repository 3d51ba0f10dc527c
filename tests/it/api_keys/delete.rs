//! `DELETE /api-keys/{id}`.

use serde_json::json;

use crate::support::{TestServer, assert_body};

#[test]
fn a_deleted_key_is_refused_immediately_and_after_a_restart() {
    let server = TestServer::start();
    let created = server.post("/api-keys", &json!({ "name": "Leaked" })).ok(201);
    let (id, token) = (created["id"].as_str().unwrap(), created["token"].as_str().unwrap());
    server.call("GET", "/emails", token, &[], None).ok(200);

    let response = server.delete(&format!("/api-keys/{id}")).ok(200);

    let refused = server.call("GET", "/emails", token, &[], None);
    refused.refused(403, "invalid_api_key", "API key is invalid.");
    let server = server.restart_with(&[]);
    let refused = server.call("GET", "/emails", token, &[], None);
    refused.refused(403, "invalid_api_key", "API key is invalid.");
    assert_eq!(server.get("/api-keys").ok(200)["data"].as_array().unwrap().len(), 1);
    assert_body!(response);
}

#[test]
fn a_deleted_key_is_not_found_and_a_malformed_id_is_invalid() {
    let server = TestServer::start();
    let created = server.post("/api-keys", &json!({ "name": "Once" })).ok(201);
    let path = format!("/api-keys/{}", created["id"].as_str().unwrap());
    server.delete(&path).ok(200);

    server.delete(&path).refused(404, "not_found", "API key not found");
    server.delete("/api-keys/1").refused(422, "validation_error", "The `id` must be a valid UUID.");
}

#[test]
fn a_key_can_delete_itself() {
    let server = TestServer::start();
    let created = server.post("/api-keys", &json!({ "name": "Own" })).ok(201);
    let (id, token) = (created["id"].as_str().unwrap(), created["token"].as_str().unwrap());

    server.call("DELETE", &format!("/api-keys/{id}"), token, &[], None).ok(200);

    assert_eq!(server.call("GET", "/emails", token, &[], None).status, 403);
}

#[test]
fn a_key_of_a_deleted_domain_is_refused() {
    let server = TestServer::start_with(&["--domain", "example.com", "--domain", "other.example"]);
    let domain = server.domain_id("other.example");
    let scoped = server.create_key(&json!({ "name": "Scoped", "domain_id": domain }));
    server.call("GET", "/emails", &scoped, &[], None).ok(200);

    server.delete(&format!("/domains/{domain}")).ok(200);

    let refused = server.call("GET", "/emails", &scoped, &[], None);
    refused.refused(403, "invalid_api_key", "API key is invalid.");
}
