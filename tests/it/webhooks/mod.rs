//! `/webhooks`.

mod create;
mod events;
mod read;
mod rotate;
mod test;
mod update;

use serde_json::{Value, json};

use crate::support::TestServer;

/// Path of an endpoint that does not exist.
const UNKNOWN: &str = "/webhooks/0190a6c0-0000-7000-8000-00000000000a";
/// A valid signing secret.
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Returns the body of a minimal endpoint, with `fields` added or replaced. No test causes the event that the
/// endpoint subscribes to by default.
fn endpoint(fields: &Value) -> Value {
    let mut endpoint = json!({ "endpoint": "https://hooks.example/mail", "events": ["email.opened"] });
    for (name, value) in fields.as_object().unwrap() {
        endpoint[name] = value.clone();
    }
    endpoint
}

/// Creates an endpoint and returns its path.
#[track_caller]
fn create(server: &TestServer, fields: &Value) -> String {
    let created = server.post("/webhooks", &endpoint(fields)).ok(201);
    format!("/webhooks/{}", created["id"].as_str().unwrap())
}

/// Returns the id at the end of a path.
fn id(path: &str) -> &str {
    path.rsplit('/').next().unwrap()
}
