//! Which web pages may call the API.

use crate::support::TestServer;

const PREFLIGHT: [(&str, &str); 3] = [
    ("origin", "https://app.example.com"),
    ("access-control-request-method", "POST"),
    ("access-control-request-headers", "authorization, content-type"),
];

#[test]
fn no_page_may_unless_the_operator_says_so() {
    let server = TestServer::start();

    let answer = server.call("GET", "/emails", server.key(), &[("origin", "https://app.example.com")], None);
    assert_eq!(answer.header("access-control-allow-origin"), None);
    answer.ok(200);
    let preflight = server.call("OPTIONS", "/emails", "", &PREFLIGHT, None);
    assert_eq!(preflight.header("access-control-allow-origin"), None);
    preflight.refused(405, "method_not_allowed", "Method is not allowed for the requested path.");
}

#[test]
fn a_listed_origin_may_and_another_may_not() {
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
    // An error can be read by the page too, and so can its headers.
    let refused = server.call("GET", "/emails", "", &[("origin", "https://b.example.com")], None);
    assert_eq!(refused.header("access-control-allow-origin"), Some("https://b.example.com"));
    assert!(refused.header("access-control-expose-headers").unwrap().contains("x-request-id"));
    assert_eq!(refused.status, 401);
    for origin in ["https://evil.example", "https://app.example.com.evil.example", "http://app.example.com", "null"] {
        let answer = server.call("GET", "/emails", server.key(), &[("origin", origin)], None);

        assert_eq!(answer.header("access-control-allow-origin"), None, "{origin}");
        assert_eq!(answer.header("vary"), Some("origin"));
    }
}

#[test]
fn a_star_opens_the_api_to_every_origin_and_still_asks_for_a_key() {
    let server = TestServer::start_with(&["--cors-origins", "*"]);
    for path in ["/emails", "/nothing"] {
        let answer = server.call("GET", path, "", &[("origin", "https://any.example")], None);

        assert_eq!(answer.header("access-control-allow-origin"), Some("https://any.example"));
        assert_eq!(answer.header("access-control-allow-credentials"), None);
        assert!(answer.status == 401 || answer.status == 404);
    }
}
