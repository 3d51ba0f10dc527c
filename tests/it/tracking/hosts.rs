//! The paths of a tracking host.

use serde_json::json;

use super::set_tracking;
use crate::support::{ApiResponse, TestServer};

/// Sends a request with a `Host` header.
fn get(server: &TestServer, host: &str, path: &str) -> ApiResponse {
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\nauthorization: Bearer {}\r\n\r\n",
        server.key()
    );
    server.send_raw(request.as_bytes())
}

#[test]
fn a_tracking_host_has_no_api_and_no_dashboard() {
    let server = TestServer::start();
    assert_eq!(get(&server, "links.example.com", "/emails").status, 200);

    set_tracking(&server, &json!({ "tracking_subdomain": "links" }));

    for path in ["/", "/health", "/emails", "/dashboard/", "/docs/openapi.json", "/t", "/unsubscribe", "/metrics"] {
        let response = get(&server, "Links.Example.com:443", path);
        assert!(response.refusal().starts_with("404 not_found"), "{path}: {}", response.json);
    }
    for host in ["other.example.com", "localhost", "127.0.0.1"] {
        assert_eq!(get(&server, host, "/emails").status, 200, "{host}");
    }
}

#[test]
fn a_changed_or_cleared_label_frees_its_host() {
    let server = TestServer::start();
    let status = |host: &str| get(&server, host, "/emails").status;
    set_tracking(&server, &json!({ "tracking_subdomain": "links" }));

    set_tracking(&server, &json!({ "tracking_subdomain": "go" }));
    assert_eq!((status("links.example.com"), status("go.example.com")), (200, 404));

    set_tracking(&server, &json!({ "tracking_subdomain": null }));
    assert_eq!(status("go.example.com"), 200);
}

#[test]
fn a_deleted_domain_frees_its_host() {
    let server = TestServer::start();
    set_tracking(&server, &json!({ "tracking_subdomain": "links" }));

    server.delete(&format!("/domains/{}", server.domain_id("example.com"))).ok(200);

    assert_eq!(get(&server, "links.example.com", "/emails").status, 200);
}

#[test]
fn a_host_without_a_found_record_is_no_tracking_host() {
    let server = TestServer::start();
    server.post("/domains", &json!({ "name": "example.org", "tracking_subdomain": "links" })).ok(201);

    assert_eq!(get(&server, "links.example.org", "/emails").status, 200);
}
