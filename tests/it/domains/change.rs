//! `PATCH /domains/{id}` and `DELETE /domains/{id}`.

use std::time::Duration;

use serde_json::json;

use super::{create, path};
use crate::support::{TestServer, email};

#[test]
fn tracking_can_be_changed_and_cleared() {
    let server = TestServer::start();
    let domain = create(&server, "example.org");
    let read = || server.get(&path(&domain)).ok(200);

    let changed = json!({ "open_tracking": true, "click_tracking": true, "tracking_subdomain": "links" });
    let response = server.patch(&path(&domain), &changed).ok(200);
    assert_eq!(response, json!({ "object": "domain", "id": domain["id"] }));
    let tracked = read();
    assert_eq!((&tracked["open_tracking"], &tracked["click_tracking"]), (&json!(true), &json!(true)));
    assert_eq!(tracked["tracking_subdomain"], "links");
    assert_eq!(
        (&tracked["records"][4]["record"], &tracked["records"][4]["type"]),
        (&json!("Tracking"), &json!("CNAME"))
    );

    // The .NET SDK always sends both flags. Other SDKs repeat the id in the body.
    let sdk_body = json!({ "id": domain["id"], "open_tracking": false, "click_tracking": false });
    server.patch(&path(&domain), &sdk_body).ok(200);
    assert_eq!(read()["tracking_subdomain"], "links");
    server.patch(&path(&domain), &json!({ "tracking_subdomain": null })).ok(200);
    assert_eq!(read()["tracking_subdomain"], json!(null));
    assert_eq!(read()["records"].as_array().unwrap().len(), 4);
}

#[test]
fn a_field_that_cannot_be_changed_is_refused_with_a_reason() {
    let server = TestServer::start();
    let domain = create(&server, "example.org");

    server.patch(&path(&domain), &json!({ "tls": "opportunistic" })).refused(
        422,
        "validation_error",
        "The `tls` field cannot be changed: TLS is always `opportunistic`, so mail is encrypted wherever the receiving \
         server offers it. Leave the field out.",
    );
    server.patch(&path(&domain), &json!({ "capabilities": { "sending": "enabled" } })).refused(
        422,
        "validation_error",
        "The `capabilities` field cannot be changed: every domain sends and none receives. Leave the field out.",
    );
    assert_eq!(server.patch(&path(&domain), &json!({ "region": "us-east-1" })).status, 422);
}

#[test]
fn tracking_requires_a_public_url() {
    let server = TestServer::start_with(&["--delivery", "direct", "--resolver", "127.0.0.1:9"]);
    let domain = create(&server, "example.org");

    let response = server.patch(&path(&domain), &json!({ "open_tracking": true }));

    assert_eq!((response.status, response.json["name"].as_str()), (422, Some("validation_error")));
    assert!(response.json["message"].as_str().unwrap().contains("RINGMAIL_PUBLIC_URL"));
    server.patch(&path(&domain), &json!({ "open_tracking": false })).ok(200);
}

#[test]
fn a_deleted_domain_is_not_found_and_its_keys_are_refused() {
    let server = TestServer::start();
    let domain = server.get("/domains").ok(200)["data"][0].clone();
    let key = server.post("/api-keys", &json!({ "name": "scoped", "domain_id": domain["id"] })).ok(201);
    let key = key["token"].as_str().unwrap();
    assert_eq!(server.call("GET", "/domains", key, &[], None).status, 200);

    let deleted = server.delete(&path(&domain)).ok(200);

    assert_eq!(deleted, json!({ "object": "domain", "id": domain["id"], "deleted": true }));
    server.call("GET", "/domains", key, &[], None).refused(403, "invalid_api_key", "API key is invalid.");
    server.delete(&path(&domain)).refused(404, "not_found", "Domain not found");
    server.post("/emails", &email(&json!({}))).refused(
        403,
        "validation_error",
        "The example.com domain is not verified. Please, add and verify your domain.",
    );
}

#[test]
fn a_scheduled_email_of_a_deleted_domain_fails() {
    let server = TestServer::start();
    let domain = server.get("/domains").ok(200)["data"][0].clone();
    let id = server.send(&json!({ "to": "someone@example.net", "scheduled_at": "in 1 hour" }));

    server.delete(&path(&domain)).ok(200);
    server.advance(Duration::from_secs(2 * 3600));

    server.wait_for(&id, "failed");
}
