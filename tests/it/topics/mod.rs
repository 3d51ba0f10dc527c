//! `/topics`.

mod create;
mod delete;
mod list;
mod update;

use serde_json::{Value, json};

use crate::support::TestServer;

/// Path of a topic that does not exist.
const UNKNOWN: &str = "/topics/0190a6c0-0000-7000-8000-000000000001";

/// Creates a topic and returns its path. `fields` are added to the required fields or replace them.
#[track_caller]
fn create(server: &TestServer, fields: &Value) -> String {
    let mut topic = json!({ "name": "News", "default_subscription": "opt_in" });
    for (name, value) in fields.as_object().unwrap() {
        topic[name] = value.clone();
    }
    let created = server.post("/topics", &topic).ok(201);
    format!("/topics/{}", created["id"].as_str().unwrap())
}
