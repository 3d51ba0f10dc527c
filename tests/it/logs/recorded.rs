//! Requests and fields that the log records.

use serde_json::{Value, json};

use super::{entry, logged};
use crate::support::{TestServer, email};

#[test]
fn only_a_request_with_a_valid_key_on_a_known_route_is_logged() {
    let server = TestServer::start();
    let sending = server.create_sending_key();
    let call = |method: &str, path: &str, key: &str| server.call(method, path, key, &[], None).status;

    assert_eq!(server.post("/emails", &email(&json!({}))).status, 200);
    assert_eq!(server.get("/emails?limit=5").status, 200);
    assert_eq!(server.get("/emails/x").status, 422);
    assert_eq!(server.get("/emails?surprise=1").status, 422);
    assert_eq!(server.delete("/topics/0190a6c0-0000-7000-8000-000000000006").status, 404);
    assert_eq!(server.call("POST", "/topics", server.key(), &[], Some(b"{")).status, 400);
    assert_eq!(call("GET", "/emails", &sending), 403);
    let expected = [
        "POST /api-keys 201",
        "POST /emails 200",
        "GET /emails 200",
        "GET /emails/x 422",
        "GET /emails 422",
        "DELETE /topics/0190a6c0-0000-7000-8000-000000000006 404",
        "POST /topics 400",
        "GET /emails 403",
    ];
    // Requests without a key, with an unknown key, to unknown routes, and to routes that require no key.
    assert_eq!(call("GET", "/emails", ""), 401);
    assert_eq!(call("GET", "/emails", "rm_00000000000000000000000000000000"), 403);
    assert_eq!(call("GET", "/nothing", server.key()), 404);
    assert_eq!(call("PUT", "/emails", server.key()), 405);
    assert_eq!(call("GET", "/health", server.key()), 200);
    assert_eq!(call("GET", "/docs/openapi.json", server.key()), 200);

    assert_eq!(logged(&server), expected);
}

#[test]
fn a_request_over_the_rate_limit_is_logged() {
    let server = TestServer::start_with(&["--rate-limit", "2"]);
    server.get("/topics").ok(200);
    server.get("/topics").ok(200);
    assert_eq!(server.get("/topics").status, 429);
    server.advance(std::time::Duration::from_secs(1));

    assert_eq!(logged(&server), ["GET /topics 200", "GET /topics 200", "GET /topics 429"]);
}

#[test]
fn an_entry_has_no_query_and_no_header_except_the_user_agent() {
    let server = TestServer::start();
    let body = email(&json!({})).to_string();
    let headers = [("idempotency-key", "never-kept-1"), ("x-mine", "never-kept-2"), ("user-agent", "mine/1.0")];
    let sent = server.call("POST", "/emails", server.key(), &headers, Some(body.as_bytes()));
    let listed = server.get("/emails?limit=77");

    let [sent, listed] = [entry(&server, &sent), entry(&server, &listed)];

    assert_eq!((&sent["user_agent"], &listed["endpoint"]), (&json!("mine/1.0"), &json!("/emails")));
    for text in [sent.to_string(), listed.to_string()] {
        for absent in ["never-kept", server.key(), "limit"] {
            assert!(!text.contains(absent), "{absent} in {text}");
        }
    }
}

#[test]
fn a_long_user_agent_is_truncated_and_an_absent_one_is_null() {
    let server = TestServer::start();
    let long = "a".repeat(1_000);
    let response = server.call("GET", "/topics", server.key(), &[("user-agent", &long)], None);
    assert_eq!(entry(&server, &response)["user_agent"], "a".repeat(256));

    let without_user_agent = server.send_raw(format!("{}\r\n", server.raw_request_head("GET", "/topics")).as_bytes());

    assert_eq!(entry(&server, &without_user_agent)["user_agent"], Value::Null);
}

#[test]
fn a_long_path_is_truncated() {
    let server = TestServer::start();
    let response = server.get(&format!("/topics/{}", "x".repeat(5_000)));

    let entry = entry(&server, &response);

    assert_eq!(entry["endpoint"].as_str().unwrap().len(), 1_024);
    assert_eq!(entry["response_status"], 422);
}

#[test]
fn an_entry_has_the_id_of_the_api_key() {
    let server = TestServer::start();
    let created = server.post("/api-keys", &json!({ "name": "Another" })).ok(201);
    let response = server.call("GET", "/topics", created["token"].as_str().unwrap(), &[], None);

    assert_eq!(entry(&server, &response)["api_key_id"], created["id"]);
}

#[test]
fn a_disabled_log_records_no_request_and_keeps_its_entries() {
    let server = TestServer::start();
    server.get("/topics").ok(200);

    let server = server.restart_with(&["--request-log", "false"]);
    let response = server.post("/emails", &email(&json!({})));

    assert_eq!(response.status, 200);
    let path = format!("/logs/{}", response.header("x-request-id").unwrap());
    server.get(&path).refused(404, "not_found", "Log not found");
    assert_eq!(logged(&server), ["GET /topics 200"], "the earlier entries remain");
}
