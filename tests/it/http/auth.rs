//! Authentication and permissions on every route of the OpenAPI document.

use serde_json::json;

use crate::support::{ApiResponse, Ids, Route, TestServer, every_route};

const MISSING: &str = "Missing API key in the authorization header. Send `Authorization: Bearer rm_…`. The API is \
                       described without a key at `/docs/openapi.json`.";
const INVALID: &str = "API key is invalid.";
const RESTRICTED: &str = "This API key is restricted to only send emails";

fn call(server: &TestServer, route: &Route, key: &str, headers: &[(&str, &str)]) -> ApiResponse {
    let body = route.body().map(|body| body.to_string());
    let path = route.path_with(Ids::UNKNOWN);
    server.call(&route.method, &path, key, headers, body.as_deref().map(str::as_bytes))
}

#[test]
fn every_route_requires_a_key() {
    let server = TestServer::start();
    for route in every_route(&server) {
        call(&server, &route, "", &[]).refused(401, "missing_api_key", MISSING);
    }
}

#[test]
fn every_route_refuses_an_unknown_key() {
    let server = TestServer::start();
    let unknown = format!("rm_{}", "A".repeat(32));
    for route in every_route(&server) {
        call(&server, &route, &unknown, &[]).refused(403, "invalid_api_key", INVALID);
    }
}

#[test]
fn a_sending_key_can_only_send_reschedule_and_cancel() {
    let server = TestServer::start();
    let key = server.create_sending_key();
    let permitted = ["POST /emails", "POST /emails/batch", "PATCH /emails/{id}", "POST /emails/{id}/cancel"];
    for route in every_route(&server) {
        let response = call(&server, &route, &key, &[]);

        if permitted.contains(&route.to_string().as_str()) {
            assert!(response.status == 200 || response.status == 404, "{route}: {}", response.json);
        } else {
            response.refused(403, "restricted_api_key", RESTRICTED);
        }
    }
}

#[test]
fn a_header_without_a_bearer_token_is_a_missing_key() {
    let server = TestServer::start();
    let basic = format!("Basic {}", server.key());
    for value in [basic.as_str(), "Bearer", "Bearer ", server.key(), "", "bearer"] {
        let response = server.call("GET", "/emails", "", &[("authorization", value)], None);

        response.refused(401, "missing_api_key", MISSING);
    }
}

#[test]
fn the_scheme_ignores_case() {
    let server = TestServer::start();
    for scheme in ["bearer", "BEARER", "Bearer "] {
        let value = format!("{scheme} {}", server.key());

        server.call("GET", "/emails", "", &[("authorization", &value)], None).ok(200);
    }
}

#[test]
fn a_malformed_key_is_invalid() {
    let server = TestServer::start();
    let key = server.key().to_owned();
    let foreign = format!("sk_{}", &key[3..]);
    let longer = format!("{key}A");
    let long = "rm_".repeat(2_000);
    for malformed in ["rm_", "x", &foreign, &longer, &key[..34], "rm_0123456789abcdefghijklmnopqrs tu", &long] {
        let response = server.call("GET", "/emails", malformed, &[], None);

        response.refused(403, "invalid_api_key", INVALID);
    }
}

#[test]
fn a_key_of_one_domain_can_read_all_emails_of_its_team() {
    let server = TestServer::start();
    let domain = server.domain_id("example.com");
    let key = server.create_key(&json!({ "name": "Scoped", "domain_id": domain }));
    let id = server.send(&json!({}));

    server.call("GET", &format!("/emails/{id}"), &key, &[], None).ok(200);
}
