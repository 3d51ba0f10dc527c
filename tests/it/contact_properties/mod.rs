//! `/contact-properties`.

mod create;
mod delete;
mod list;
mod update;

use serde_json::Value;

use crate::support::TestServer;

/// Path of a property that does not exist.
const UNKNOWN: &str = "/contact-properties/0190a6c0-0000-7000-8000-000000000001";

/// Creates a property and returns its path.
#[track_caller]
fn create(server: &TestServer, property: &Value) -> String {
    let created = server.post("/contact-properties", property).ok(201);
    format!("/contact-properties/{}", created["id"].as_str().unwrap())
}
