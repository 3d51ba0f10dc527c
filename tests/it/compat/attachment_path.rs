//! `RINGMAIL_COMPAT=attachment-path`.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;

use ringmail::suppressions::SuppressionOrigin;
use serde_json::{Value, json};

use super::assert_send_refused_without;
use crate::support::{ClosedPort, TestServer, email};

const COMPATIBLE: [&str; 2] = ["--compat", "attachment-path"];

/// Server of files on loopback. It records the target of each request.
struct FileServer {
    address: SocketAddr,
    targets: Arc<Mutex<Vec<String>>>,
    is_stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl FileServer {
    /// Answers each request with the bytes that `respond` returns for its target.
    fn start(respond: impl Fn(&str) -> Vec<u8> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (targets, is_stopped) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (recorded, stopped) = (Arc::clone(&targets), Arc::clone(&is_stopped));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let mut stream = stream.unwrap();
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    if stream.read(&mut byte).unwrap_or(0) == 0 {
                        break;
                    }
                    head.extend_from_slice(&byte);
                }
                let head = String::from_utf8(head).unwrap();
                let Some(target) = head.split(' ').nth(1) else { continue };
                recorded.lock().unwrap().push(target.to_owned());
                // The client may close the connection before it has the whole file.
                let _ = stream.write_all(&respond(target));
            }
        });
        Self { address, targets, is_stopped, thread: Some(thread) }
    }

    fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.address)
    }

    fn targets(&self) -> Vec<String> {
        self.targets.lock().unwrap().clone()
    }
}

impl Drop for FileServer {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        // The connection ends the wait for the next one.
        let _ = TcpStream::connect(self.address);
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking(), "the file server panicked");
    }
}

fn ok(content_type: &str, content: &str) -> Vec<u8> {
    let length = content.len();
    format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n{content}").into_bytes()
}

/// Returns the attachments of an email with their content.
fn attachments(server: &TestServer, id: &str) -> Vec<Value> {
    let list = server.get(&format!("/emails/{id}/attachments")).ok(200);
    let ids = list["data"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap());
    ids.map(|attachment| server.get(&format!("/emails/{id}/attachments/{attachment}")).ok(200)).collect()
}

#[test]
fn a_file_is_fetched_once_and_stored_with_its_name_and_type() {
    let files = FileServer::start(|target| match target {
        "/moved" => b"HTTP/1.1 302 Found\r\nLocation: /files/Bericht%20M%C3%A4rz.pdf\r\n\r\n".to_vec(),
        _ => ok("image/png", "Hi"),
    });
    let server = TestServer::start_with(&COMPATIBLE);

    let id = server.send(&json!({ "attachments": [
        { "path": files.url("/moved") },
        { "filename": "a.txt", "content": "YQ==", "path": "" },
        { "path": files.url("/image?size=1"), "filename": "logo", "content_id": null },
        { "path": files.url("/"), "content_type": "application/x-own" },
    ] }));

    let stored: Vec<Value> = attachments(&server, &id)
        .iter()
        .map(|file| json!([file["filename"], file["content_type"], file["content"], file["size"]]))
        .collect();
    assert_eq!(
        stored,
        [
            json!(["Bericht März.pdf", "application/pdf", "SGk=", 2]),
            json!(["a.txt", "text/plain", "YQ==", 1]),
            json!(["logo", "image/png", "SGk=", 2]),
            json!(["attachment-4", "application/x-own", "SGk=", 2]),
        ]
    );
    server.wait_for(&id, "delivered");
    assert_eq!(files.targets(), ["/moved", "/files/Bericht%20M%C3%A4rz.pdf", "/image?size=1", "/"]);
}

#[test]
fn a_replay_fetches_nothing() {
    let files = FileServer::start(|_| ok("text/plain", "Hi"));
    let server = TestServer::start_with(&COMPATIBLE);
    let one = email(&json!({ "attachments": [{ "path": files.url("/a.txt") }] }));
    for (path, body) in [("/emails", one.clone()), ("/emails/batch", json!([one.clone(), one]))] {
        let body = body.to_string();
        let send =
            || server.call("POST", path, server.key(), &[("idempotency-key", "k")], Some(body.as_bytes())).ok(200);
        let first = send();
        let fetched = files.targets().len();

        assert_eq!(send(), first);
        assert_eq!(files.targets().len(), fetched, "{path}");
    }
    assert_eq!(files.targets().len(), 3);
}

