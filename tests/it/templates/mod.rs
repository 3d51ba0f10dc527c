//! `/templates`, and `template` in sends.

mod batch;
mod change;
mod create;
mod publish;
mod read;
mod send;
mod variables;

use serde_json::{Value, json};

use crate::support::TestServer;

/// Path of a template that does not exist.
const UNKNOWN: &str = "/templates/0190a6c0-0000-7000-8000-000000000001";

/// Creates a template and returns its path. `fields` are added to the required fields or replace them.
#[track_caller]
fn create(server: &TestServer, fields: &Value) -> String {
    let mut template = json!({ "name": "Receipt", "html": "<p>Hello</p>" });
    for (name, value) in fields.as_object().unwrap() {
        template[name] = value.clone();
    }
    let created = server.post("/templates", &template).ok(201);
    format!("/templates/{}", created["id"].as_str().unwrap())
}

/// Creates and publishes a template with the alias `receipt`.
#[track_caller]
fn publish(server: &TestServer, fields: &Value) -> String {
    let mut with_alias = json!({ "alias": "receipt" });
    with_alias.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let path = create(server, &with_alias);
    server.post(&format!("{path}/publish"), &json!({})).ok(200);
    path
}

/// Returns the body of an email with the template `receipt`.
fn with_receipt(variables: &Value) -> Value {
    json!({
        "from": "Acme <hello@example.com>", "to": "delivered@resend.dev",
        "template": { "id": "receipt", "variables": variables },
    })
}
