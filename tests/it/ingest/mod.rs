//! Delivery reports through `/ingest/events` and `/ingest/message`: authentication and effects.

mod access;
mod events;
mod in_flight;
mod message;
mod timing;

use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use ringmail::tables::INGESTED;
use serde_json::Value;
use sha2::Sha256;

use crate::support::{ApiResponse, TestServer};

pub(crate) const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Return path in the messages of `tests/fixtures/reports`.
const FIXTURE_RETURN_PATH: &str = "b+agny23pzwbyabaaaaaaaaaaaaiaaa.k3mzq7ya@send.example.com";
/// Email id in the messages of `tests/fixtures/reports`.
const FIXTURE_EMAIL: &str = "019b8d6d-f9b0-7000-8000-000000000002";

/// Starts a server that accepts delivery reports.
pub(crate) fn server() -> TestServer {
    TestServer::start_with(&["--ingest-secret", SECRET])
}

/// Returns the signature of a body with [`SECRET`]. Does not use the code under test.
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

/// Posts a body with the `webhook-id` `id`, signed with the current time.
pub(crate) fn post(server: &TestServer, path: &str, id: &str, body: &[u8]) -> ApiResponse {
    let timestamp_s = server.context().now_ms() / 1_000;
    let (timestamp, signature) = (timestamp_s.to_string(), signature(id, timestamp_s, body));
    let headers = [("webhook-id", id), ("webhook-timestamp", &timestamp), ("webhook-signature", &signature)];
    server.call("POST", path, "", &headers, Some(body))
}

/// Returns a `webhook-id` that no other request of this process uses.
pub(crate) fn fresh_id() -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    format!("msg_{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Posts events, and returns the numbers of accepted and ignored events.
#[track_caller]
pub(crate) fn report(server: &TestServer, events: &Value) -> (u64, u64) {
    counts(post(server, "/ingest/events", &fresh_id(), events.to_string().as_bytes()))
}

/// Posts a message, and returns the numbers of accepted and ignored reports.
#[track_caller]
fn report_message(server: &TestServer, message: &str) -> (u64, u64) {
    counts(post(server, "/ingest/message", &fresh_id(), message.as_bytes()))
}

#[track_caller]
fn counts(response: ApiResponse) -> (u64, u64) {
    let response = response.ok(200);
    assert_eq!(response["object"], "ingest");
    assert_eq!(response.as_object().unwrap().len(), 3, "{response}");
    (response["accepted"].as_u64().unwrap(), response["ignored"].as_u64().unwrap())
}

/// Sends an email to one address and waits until it is delivered. Returns the id.
pub(crate) fn deliver(server: &TestServer, to: &str) -> String {
    let id = server.send(&serde_json::json!({ "to": to }));
    server.wait_for(&id, "delivered");
    id
}

/// Returns a message of `tests/fixtures/reports` with another email id and return path.
fn fixture(name: &str, email: &str, return_path: &str) -> String {
    let path = format!("{}/tests/fixtures/reports/{name}.eml", env!("CARGO_MANIFEST_DIR"));
    let message = std::fs::read_to_string(path).unwrap();
    message.replace(FIXTURE_RETURN_PATH, return_path).replace(FIXTURE_EMAIL, email)
}

/// Returns the return path of the captured message to a recipient.
fn return_path(server: &TestServer, to: &str) -> String {
    let has_recipient = |recipients: &[String]| recipients.iter().any(|recipient| recipient == to);
    let captured = server.captured_messages().into_iter().find(|(row, _)| has_recipient(&row.recipients));
    captured.expect("the mailbox has a message to the recipient").0.sender
}

/// Returns the number of stored deduplication keys.
fn dedup_key_count(server: &TestServer) -> usize {
    server.row_count(&INGESTED, &(0, [0; 32]), &(u32::MAX, [0xff; 32]))
}

/// Returns the types of the events of an email, oldest first.
fn event_types(email: &Value) -> Vec<&str> {
    email["events"].as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// Returns the address and status of each recipient.
fn statuses(email: &Value) -> Vec<(&str, &str)> {
    let recipients = email["recipients"].as_array().unwrap();
    recipients.iter().map(|row| (row["email"].as_str().unwrap(), row["last_event"].as_str().unwrap())).collect()
}
