//! `/broadcasts`.

mod create;
mod drafts;
mod keys;
mod pacing;
mod read;
mod recipients;
mod send;
mod targets;

use serde_json::{Value, json};

use crate::support::TestServer;

/// Path of a broadcast that does not exist.
const UNKNOWN: &str = "/broadcasts/0190a6c0-0000-7000-8000-000000000001";

/// Returns the body of a broadcast that can be sent. `fields` are added to its fields or replace them.
fn broadcast(fields: &Value) -> Value {
    let mut broadcast = json!({ "from": "Acme <news@example.com>", "subject": "June", "text": "Hi" });
    for (name, value) in fields.as_object().unwrap() {
        broadcast[name] = value.clone();
    }
    broadcast
}

/// Creates a broadcast and returns its path.
#[track_caller]
fn create(server: &TestServer, fields: &Value) -> String {
    let created = server.post("/broadcasts", &broadcast(fields)).ok(201);
    format!("/broadcasts/{}", created["id"].as_str().unwrap())
}

/// Creates a broadcast that is scheduled for the next day, and returns its path.
#[track_caller]
fn schedule(server: &TestServer) -> String {
    create(server, &json!({ "send": true, "scheduled_at": "in 1 day" }))
}

#[track_caller]
fn status(server: &TestServer, path: &str) -> String {
    server.get(path).ok(200)["status"].as_str().unwrap().to_owned()
}

fn id(path: &str) -> &str {
    path.split('/').nth(2).unwrap()
}
