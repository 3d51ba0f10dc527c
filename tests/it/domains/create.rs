//! `POST /domains`.

use serde_json::json;

use super::{create, redacted};
use crate::support::TestServer;

#[test]
fn a_create_returns_the_records_to_publish() {
    let server = TestServer::start_with(&["--hostname", "mx.ringmail.example"]);

    let domain = server.post("/domains", &json!({ "name": "mail.example.org" })).ok(201);

    insta::assert_json_snapshot!(redacted(domain));
}

#[test]
fn a_create_accepts_every_field_of_the_compatible_api() {
    let server = TestServer::start_with(&[
        "--hostname=mx.ringmail.example",
        "--public-url=https://app.ringmail.example",
        "--regions=us-east-1,eu-west-1",
    ]);

    let domain = server.post(
        "/domains",
        &json!({
            "name": "Example.org", "region": "eu-west-1", "custom_return_path": "bounce", "open_tracking": true,
            "click_tracking": true, "tracking_subdomain": "links", "tls": "opportunistic",
            "capabilities": { "sending": "enabled", "receiving": "disabled" },
        }),
    );

    insta::assert_json_snapshot!(redacted(domain.ok(201)));
}

#[test]
fn a_name_that_is_already_registered_is_refused() {
    let server = TestServer::start();
    create(&server, "example.org");

    let again = server.post("/domains", &json!({ "name": "EXAMPLE.org" }));

    again.refused(403, "validation_error", "The example.org domain has been registered already.");
}

#[test]
fn a_refused_domain_is_not_stored() {
    let server = TestServer::start();
    for (body, name, message) in [
        (json!({}), "missing_required_field", "Missing `name` field."),
        (json!({ "name": null }), "missing_required_field", "Missing `name` field."),
        (
            json!({ "name": "not a domain" }),
            "validation_error",
            "Invalid `name` field: the domain holds a space; letters, digits, hyphens and dots are accepted.",
        ),
        (
            json!({ "name": "example.org", "region": "mars-1" }),
            "validation_error",
            "Invalid `region` field: this server offers `us-east-1`.",
        ),
        (
            json!({ "name": "example.org", "tls": "enforced" }),
            "validation_error",
            "Invalid `tls` field: only `opportunistic` is available. Mail is encrypted wherever the receiving server \
             offers it.",
        ),
        (
            json!({ "name": "example.org", "capabilities": { "receiving": "enabled" } }),
            "validation_error",
            "Invalid `capabilities.receiving` field: only `disabled` is available, as this server receives no mail.",
        ),
        (
            json!({ "name": "example.org", "tracking_subdomain": "send" }),
            "validation_error",
            "Invalid `tracking_subdomain` field: it is the label of the return path (`custom_return_path`). \
             Use another, such as `links`.",
        ),
    ] {
        server.post("/domains", &body).refused(422, name, message);
    }
    let unknown = server.post("/domains", &json!({ "name": "example.org", "dkim": true }));
    assert_eq!(unknown.status, 422);

    let names: Vec<_> = server.get("/domains").ok(200)["data"].as_array().unwrap().clone();
    assert_eq!(names.len(), 1, "only the domain of the test server exists: {names:?}");
}

#[test]
fn a_body_that_is_not_json_is_a_400() {
    let server = TestServer::start();

    let response = server.call("POST", "/domains", server.key(), &[], Some(b"{\"name\": "));

    assert_eq!((response.status, response.json["name"].as_str()), (400, Some("validation_error")));
}

#[test]
fn domains_require_a_full_access_key() {
    let server = TestServer::start();
    let key = server.post("/api-keys", &json!({ "name": "sender", "permission": "sending_access" })).ok(201);
    let key = key["token"].as_str().unwrap();

    for (method, path) in [("POST", "/domains"), ("GET", "/domains")] {
        assert_eq!(server.call(method, path, "", &[], None).status, 401);
        let refused = server.call(method, path, key, &[], None);
        refused.refused(403, "restricted_api_key", "This API key is restricted to only send emails");
    }
}
