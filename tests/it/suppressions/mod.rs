//! The endpoints of the suppression list and the events about it.

mod batch;
mod list;
mod one;

use serde_json::{Value, json};

use crate::support::TestServer;

/// Id of a suppression that does not exist.
const UNKNOWN_ID: &str = "0190a6c0-0000-7000-8000-000000000001";

/// Adds an address to the list and returns the id of the entry.
#[track_caller]
fn add_suppression(server: &TestServer, email: &str, origin: &str) -> String {
    let entry = server.post("/suppressions", &json!({ "email": email, "origin": origin })).ok(201);
    entry["id"].as_str().unwrap().to_owned()
}

/// Returns the payloads of the suppression events, oldest first.
fn suppression_events(server: &TestServer) -> Vec<Value> {
    let about_the_list = |event: &Value| event["type"].as_str().unwrap().starts_with("suppression.");
    server.audience_events().into_iter().filter(about_the_list).collect()
}

/// Returns type and address of the suppression events, oldest first.
fn suppression_event_summaries(server: &TestServer) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    suppression_events(server).iter().map(|event| (text(&event["type"]), text(&event["data"]["email"]))).collect()
}
