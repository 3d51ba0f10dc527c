//! The fields of errors and the order of the checks of a request.

use serde_json::json;

use crate::support::{TestServer, email};

const UNKNOWN_ROUTE: (u16, &str, &str) = (404, "not_found", "The requested endpoint does not exist.");
const WRONG_METHOD: (u16, &str, &str) = (405, "method_not_allowed", "Method is not allowed for the requested path.");

#[test]
fn a_route_that_does_not_exist_is_not_found_with_or_without_a_key() {
    let server = TestServer::start();
    let (status, name, message) = UNKNOWN_ROUTE;
    for (method, path) in [
        ("GET", "/nothing"),
        ("POST", "/emails/0190a6c0-0000-7000-8000-000000000001/share"),
        ("GET", "/emails/receiving"),
        ("GET", "/emails/receiving/0190a6c0-0000-7000-8000-000000000001/attachments"),
        ("POST", "/domains/claim"),
        ("POST", "/domains/claims"),
        ("POST", "/logs/0190a6c0-0000-7000-8000-000000000001/replay"),
        ("GET", "/automations"),
        ("POST", "/events/send"),
        ("GET", "/contacts/imports"),
        ("GET", "/emails/0190a6c0-0000-7000-8000-000000000001/cancel/x"),
        ("GET", "/v1/nothing"),
    ] {
        for key in [server.key(), "", "rm_unknown"] {
            server.call(method, path, key, &[], None).refused(status, name, message);
        }
    }
}

#[test]
fn an_unsupported_method_is_not_allowed_with_or_without_a_key() {
    let server = TestServer::start();
    let (status, name, message) = WRONG_METHOD;
    let id = "0190a6c0-0000-7000-8000-000000000001";
    for (method, path) in [
        ("PUT", "/emails".to_owned()),
        ("DELETE", "/emails".to_owned()),
        ("GET", "/emails/batch".to_owned()),
        ("PUT", format!("/emails/{id}")),
        ("GET", format!("/emails/{id}/cancel")),
        ("POST", format!("/emails/{id}/attachments")),
        ("PATCH", "/api-keys".to_owned()),
        ("GET", format!("/api-keys/{id}")),
        ("PATCH", "/domains".to_owned()),
        ("GET", format!("/domains/{id}/verify")),
        ("OPTIONS", "/emails".to_owned()),
        ("POST", "/openapi.json".to_owned()),
    ] {
        for key in [server.key(), ""] {
            let response = server.call(method, &path, key, &[], None);
            let allowed = response.header("allow").unwrap_or_default().to_owned();
            assert!(!allowed.is_empty() && !allowed.split(", ").any(|its| its == method), "{method} {path}: {allowed}");
            response.refused(status, name, message);
        }
    }
}

#[test]
fn a_head_request_is_answered_like_the_get_request_without_the_body() {
    let server = TestServer::start();
    let id = server.send(&json!({}));
    for (path, key, status) in [
        (format!("/emails/{id}"), server.key(), 200),
        ("/emails?limit=1".to_owned(), server.key(), 200),
        ("/emails?other=1".to_owned(), server.key(), 422),
        ("/emails".to_owned(), "rm_unknown", 403),
        ("/health".to_owned(), "", 200),
        ("/nothing".to_owned(), "", 404),
    ] {
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let request = agent.head(format!("{}{path}", server.base())).header("authorization", format!("Bearer {key}"));
        let mut response = request.call().unwrap();
        let body = response.body_mut().read_to_string().unwrap();
        assert_eq!((response.status().as_u16(), body.as_str()), (status, ""), "{path}");
    }
}

