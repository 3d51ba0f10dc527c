//! Request bodies: size, JSON, unknown and duplicate fields.

use serde_json::json;

use crate::support::{ApiResponse, TestServer, assert_lines, email};

fn post(server: &TestServer, path: &str, body: &[u8]) -> ApiResponse {
    server.call("POST", path, server.key(), &[], Some(body))
}

#[test]
fn a_body_that_is_not_json_is_malformed() {
    let server = TestServer::start();
    let complete = email(&json!({})).to_string();
    let deep_array = "[".repeat(100_000);
    let deep_object = r#"{"headers":"#.repeat(20_000);
    let deep_tag = format!(r#"{{"created_at":{}"#, "[".repeat(100_000));
    let mut lines = Vec::new();
    for body in [
        b"".as_slice(),
        b" ",
        b"{",
        &complete.as_bytes()[..complete.len() - 1],
        &complete.as_bytes()[..complete.len() / 2],
        b"{\"from\": \"a\xff\"}",
        b"\xef\xbb\xbf{}",
        b"{\"from\": \"\\ud800\"}",
        b"{'from': 'a'}",
        b"{\"from\": \"a\",}",
        b"from=a&to=b",
        b"{} {}",
        b"\x00",
        b"{\"from\": \"a\nb\"}",
        deep_array.as_bytes(),
        deep_object.as_bytes(),
        deep_tag.as_bytes(),
    ] {
        for path in ["/emails", "/emails/batch", "/api-keys"] {
            let refused = post(&server, path, body).refusal();

            // The type of a value can be wrong before the position where the JSON becomes malformed.
            let shown = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
            assert!(refused.starts_with("400 validation_error") || refused.starts_with("422"), "{shown}: {refused}");
            assert!(refused.len() < 500, "{refused}");
            if path == "/emails" {
                lines.push(format!("{shown:?}: {refused}"));
            }
        }
    }
    assert_lines!(lines);
    assert_eq!(server.stored_emails(), 0);
}

#[test]
fn a_body_that_is_not_an_object_is_refused() {
    let server = TestServer::start();
    let positional = json!([
        "hello@example.com",
        "delivered@resend.dev",
        "Hello",
        null,
        "text",
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null
    ]);
    for (path, body) in [
        ("/emails", positional.to_string()),
        ("/emails", "[]".to_owned()),
        ("/emails", "null".to_owned()),
        ("/emails", "true".to_owned()),
        ("/emails", "5".to_owned()),
        ("/emails", "\"text\"".to_owned()),
        ("/api-keys", json!(["Name", null, null]).to_string()),
        ("/api-keys", "null".to_owned()),
        ("/domains", json!(["a.example", null, null, null, null, null, null, null]).to_string()),
        ("/emails", email(&json!({ "tags": [["name", "value"]] })).to_string()),
        ("/emails", email(&json!({ "attachments": [["YQ==", "a.txt", null, null, null, null]] })).to_string()),
    ] {
        let refused = post(&server, path, body.as_bytes()).refusal();

        assert!(refused.starts_with("422 validation_error: Invalid "), "{body}: {refused}");
        assert!(refused.ends_with("expected an object."), "{body}: {refused}");
    }
    assert_eq!(server.stored_emails(), 0);
}

#[test]
fn an_unknown_field_is_reported_with_the_known_fields() {
    let server = TestServer::start();
    let mut lines = Vec::new();
    for (path, body) in [
        ("/emails", email(&json!({ "subjekt": "x" }))),
        ("/emails", email(&json!({ "replyTo": "x" }))),
        ("/emails", email(&json!({ "id": "x" }))),
        ("/emails", email(&json!({ "a\r\nb": "x" }))),
        ("/emails", email(&json!({ "k".repeat(5_000): "x" }))),
        ("/emails", email(&json!({ "tags": [{ "name": "a", "value": "b", "c": 1 }] }))),
        ("/emails", email(&json!({ "attachments": [{ "content": "YQ==", "size": 1 }] }))),
        ("/emails/batch", json!([email(&json!({})), email(&json!({ "subjekt": "x" }))])),
        ("/api-keys", json!({ "name": "a", "scope": "x" })),
        ("/domains", json!({ "name": "a.example", "dkim": true })),
    ] {
        let refused = server.post(path, &body).refusal();

        assert!(refused.starts_with("422 validation_error: "), "{refused}");
        assert!(refused.len() < 700 && !refused.contains(['\r', '\n']), "{refused}");
        lines.push(format!("{path}: {refused}"));
    }
    assert_lines!(lines);
    assert_eq!(server.stored_emails(), 0);
}

#[test]
fn a_duplicate_field_is_refused() {
    let server = TestServer::start();
    for (path, body, field) in [
        ("/emails", r#"{"from":"hello@example.com","to":"a@b.co","to":"c@d.co","subject":"s","text":"t"}"#, "to"),
        ("/emails", r#"{"from":"hello@example.com","\u0066rom":"x@example.com","to":"a@b.co"}"#, "from"),
        ("/api-keys", r#"{"name":"a","name":"b"}"#, "name"),
        ("/domains", r#"{"name":"a.example","name":"b.example"}"#, "name"),
    ] {
        let refused = post(&server, path, body.as_bytes()).refusal();

        let message = format!("422 validation_error: Invalid request body: duplicate field `{field}`.");
        assert_eq!(refused, message, "{body}");
    }
    for body in [
        r#"{"from":"hello@example.com","to":"a@b.co","subject":"s","text":"t","headers":{"X-A":"1","X-A":"2"}}"#,
        r#"{"from":"hello@example.com","to":"a@b.co","subject":"s","text":"t","tags":[{"name":"a","name":"b","value":"c"}]}"#,
        r#"{"from":"hello@example.com","to":"a@b.co","subject":"s","text":"t","attachments":[{"content":{"type":"Buffer","data":[1],"data":[2]}}]}"#,
    ] {
        let refused = post(&server, "/emails", body.as_bytes()).refusal();

        assert!(refused.starts_with("422 validation_error: Invalid `"), "{body}: {refused}");
    }
    assert_eq!(server.stored_emails(), 0);
}

#[test]
fn the_content_type_of_a_body_is_ignored() {
    let server = TestServer::start();
    let body = email(&json!({})).to_string();
    for content_type in ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-8"] {
        let head = server.raw_request_head("POST", "/emails").replace("application/json", content_type);
        let request = format!("{head}content-length: {}\r\n\r\n{body}", body.len());

        server.send_raw(request.as_bytes()).ok(200);
    }
}

#[test]
fn a_body_with_a_too_large_content_length_is_refused_unread() {
    let server = TestServer::start_with(&["--body-mb", "1"]);
    for path in ["/emails", "/emails/batch"] {
        for (content_length, sent) in [(1_048_577_u64, 1_048_577), (1 << 40, 10)] {
            let head = server.raw_request_head("POST", path);
            let request = format!("{head}content-length: {content_length}\r\n\r\n{}", " ".repeat(sent));

            let response = server.send_raw(request.as_bytes());

            let message = "The request body is larger than the 1048576 bytes this endpoint takes.";
            response.refused(413, "payload_too_large", message);
        }
    }
}

#[test]
fn a_chunked_body_over_the_limit_is_refused() {
    let server = TestServer::start_with(&["--body-mb", "1"]);
    let chunk = format!("{:x}\r\n{}\r\n", 65_536, " ".repeat(65_536));
    let request = format!(
        "{}transfer-encoding: chunked\r\n\r\n{}0\r\n\r\n",
        server.raw_request_head("POST", "/emails"),
        chunk.repeat(17)
    );

    let response = server.send_raw(request.as_bytes());

    response.refused(
        413,
        "payload_too_large",
        "The request body is larger than the 1048576 bytes this endpoint takes.",
    );
}

#[test]
fn a_chunked_body_within_the_limit_is_accepted() {
    let server = TestServer::start();
    let body = email(&json!({})).to_string();
    let (first, second) = body.split_at(20);
    let request = format!(
        "{}transfer-encoding: chunked\r\n\r\n{:x}\r\n{first}\r\n{:x}\r\n{second}\r\n0\r\n\r\n",
        server.raw_request_head("POST", "/emails"),
        first.len(),
        second.len(),
    );

    let sent = server.send_raw(request.as_bytes()).ok(200);

    server.wait_for(sent["id"].as_str().unwrap(), "delivered");
}

#[test]
fn a_body_of_a_route_without_emails_has_a_smaller_limit() {
    let server = TestServer::start();
    let large = json!({ "name": "n".repeat(4 << 20) }).to_string();

    let request =
        format!("{}content-length: {}\r\n\r\n{large}", server.raw_request_head("POST", "/api-keys"), large.len());
    let response = server.send_raw(request.as_bytes());

    response.refused(
        413,
        "payload_too_large",
        "The request body is larger than the 4194304 bytes this endpoint takes.",
    );
}

#[test]
fn a_truncated_body_stores_nothing() {
    let server = TestServer::start();
    let body = email(&json!({})).to_string();
    for framing in [
        format!("content-length: {}\r\n\r\n{body}", body.len() + 1),
        format!("transfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n", body.len()),
    ] {
        let request = format!("{}{framing}", server.raw_request_head("POST", "/emails"));

        if let Some(response) = server.send_raw_truncated(request.as_bytes()) {
            assert_eq!(response.status, 400, "{}", response.json);
        }
    }
    assert_eq!(server.stored_emails(), 0);
    server.send(&json!({}));
}

#[test]
fn request_bodies_over_the_shared_budget_are_refused() {
    let server = TestServer::start_with(&["--body-mb", "1", "--body-budget-mb", "1"]);
    let blocked = server.block_commits();
    let large = email(&json!({ "text": "t".repeat(700_000) })).to_string();
    let send = || post(&server, "/emails", large.as_bytes());

    // Neither request can commit, and the budget is too small for both bodies.
    let (refused, other) = std::thread::scope(|scope| {
        let (responses_tx, responses) = std::sync::mpsc::channel();
        for _ in 0..2 {
            let responses_tx = responses_tx.clone();
            scope.spawn(move || responses_tx.send(send()).expect("the test waits for both responses"));
        }
        let first = responses.recv().expect("the first response");
        drop(blocked);
        (first, responses.recv().expect("the second response"))
    });

    assert_eq!(refused.header("retry-after"), Some("1"));
    let message = "The server has no memory for further request bodies. Try again in a moment.";
    refused.refused(503, "service_unavailable", message);
    // If both bodies grow at the same time, both requests can exceed the budget.
    assert!(other.status == 200 || other.status == 503, "{}", other.json);
    send().ok(200);
}

#[test]
fn a_client_that_sends_all_of_a_too_large_body_gets_the_error() {
    let server = TestServer::start_with(&["--body-mb", "1"]);
    let large = email(&json!({ "text": "t".repeat(8 << 20) })).to_string();

    for _ in 0..5 {
        let response = post(&server, "/emails", large.as_bytes());

        let message = "The request body is larger than the 1048576 bytes this endpoint takes.";
        response.refused(413, "payload_too_large", message);
    }
}