#[test]
fn a_file_that_cannot_be_fetched_is_refused_with_the_reason() {
    let files = FileServer::start(|target| match target {
        "/missing" => b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec(),
        "/private" => b"HTTP/1.1 302 Found\r\nLocation: http://10.0.0.1/a\r\n\r\n".to_vec(),
        "/metadata" => b"HTTP/1.1 301 Moved\r\nLocation: http://169.254.169.254/latest/\r\n\r\n".to_vec(),
        "/loop" => b"HTTP/1.1 302 Found\r\nLocation: /loop\r\n\r\n".to_vec(),
        "/gzip" => b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx".to_vec(),
        "/short" => b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc".to_vec(),
        _ => b"not http\r\n\r\n".to_vec(),
    });
    let closed = ClosedPort::bind();
    let server = TestServer::start_with(&COMPATIBLE);
    for (path, reason) in [
        (files.url("/missing"), "the response has the status 404"),
        (files.url("/private"), "redirect to a URL that is not allowed: the URL's host is a private address"),
        (files.url("/metadata"), "redirect to a URL that is not allowed: the URL's host is a link-local address"),
        (files.url("/loop"), "there are more than 3 redirects"),
        (files.url("/gzip"), "the response has a `Content-Encoding`"),
        (files.url("/short"), "the response ended before the file was complete"),
        (files.url("/other"), "the response is not valid HTTP/1.1"),
        (format!("http://127.0.0.1:{}/", closed.number()), "no connection could be made"),
        ("http://10.0.0.1/a.txt".to_owned(), "the URL's host is a private address"),
        ("http://[fd00::1]/a.txt".to_owned(), "the URL's host is a unique local address"),
        ("http://user@example.com/".to_owned(), "the URL has a user name"),
        ("file:///etc/passwd".to_owned(), "begins with neither `https://` nor `http://`"),
        ("/etc/passwd".to_owned(), "this is no complete URL"),
    ] {
        let one = email(&json!({ "attachments": [{ "filename": "a", "content": "YQ==" }, { "path": path }] }));

        let refused = server.post("/emails", &one).refusal();
        let start =
            "422 validation_error: Invalid `attachments` field: entry 1 has a `path` that could not be fetched: ";
        assert!(refused.starts_with(start) && refused.contains(reason), "{path}: {refused}");
        let refused = server.post("/emails/batch", &json!([email(&json!({})), one])).refusal();
        assert!(refused.starts_with("422 validation_error: emails.1: Invalid `attachments`"), "{path}: {refused}");
    }
    for (attachment, reason) in [
        (json!({ "path": "https://example.com/", "content": "YQ==" }), "entry 0 has a `path` and `content`"),
        (json!({ "path": "" }), "entry 0 has neither `content` nor `path`"),
        (json!({ "path": 5 }), "entry 0 has a `path` that is not a text"),
        (json!({ "path": { "a": [1] } }), "entry 0 has a `path` that is not a text"),
    ] {
        let refused = server.post("/emails", &email(&json!({ "attachments": [attachment] }))).refusal();
        assert!(refused.starts_with("422 ") && refused.contains(reason), "{refused}");
    }
    assert_eq!(server.stored_emails(), 0);
}

#[test]
fn a_permissive_batch_lists_the_items_whose_files_cannot_be_fetched() {
    let files = FileServer::start(|target| match target {
        "/missing" => b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec(),
        _ => ok("text/plain", "Hi"),
    });
    let server = TestServer::start_with(&COMPATIBLE);
    let with = |path: &str| email(&json!({ "attachments": [{ "path": files.url(path) }] }));
    let batch = json!([with("/a"), with("/missing"), email(&json!({ "to": "nobody" })), with("/b")]).to_string();

    let headers = [("x-batch-validation", "permissive")];
    let sent = server.call("POST", "/emails/batch", server.key(), &headers, Some(batch.as_bytes())).ok(200);

    assert_eq!(sent["data"].as_array().unwrap().len(), 2);
    let errors: Vec<&Value> = sent["errors"].as_array().unwrap().iter().map(|error| &error["index"]).collect();
    assert_eq!(errors, [1, 2]);
    assert!(sent["errors"][0]["message"].as_str().unwrap().contains("status 404"), "{sent}");
}

