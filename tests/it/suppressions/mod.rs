//! The suppression list through its endpoints, and the events that tell of it.

mod batch;
mod list;
mod one;

use serde_json::{Value, json};

use crate::support::TestServer;

/// An id that nothing has.
const NOBODY: &str = "0190a6c0-0000-7000-8000-000000000001";

/// Lists an address and returns the id of its entry.
#[track_caller]
fn listed(server: &TestServer, email: &str, origin: &str) -> String {
    let entry = server.post("/suppressions", &json!({ "email": email, "origin": origin })).ok(201);
    entry["id"].as_str().unwrap().to_owned()
}

/// Returns the payloads of the suppression events, oldest first.
fn told(server: &TestServer) -> Vec<Value> {
    let about_the_list = |event: &Value| event["type"].as_str().unwrap().starts_with("suppression.");
    server.audience_events().into_iter().filter(about_the_list).collect()
}

/// Returns type and address of the suppression events, oldest first.
fn told_briefly(server: &TestServer) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    told(server).iter().map(|event| (text(&event["type"]), text(&event["data"]["email"]))).collect()
}