#[test]
fn route_method_key_permission_rate_and_body_are_checked_in_order() {
    let server = TestServer::start_with(&["--rate-limit", "1"]);
    let sending = server.create_sending_key();
    server.advance(std::time::Duration::from_secs(1));
    let malformed = Some(b"{broken".as_slice());
    let call = |method: &str, path: &str, key: &str| server.call(method, path, key, &[], malformed).refusal();

    // Each request fails the check of its error and all later checks.
    assert!(call("POST", "/nothing?x=1", "").starts_with("404 not_found"));
    assert!(call("PUT", "/emails?x=1", "").starts_with("405 method_not_allowed"));
    assert!(call("POST", "/emails?x=1", "").starts_with("401 missing_api_key"));
    assert!(call("POST", "/emails?x=1", "rm_unknown").starts_with("403 invalid_api_key"));
    assert!(call("POST", "/emails?x=1", &sending).starts_with("422 validation_error: Unknown query parameter"));
    assert!(call("POST", "/domains?x=1", &sending).starts_with("403 restricted_api_key"));
    assert!(call("POST", "/emails?x=1", &sending).starts_with("429 rate_limit_exceeded"));
    server.advance(std::time::Duration::from_secs(1));
    assert!(call("POST", "/emails", &sending).starts_with("400 validation_error"));
    assert_eq!(server.stored_emails(), 0);
}

#[test]
fn only_the_php_sdk_gets_an_error_field() {
    let server = TestServer::start();
    let error_for = |agent: &str| {
        let headers = [("user-agent", agent)];
        server.call("POST", "/emails", server.key(), &headers, Some(b"{}")).json
    };
    let plain = json!({ "statusCode": 422, "name": "missing_required_field", "message": "Missing `from` field." });
    let mut with_error_field = plain.clone();
    with_error_field["error"] = plain.clone();

    assert_eq!(error_for("resend-php/0.15.2"), with_error_field);
    for other in ["resend-node:6.0.0", "resend-python/2.0", "curl/8 resend-php/1", "Resend-PHP", ""] {
        assert_eq!(error_for(other), plain, "{other}");
    }
    let headers = [("user-agent", "resend-php/0.15.2")];
    for (method, path, key, status) in [
        ("GET", "/nothing", "", 404),
        ("PUT", "/emails", "", 405),
        ("GET", "/emails", "", 401),
        ("GET", "/emails", "rm_x", 403),
    ] {
        let response = server.call(method, path, key, &headers, None);

        assert_eq!(response.json["error"]["statusCode"], status, "{}", response.json);
    }
    let ok = server.call("GET", "/emails", server.key(), &headers, None).ok(200);
    assert!(ok.get("error").is_none());
}

#[test]
fn a_successful_response_has_no_status_code_field() {
    let server = TestServer::start();
    let sent = server.post("/emails", &email(&json!({}))).ok(200);
    let id = sent["id"].as_str().unwrap().to_owned();

    for body in [sent, server.get("/emails").ok(200), server.wait_for(&id, "delivered")] {
        assert!(body.get("statusCode").is_none(), "{body}");
    }
}

#[test]
fn every_response_has_its_own_request_id() {
    let server = TestServer::start();
    let mut seen = std::collections::HashSet::new();
    for (method, path, key) in [
        ("GET", "/emails", server.key()),
        ("GET", "/emails", server.key()),
        ("GET", "/emails", ""),
        ("GET", "/nothing", ""),
        ("PUT", "/emails", ""),
        ("GET", "/health", ""),
        ("GET", "/docs/openapi.json", ""),
        ("POST", "/emails", server.key()),
    ] {
        let response = server.call(method, path, key, &[], None);

        let id =
            response.header("x-request-id").unwrap_or_else(|| panic!("{method} {path} has no request id")).to_owned();
        assert!(id.len() == 36 && seen.insert(id), "{method} {path}");
        assert_eq!(response.header("content-type"), Some("application/json; charset=utf-8"), "{method} {path}");
    }
}

#[test]
fn the_health_check_requires_no_key() {
    let server = TestServer::start();

    assert_eq!(server.call("GET", "/health", "", &[], None).ok(200), json!({ "ok": true, "status": "ok" }));
}