#[test]
fn fetched_bytes_count_against_the_limits_of_attachments_and_bodies() {
    let half_mib = "x".repeat(512 * 1024);
    let files = FileServer::start(move |target| match target {
        "/endless" => format!("HTTP/1.1 200 OK\r\n\r\n{half_mib}{half_mib}{half_mib}").into_bytes(),
        _ => ok("text/plain", &half_mib),
    });
    let path = |target: &str| json!({ "path": files.url(target) });
    let limited = TestServer::start_with(&["--compat", "all", "--attachment-mb", "1"]);
    limited.send(&json!({ "attachments": [path("/a"), path("/b")] }));
    for attachments in [
        json!([path("/a"), path("/b"), { "content": "YQ==" }]),
        json!([{ "content": "YQ==" }, path("/a"), path("/b")]),
        json!([path("/endless")]),
    ] {
        let refused = limited.post("/emails", &email(&json!({ "attachments": attachments }))).refusal();
        let sentence = "the attachments are larger than 1048576 bytes together, the most that one email takes.";
        assert_eq!(refused, format!("422 validation_error: Invalid `attachments` field: {sentence}"));
    }

    let batch = json!([
        email(&json!({ "attachments": [path("/a"), path("/b")] })),
        email(&json!({ "attachments": [path("/a")] })),
    ]);
    let one_mib = TestServer::start_with(&["--compat", "all", "--body-mb", "1", "--body-budget-mb", "4"]);
    let refused = one_mib.post("/emails/batch", &batch).refusal();
    let sentence =
        "emails.1: Invalid `attachments` field: the files of the request are larger than 1048576 bytes together.";
    assert_eq!(refused, format!("422 validation_error: {sentence}"));

    let small = TestServer::start_with(&["--compat", "all", "--body-mb", "1", "--body-budget-mb", "1"]);
    let two = email(&json!({ "attachments": [path("/a"), path("/b")] }));
    let refused = small.post("/emails", &two).refusal();
    assert!(
        refused.starts_with("503 service_unavailable: The server has no memory for further request bodies"),
        "{refused}"
    );
    assert_eq!(small.stored_emails(), 0);
    // The memory is free again.
    small.send(&json!({ "attachments": [path("/a")] }));
}

#[test]
fn a_request_fetches_at_most_100_files() {
    let files = FileServer::start(|_| ok("text/plain", "Hi"));
    let server = TestServer::start_with(&COMPATIBLE);
    let one = |count: usize| email(&json!({ "attachments": vec![json!({ "path": files.url("/a") }); count] }));

    let refused = server.post("/emails/batch", &json!([one(60), one(41)])).refusal();

    let sentence = "emails.1: Invalid `attachments` field: the request has more than 100 attachments with a `path`.";
    assert_eq!(refused, format!("422 validation_error: {sentence}"));
    assert_eq!(files.targets(), [""; 0]);
    server.post("/emails/batch", &json!([one(60), one(40)])).ok(200);
}

#[test]
fn a_request_with_a_url_that_is_not_allowed_fetches_no_file() {
    let files = FileServer::start(|_| ok("text/plain", "Hi"));
    let server = TestServer::start_with(&["--compat", "attachment-path", "--webhook-allow-address", "10.0.0.0/8"]);
    let with = |paths: &[&str]| {
        let attachments: Vec<Value> = paths.iter().map(|path| json!({ "path": path })).collect();
        email(&json!({ "attachments": attachments }))
    };
    let (file, private) = (files.url("/a"), "http://10.0.0.1/a");

    let one = server.post("/emails", &with(&[&file, private])).refusal();
    let batch = server.post("/emails/batch", &json!([with(&[&file]), with(&[private])])).refusal();

    for refused in [one, batch] {
        assert!(refused.contains("the URL's host is a private address"), "{refused}");
    }
    assert_eq!(files.targets(), [""; 0]);
}

