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

/// Path of a segment that does not exist.
const UNKNOWN: &str = "/segments/0190a6c0-0000-7000-8000-000000000009";

/// Creates a segment and returns its id.
#[track_caller]
fn create(server: &TestServer, filter: &Value) -> String {
    id(&server.post("/segments", &json!({ "name": "Some", "filter": filter })).ok(201))
}

/// Creates a contact with the first name `name` and an address from it. Returns the id.
#[track_caller]
fn create_contact(server: &TestServer, name: &str, fields: &Value) -> String {
    let mut contact = json!({ "email": format!("{}@example.com", name.to_lowercase()), "first_name": name });
    for (field, value) in fields.as_object().unwrap() {
        contact[field] = value.clone();
    }
    id(&server.post("/contacts", &contact).ok(201))
}

#[track_caller]
fn id(created: &Value) -> String {
    created["id"].as_str().unwrap().to_owned()
}

/// Returns a filter with one condition.
fn one_condition(field: &str, op: &str, value: &Value) -> Value {
    json!({ "match": "all", "conditions": [{ "field": field, "op": op, "value": value }] })
}

/// Returns the first names of the contacts in a list, in list order.
#[track_caller]
fn first_names(server: &TestServer, path: &str) -> Vec<String> {
    let list = server.get(path).ok(200);
    let name = |contact: &Value| contact["first_name"].as_str().unwrap().to_owned();
    list["data"].as_array().unwrap().iter().map(name).collect()
}

#[track_caller]
fn contact_count(server: &TestServer, segment: &str) -> u64 {
    server.get(&format!("/segments/{segment}")).ok(200)["contact_count"].as_u64().unwrap()
}
