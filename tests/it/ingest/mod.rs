//! Reports of other systems through their two doors: who may knock, and what follows.

mod access;
mod events;
mod flight;
mod ladder;
mod message;

use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use ringmail::store::tables::INGESTED;
use ringmail::store::{NEXT, Order, Reads as _, StoreError};
use serde_json::Value;
use sha2::Sha256;

use crate::support::{ApiResponse, TestServer};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// The return path and the email that the messages of `tests/fixtures/reports` are about.
const FIXTURE_RETURN_PATH: &str = "b+agny23pzwbyabaaaaaaaaaaaaiaaa.k3mzq7ya@send.example.com";
const FIXTURE_EMAIL: &str = "019b8d6d-f9b0-7000-8000-000000000002";

/// Starts a server that takes reports.
pub(crate) fn server() -> TestServer {
    TestServer::start_with(&["--ingest-secret", SECRET])
}

/// Returns the signature of a body, made without the code under test.
fn signature(id: &str, timestamp_s: i64, body: &[u8]) -> String {
    signature_with(SECRET, id, timestamp_s, body)
}

fn signature_with(secret: &str, id: &str, timestamp_s: i64, body: &[u8]) -> String {
    let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(format!("{id}.{timestamp_s}.").as_bytes());
    mac.update(body);
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

/// Posts a body under an id, signed now.
fn post(server: &TestServer, path: &str, id: &str, body: &[u8]) -> ApiResponse {
    let timestamp_s = server.context().now_ms() / 1_000;
    let (timestamp, signature) = (timestamp_s.to_string(), signature(id, timestamp_s, body));
    let headers = [("webhook-id", id), ("webhook-timestamp", &timestamp), ("webhook-signature", &signature)];
    server.call("POST", path, "", &headers, Some(body))
}

/// Returns an id that no request had.
fn fresh_id() -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    format!("msg_{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Reports events, and returns how many something followed from and how many were ignored.
#[track_caller]
pub(crate) fn report(server: &TestServer, events: &Value) -> (u64, u64) {
    counts(post(server, "/ingest/events", &fresh_id(), events.to_string().as_bytes()))
}

/// Hands in a message, and returns the same.
#[track_caller]
fn hand_in(server: &TestServer, message: &str) -> (u64, u64) {
    counts(post(server, "/ingest/message", &fresh_id(), message.as_bytes()))
}

#[track_caller]
fn counts(answer: ApiResponse) -> (u64, u64) {
    let answer = answer.ok(200);
    assert_eq!(answer["object"], "ingest");
    assert_eq!(answer.as_object().unwrap().len(), 3, "{answer}");
    (answer["accepted"].as_u64().unwrap(), answer["ignored"].as_u64().unwrap())
}

/// Sends an email to one address and waits until it has been taken.
pub(crate) fn delivered(server: &TestServer, to: &str) -> String {
    let id = server.send(&serde_json::json!({ "to": to }));
    server.wait_for(&id, "delivered");
    id
}

/// Returns a message of `tests/fixtures/reports` as it would be about another email.
fn fixture(name: &str, email: &str, return_path: &str) -> String {
    let path = format!("{}/tests/fixtures/reports/{name}.eml", env!("CARGO_MANIFEST_DIR"));
    let message = std::fs::read_to_string(path).unwrap();
    message.replace(FIXTURE_RETURN_PATH, return_path).replace(FIXTURE_EMAIL, email)
}

/// Returns the return path under which an email reached the built-in mailbox.
fn return_path(server: &TestServer, to: &str) -> String {
    let captured = server.captured_messages().into_iter().find(|(row, _)| row.recipients.iter().any(|its| its == to));
    captured.expect("it is in the mailbox").0.sender
}

/// Returns how many marks of requests are stored.
fn marks(server: &TestServer) -> usize {
    let count = server.context().store.read_now::<_, StoreError>(|tx| {
        let mut count = 0;
        tx.scan(&INGESTED, &(0, [0; 32]), &(u32::MAX, [0xff; 32]), Order::Ascending, |_, _| {
            count += 1;
            NEXT
        })?;
        Ok(count)
    });
    count.unwrap()
}

/// Returns the types of an email's events, oldest first.
fn story(email: &Value) -> Vec<&str> {
    email["events"].as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// Returns each recipient with its status.
fn statuses(email: &Value) -> Vec<(&str, &str)> {
    let recipients = email["recipients"].as_array().unwrap();
    recipients.iter().map(|its| (its["email"].as_str().unwrap(), its["last_event"].as_str().unwrap())).collect()
}
