//! `/topics`.

mod create;
mod delete;
mod list;
mod update;

use serde_json::{Value, json};

use crate::support::TestServer;

/// An id that nothing has.
const NOBODY: &str = "/topics/0190a6c0-0000-7000-8000-000000000001";

/// Makes a topic with `fields` over the required ones and returns its path.
#[track_caller]
fn create(server: &TestServer, fields: &Value) -> String {
    let mut topic = json!({ "name": "News", "default_subscription": "opt_in" });
    for (name, value) in fields.as_object().unwrap() {
        topic[name] = value.clone();
    }
    let made = server.post("/topics", &topic).ok(201);
    format!("/topics/{}", made["id"].as_str().unwrap())
}
