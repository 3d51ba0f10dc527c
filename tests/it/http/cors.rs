//! Cross-origin requests (CORS).

use crate::support::TestServer;

const PREFLIGHT: [(&str, &str); 3] = [
    ("origin", "https://app.example.com"),
    ("access-control-request-method", "POST"),
    ("access-control-request-headers", "authorization, content-type"),
];

#[test]
fn no_origin_is_allowed_by_default() {
    let server = TestServer::start();

    let response = server.call("GET", "/emails", server.key(), &[("origin", "https://app.example.com")], None);
    assert_eq!(response.header("access-control-allow-origin"), None);
    response.ok(200);
    let preflight = server.call("OPTIONS", "/emails", "", &PREFLIGHT, None);
    assert_eq!(preflight.header("access-control-allow-origin"), None);
    preflight.refused(405, "method_not_allowed", "Method is not allowed for the requested path.");
}

#[test]
fn only_a_configured_origin_is_allowed() {
    let server = TestServer::start_with(&["--cors-origins", "https://app.example.com,https://b.example.com"]);

    let preflight = server.call("OPTIONS", "/emails", "", &PREFLIGHT, None);
    for (name, value) in [
        ("access-control-allow-origin", "https://app.example.com"),
        ("access-control-allow-methods", "GET, POST, PATCH, DELETE"),
        ("access-control-allow-headers", "authorization, content-type, idempotency-key, x-batch-validation"),
        ("vary", "origin"),
    ] {
        assert_eq!(preflight.header(name), Some(value), "{name}");
    }
    preflight.ok(200);
    // The page can also read an error and its headers.
    let refused = server.call("GET", "/emails", "", &[("origin", "https://b.example.com")], None);
    assert_eq!(refused.header("access-control-allow-origin"), Some("https://b.example.com"));
    assert!(refused.header("access-control-expose-headers").unwrap().contains("x-request-id"));
    assert_eq!(refused.status, 401);
    for origin in ["https://evil.example", "https://app.example.com.evil.example", "http://app.example.com", "null"] {
        let response = server.call("GET", "/emails", server.key(), &[("origin", origin)], None);

        assert_eq!(response.header("access-control-allow-origin"), None, "{origin}");
        assert_eq!(response.header("vary"), Some("origin"));
    }
}

#[test]
fn a_star_allows_every_origin_and_still_requires_a_key() {
    let server = TestServer::start_with(&["--cors-origins", "*"]);
    for path in ["/emails", "/nothing"] {
        let response = server.call("GET", path, "", &[("origin", "https://any.example")], None);

        assert_eq!(response.header("access-control-allow-origin"), Some("https://any.example"));
        assert_eq!(response.header("access-control-allow-credentials"), None);
        assert!(response.status == 401 || response.status == 404);
    }
}
