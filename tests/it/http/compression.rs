//! Compressed responses.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{TestServer, email};

/// Status line and headers in lower case, and the body.
struct RawResponse {
    head: String,
    body: Vec<u8>,
}

impl RawResponse {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// Returns the body without its coding.
    fn decoded(&self) -> String {
        let mut text = String::new();
        match self.header("content-encoding") {
            Some("gzip") => flate2::read::GzDecoder::new(self.body.as_slice()).read_to_string(&mut text).unwrap(),
            Some("br") => brotli::Decompressor::new(self.body.as_slice(), 4_096).read_to_string(&mut text).unwrap(),
            Some(other) => panic!("unknown coding {other}"),
            None => self.body.as_slice().read_to_string(&mut text).unwrap(),
        };
        text
    }
}

fn ask(server: &TestServer, method: &str, path: &str, accepted: &str) -> RawResponse {
    exchange(server, &format!("{}accept-encoding: {accepted}\r\n\r\n", server.raw_request_head(method, path)))
}

fn exchange(server: &TestServer, request: &str) -> RawResponse {
    let mut stream = TcpStream::connect(server.base().strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut received = Vec::new();
    stream.read_to_end(&mut received).unwrap();
    let end = received.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(received[..end].to_vec()).unwrap().to_ascii_lowercase();
    assert!(head.starts_with("http/1.1 200 "), "{head}");
    RawResponse { head, body: received[end + 4..].to_vec() }
}

/// Returns a server whose page of emails is larger than 1 KiB, and that page.
fn with_emails() -> (TestServer, Value) {
    let server = TestServer::start_with(&["--hold"]);
    let emails: Vec<Value> = (0..20).map(|_| email(&json!({ "subject": "Monthly report" }))).collect();
    server.post("/emails/batch", &json!(emails)).ok(200);
    let page = server.get("/emails").ok(200);
    (server, page)
}

#[test]
fn a_page_is_compressed_as_the_client_accepts() {
    let (server, page) = with_emails();

    let gzip = ask(&server, "GET", "/emails", "gzip");
    let brotli = ask(&server, "GET", "/emails", "gzip, deflate, br");

    assert_eq!((gzip.header("content-encoding"), brotli.header("content-encoding")), (Some("gzip"), Some("br")));
    for response in [gzip, brotli] {
        assert_eq!(serde_json::from_str::<Value>(&response.decoded()).unwrap(), page);
        assert_eq!(response.header("content-length"), Some(response.body.len().to_string().as_str()));
        assert_eq!(response.header("vary"), Some("accept-encoding"));
        assert!(response.body.len() < page.to_string().len() / 2);
    }
}

#[test]
fn a_page_that_is_written_in_pieces_is_compressed_as_a_whole() {
    let (server, _) = with_emails();
    let emails: Vec<Value> = (0..40).map(|_| email(&json!({ "subject": "Monthly report" }))).collect();
    server.post("/emails/batch", &json!(emails)).ok(200);
    let page = server.get("/emails?limit=60").ok(200);
    assert!(page.to_string().len() > 16 << 10);

    for coding in ["gzip", "br"] {
        let response = ask(&server, "GET", "/emails?limit=60", coding);

        assert_eq!(response.header("content-encoding"), Some(coding));
        assert_eq!(serde_json::from_str::<Value>(&response.decoded()).unwrap(), page);
    }
}

#[test]
fn html_pages_are_compressed() {
    let server = TestServer::start();
    server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201);
    let link = server.post("/contacts/ada@example.net/preferences-link", &json!({})).ok(201);
    let unsubscribe = link["url"].as_str().unwrap().strip_prefix(server.base()).unwrap();
    for path in [unsubscribe, "/docs/API"] {
        for coding in ["gzip", "br"] {
            let response = ask(&server, "GET", path, coding);

            assert!(response.header("content-type").unwrap().starts_with("text/html"), "{path}: {}", response.head);
            assert_eq!(response.header("content-encoding"), Some(coding), "{path}");
            let page = response.decoded();
            assert!(page.contains("<html") && page.contains("</html>"), "{path}: {page}");
            assert!(response.body.len() < page.len(), "{path} {coding}");
        }
    }
}

#[test]
fn a_client_that_accepts_no_coding_gets_the_plain_page() {
    let (server, page) = with_emails();

    for accepted in ["identity", "gzip;q=0", "zstd"] {
        let response = ask(&server, "GET", "/emails", accepted);
        assert_eq!((response.header("content-encoding"), response.header("vary")), (None, Some("accept-encoding")));
        assert_eq!(serde_json::from_slice::<Value>(&response.body).unwrap(), page, "{accepted}");
    }
}

#[test]
fn small_bodies_files_in_parts_and_head_requests_are_not_compressed() {
    let server = TestServer::start();
    let content = vec![b'a'; 200 << 10];
    let id = server.send(&json!({ "attachments": [{ "filename": "a.txt", "content": content }] }));
    let list = server.get(&format!("/emails/{id}/attachments")).ok(200);
    let file = format!("/emails/{id}/attachments/{}", list["data"][0]["id"].as_str().unwrap());

    assert_eq!(ask(&server, "GET", "/health", "gzip").header("content-encoding"), None);
    assert_eq!(ask(&server, "GET", &file, "gzip").header("content-encoding"), None);
    let head = ask(&server, "HEAD", "/docs/openapi.json", "gzip");
    assert_eq!((head.header("content-encoding"), head.body.len()), (None, 0));
    assert_eq!(ask(&server, "GET", "/docs/openapi.json", "gzip").header("content-encoding"), Some("gzip"));
}

#[test]
fn the_request_log_stores_the_plain_body() {
    let (server, _) = with_emails();

    let compressed = ask(&server, "GET", "/emails?limit=20", "gzip");

    assert_eq!(compressed.header("content-encoding"), Some("gzip"));
    let entry = format!("/logs/{}", compressed.header("x-request-id").unwrap());
    let log = server.poll(&entry, "the entry", |response| response.status == 200).ok(200);
    assert_eq!(log["response_body"]["object"], "list", "{log:#}");
}

#[test]
fn a_repeated_request_has_the_same_response_in_each_coding() {
    let server = TestServer::start_with(&["--hold"]);
    let batch = json!((0..100).map(|_| email(&json!({}))).collect::<Vec<_>>()).to_string();
    let send = |key: &str, accepted: &str| {
        let head = server.raw_request_head("POST", "/emails/batch");
        let length = batch.len();
        exchange(
            &server,
            &format!(
                "{head}idempotency-key: {key}\r\naccept-encoding: {accepted}\r\ncontent-length: {length}\r\n\r\n{batch}"
            ),
        )
    };

    for (key, first_coding) in [("a", "identity"), ("b", "gzip"), ("c", "br")] {
        let first = send(key, first_coding).decoded();
        assert_eq!(serde_json::from_str::<Value>(&first).unwrap()["data"].as_array().unwrap().len(), 100);
        for (accepted, coding) in [("gzip", Some("gzip")), ("br", Some("br")), ("identity", None)] {
            let replay = send(key, accepted);

            assert_eq!(replay.header("content-encoding"), coding, "{key}");
            assert_eq!(replay.decoded(), first, "{key} {accepted}");
            assert_eq!(replay.header("content-type"), Some("application/json; charset=utf-8"));
            assert_eq!(replay.header("content-length"), Some(replay.body.len().to_string().as_str()));
            assert_eq!(replay.header("vary"), Some("accept-encoding"));
        }
    }
    assert_eq!(server.stored_emails(), 300);
}