#[test]
fn a_send_that_its_key_or_its_content_forbids_fetches_no_file() {
    let files = FileServer::start(|_| ok("text/plain", "Hi"));
    let server = TestServer::start_with(&["--compat", "all", "--domain", "example.com", "--domain", "other.example"]);
    server.suppress("gone@example.net", SuppressionOrigin::Bounce);
    let scoped = server.create_key(&json!({ "name": "Scoped", "domain_id": server.domain_id("other.example") }));
    let topic = "0190a6c0-0000-7000-8000-000000000001";
    for (key, fields, refusal) in [
        (
            server.key(),
            json!({ "from": "a@example.org" }),
            "403 validation_error: The example.org domain is not verified.",
        ),
        (scoped.as_str(), json!({}), "403 restricted_api_key: This API key is restricted to another domain."),
        (server.key(), json!({ "topic_id": topic }), "404 not_found: Topic not found"),
        (server.key(), json!({ "to": "gone@example.net" }), "422 all_recipients_suppressed: All recipients"),
    ] {
        let mut one = email(&fields);
        one["attachments"] = json!([{ "path": files.url("/a") }]);

        let refused = server.call("POST", "/emails", key, &[], Some(one.to_string().as_bytes())).refusal();

        assert!(refused.starts_with(refusal), "{fields}: {refused}");
        let batch = json!([email(&json!({ "from": "a@other.example" })), one]).to_string();
        let refused = server.call("POST", "/emails/batch", key, &[], Some(batch.as_bytes())).refusal();
        assert!(refused.contains(" emails.1: "), "{fields}: {refused}");
    }
    let suppressed = email(&json!({ "to": "gone@example.net", "attachments": [{ "path": files.url("/a") }] }));
    let batch = json!([suppressed, email(&json!({}))]).to_string();
    let headers = [("x-batch-validation", "permissive")];
    let sent = server.call("POST", "/emails/batch", server.key(), &headers, Some(batch.as_bytes())).ok(200);
    assert_eq!(sent["errors"], json!([{ "index": 0, "message": "All recipients are suppressed" }]));
    assert_eq!(files.targets(), [""; 0]);
}

#[test]
fn a_repeat_during_the_fetch_is_a_conflict_and_fetches_nothing() {
    let (arrived_tx, arrived) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let files = FileServer::start(move |_| {
        arrived_tx.send(()).expect("the test waits for the request");
        // The sender is dropped to release all responses.
        let _ = released.recv();
        ok("text/plain", "Hi")
    });
    let server = TestServer::start_with(&COMPATIBLE);
    let send = |target: &str| {
        let body = email(&json!({ "attachments": [{ "path": files.url(target) }] })).to_string();
        server.call("POST", "/emails", server.key(), &[("idempotency-key", "k")], Some(body.as_bytes()))
    };

    let first = std::thread::scope(|scope| {
        let first = scope.spawn(|| send("/a"));
        arrived.recv().expect("the first request fetches its file");
        let repeats = [send("/a").refusal(), send("/b").refusal()];
        drop(release);
        assert!(repeats[0].starts_with("409 concurrent_idempotent_requests: "), "{}", repeats[0]);
        assert!(repeats[1].starts_with("409 invalid_idempotent_request: "), "{}", repeats[1]);
        first.join().unwrap().ok(200)
    });

    assert_eq!(send("/a").ok(200), first);
    assert_eq!(files.targets(), ["/a"]);
}

#[test]
fn a_failed_item_of_a_permissive_batch_frees_its_memory_and_counts_its_bytes() {
    let (half_mib, rest) = ("x".repeat(512 * 1024), "x".repeat(64 * 1024));
    let files = FileServer::start(move |target| match target {
        "/missing" => b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec(),
        "/short" => format!("HTTP/1.1 200 OK\r\nContent-Length: 700000\r\n\r\n{half_mib}{rest}").into_bytes(),
        _ => ok("text/plain", &half_mib),
    });
    let with = |targets: &[&str]| {
        let attachments: Vec<Value> = targets.iter().map(|target| json!({ "path": files.url(target) })).collect();
        email(&json!({ "attachments": attachments }))
    };
    let send = |server: &TestServer, batch: Value| {
        let headers = [("x-batch-validation", "permissive")];
        server.call("POST", "/emails/batch", server.key(), &headers, Some(batch.to_string().as_bytes())).ok(200)
    };
    let server = TestServer::start_with(&["--compat", "all", "--body-mb", "1", "--body-budget-mb", "1"]);

    let freed = send(&server, json!([with(&["/a", "/missing"]), with(&["/a"])]));
    let counted = send(&server, json!([with(&["/short"]), with(&["/a"])]));

    assert_eq!((freed["data"].as_array().unwrap().len(), &freed["errors"][0]["index"]), (1, &json!(0)), "{freed}");
    let messages: Vec<&str> =
        counted["errors"].as_array().unwrap().iter().map(|error| error["message"].as_str().unwrap()).collect();
    assert!(messages[0].contains("ended before the file was complete"), "{counted}");
    assert!(messages[1].contains("the files of the request are larger than 1048576 bytes"), "{counted}");
}

#[test]
fn a_path_is_refused_by_default_and_never_requested() {
    let files = FileServer::start(|_| ok("text/plain", "Hi"));
    for attachment in [json!({ "path": files.url("/a") }), json!({ "path": files.url("/a"), "content": "YQ==" })] {
        assert_send_refused_without("attachment-path", &json!({ "attachments": [attachment] }));
    }
    assert_eq!(files.targets(), [""; 0]);
}
