//! The rate limit and its response headers.

use std::time::Duration;

use serde_json::json;

use crate::support::{ApiResponse, TestServer};

fn limit_headers(response: &ApiResponse) -> [Option<&str>; 4] {
    ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "ratelimit-policy"].map(|name| response.header(name))
}

#[test]
fn a_request_over_the_limit_is_refused_until_the_next_second() {
    let server = TestServer::start_with(&["--rate-limit", "2"]);

    for remaining in ["1", "0"] {
        let response = server.get("/emails");
        assert_eq!(limit_headers(&response), [Some("2"), Some(remaining), Some("1"), Some("2;w=1")]);
        response.ok(200);
    }
    let refused = server.get("/emails");
    assert_eq!(limit_headers(&refused), [Some("2"), Some("0"), Some("1"), Some("2;w=1")]);
    assert_eq!(refused.header("retry-after"), Some("1"));
    let message = "Too many requests. You can only make 2 requests per second. The `ratelimit-*` headers of every \
                   answer say how many are left.";
    refused.refused(429, "rate_limit_exceeded", message);

    server.advance(Duration::from_secs(1));
    server.get("/emails").ok(200);
}

#[test]
fn each_key_has_its_own_limit() {
    let server = TestServer::start_with(&["--rate-limit", "1"]);
    let other = server.create_key(&json!({ "name": "Other" }));

    assert_eq!(server.get("/emails").status, 429);
    server.call("GET", "/emails", &other, &[], None).ok(200);
}

#[test]
fn every_response_has_the_rate_limit_headers() {
    let server = TestServer::start_with(&["--rate-limit", "7"]);
    for (method, path, key, status) in [
        ("GET", "/emails", "", 401),
        ("GET", "/emails", "rm_unknown", 403),
        ("GET", "/nothing", "", 404),
        ("PUT", "/emails", "", 405),
        ("GET", "/health", "", 200),
        ("GET", "/docs/openapi.json", "", 200),
    ] {
        let response = server.call(method, path, key, &[], None);

        assert_eq!(response.status, status);
        assert_eq!(limit_headers(&response), [Some("7"), Some("7"), Some("1"), Some("7;w=1")], "{method} {path}");
        assert_eq!(response.header("retry-after"), None);
    }
    for (method, path, remaining, status) in [
        ("GET", "/emails/1", "6", 422),
        ("GET", "/emails/0190a6c0-0000-7000-8000-000000000001", "5", 404),
        ("POST", "/emails", "4", 400),
        ("GET", "/openapi.json", "3", 200),
        ("GET", "/emails?x=1", "2", 422),
    ] {
        let response = server.call(method, path, server.key(), &[], None);

        assert_eq!(response.status, status, "{}", response.json);
        assert_eq!(limit_headers(&response), [Some("7"), Some(remaining), Some("1"), Some("7;w=1")], "{method} {path}");
    }
}

#[test]
fn a_request_with_a_refused_key_does_not_use_the_limit() {
    let server = TestServer::start_with(&["--rate-limit", "1"]);
    for _ in 0..5 {
        assert_eq!(server.call("GET", "/emails", "rm_unknown", &[], None).status, 403);
        assert_eq!(server.call("GET", "/emails", "", &[], None).status, 401);
    }

    server.get("/emails").ok(200);
}

#[test]
fn a_limit_of_zero_disables_the_limit_and_its_headers() {
    let server = TestServer::start_with(&["--rate-limit", "0"]);

    for _ in 0..150 {
        server.get("/api-keys").ok(200);
    }
    assert_eq!(limit_headers(&server.get("/emails")), [None, None, None, None]);
}
