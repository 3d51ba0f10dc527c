//! `/segments` and `/audiences`.

mod audiences;
mod contacts;
mod create;
mod delete;
mod filters;
mod read;
mod update;

use serde_json::{Value, json};

use crate::support::TestServer;

/// An id that nothing has.
const NOBODY: &str = "/segments/0190a6c0-0000-7000-8000-000000000009";

/// Makes a segment and returns its id.
#[track_caller]
fn create(server: &TestServer, filter: &Value) -> String {
    id(&server.post("/segments", &json!({ "name": "Some", "filter": filter })).ok(201))
}

/// Makes a contact that is called so and returns its id.
#[track_caller]
fn contact(server: &TestServer, name: &str, fields: &Value) -> String {
    let mut contact = json!({ "email": format!("{}@example.com", name.to_lowercase()), "first_name": name });
    for (field, value) in fields.as_object().unwrap() {
        contact[field] = value.clone();
    }
    id(&server.post("/contacts", &contact).ok(201))
}

#[track_caller]
fn id(made: &Value) -> String {
    made["id"].as_str().unwrap().to_owned()
}

/// Returns a filter of one condition.
fn one(field: &str, op: &str, value: &Value) -> Value {
    json!({ "match": "all", "conditions": [{ "field": field, "op": op, "value": value }] })
}

/// Returns the first names of the contacts of a list, in its order.
#[track_caller]
fn names(server: &TestServer, path: &str) -> Vec<String> {
    let list = server.get(path).ok(200);
    let name = |contact: &Value| contact["first_name"].as_str().unwrap().to_owned();
    list["data"].as_array().unwrap().iter().map(name).collect()
}

#[track_caller]
fn count(server: &TestServer, segment: &str) -> u64 {
    server.get(&format!("/segments/{segment}")).ok(200)["contact_count"].as_u64().unwrap()
}
