//! `POST /api-keys`.

use serde_json::{Value, json};

use crate::support::{TestServer, assert_body};

#[test]
fn a_new_key_shows_its_token_once_and_authenticates() {
    let server = TestServer::start();

    let created = server.post("/api-keys", &json!({ "name": "Production" })).ok(201);

    let token = created["token"].as_str().unwrap();
    assert!(token.starts_with("rm_") && token.len() == 35, "{token}");
    server.call("GET", "/api-keys", token, &[], None).ok(200);
    let list = server.get("/api-keys").ok(200);
    assert!(!list.to_string().contains(token), "the list shows the token");
    assert_body!(created);
}

#[test]
fn each_key_has_its_own_token() {
    let server = TestServer::start();

    let tokens: std::collections::HashSet<String> =
        (0..10).map(|_| server.create_key(&json!({ "name": "Same name" }))).collect();

    assert_eq!(tokens.len(), 10);
}

#[test]
fn permission_and_domain_are_independent() {
    let server = TestServer::start();
    let domain = server.domain_id("example.com");
    for (request, lists) in [
        (json!({ "name": "a" }), true),
        (json!({ "name": "a", "permission": null, "domain_id": null }), true),
        (json!({ "name": "a", "permission": "full_access" }), true),
        (json!({ "name": "a", "permission": "full_access", "domain_id": domain }), true),
        (json!({ "name": "a", "permission": "sending_access" }), false),
        (json!({ "name": "a", "permission": "sending_access", "domain_id": domain }), false),
    ] {
        let key = server.create_key(&request);

        let status = server.call("GET", "/emails", &key, &[], None).status;
        assert_eq!(status, if lists { 200 } else { 403 }, "{request}");
        let body = crate::support::email(&json!({})).to_string();
        server.call("POST", "/emails", &key, &[], Some(body.as_bytes())).ok(200);
    }
}

#[test]
fn each_invalid_field_of_a_key_is_reported() {
    let server = TestServer::start();
    let name = "Invalid `name` field: it must have 1 to 80 characters and no control characters.";
    let permission = "Invalid `permission` field: use `full_access` or `sending_access`.";
    for (request, refusal) in [
        (json!({}), "422 missing_required_field: Missing `name` field.".to_owned()),
        (json!({ "name": null }), "422 missing_required_field: Missing `name` field.".to_owned()),
        (json!({ "name": "" }), format!("422 validation_error: {name}")),
        (json!({ "name": "   " }), format!("422 validation_error: {name}")),
        (json!({ "name": "n".repeat(81) }), format!("422 validation_error: {name}")),
        (json!({ "name": "a\nb" }), format!("422 validation_error: {name}")),
        (json!({ "name": "a", "permission": "admin" }), format!("422 validation_error: {permission}")),
        (json!({ "name": "a", "permission": "" }), format!("422 validation_error: {permission}")),
        (
            json!({ "name": "a", "domain_id": "example.com" }),
            "422 validation_error: The `domain_id` must be a valid UUID.".to_owned(),
        ),
        (
            json!({ "name": "a", "domain_id": "0190a6c0-0000-7000-8000-000000000001" }),
            "404 not_found: Domain not found".to_owned(),
        ),
    ] {
        assert_eq!(server.post("/api-keys", &request).refusal(), refusal, "{request}");
    }
    let keys = server.get("/api-keys").ok(200);
    assert_eq!(keys["data"].as_array().unwrap().len(), 1, "only the key of the test server exists");
    server.create_key(&json!({ "name": "n".repeat(80) }));
}

#[test]
fn a_key_survives_a_restart() {
    let server = TestServer::start();
    let key = server.create_key(&json!({ "name": "Kept" }));

    let server = server.restart_with(&[]);

    server.call("GET", "/emails", &key, &[], None).ok(200);
}

#[test]
fn a_key_of_one_domain_manages_only_keys_of_that_domain() {
    let server = TestServer::start_with(&["--domain", "example.com", "--domain", "other.example"]);
    let [own, other] = ["other.example", "example.com"].map(|name| server.domain_id(name));
    let scoped = server.create_key(&json!({ "name": "Scoped", "domain_id": own }));
    let call = |method: &str, path: &str, body: Value| {
        let body = body.to_string();
        server.call(method, path, &scoped, &[], (method != "DELETE").then_some(body.as_bytes()))
    };
    let refusal = "403 restricted_api_key: This API key is restricted to one domain. It can create, change and revoke \
                   only keys with its own `domain_id`.";

    for domain in [json!(null), json!(other)] {
        assert_eq!(call("POST", "/api-keys", json!({ "name": "New", "domain_id": domain })).refusal(), refusal);
    }
    let foreign = server.post("/api-keys", &json!({ "name": "All domains" })).ok(201);
    let path = format!("/api-keys/{}", foreign["id"].as_str().unwrap());
    assert_eq!(call("PATCH", &path, json!({ "name": "Mine" })).refusal(), refusal);
    assert_eq!(call("DELETE", &path, json!(null)).refusal(), refusal);
    server.call("GET", "/domains", foreign["token"].as_str().unwrap(), &[], None).ok(200);

    let created = call("POST", "/api-keys", json!({ "name": "New", "domain_id": own })).ok(201);
    let path = format!("/api-keys/{}", created["id"].as_str().unwrap());
    call("PATCH", &path, json!({ "name": "Renamed" })).ok(200);
    call("DELETE", &path, json!(null)).ok(200);
    let unknown = "/api-keys/0190a6c0-0000-7000-8000-000000000001";
    call("DELETE", unknown, json!(null)).refused(404, "not_found", "API key not found");
}
