//! `/contacts` and the events about contacts.

mod batch;
mod create;
mod delete;
mod get;
mod list;
mod properties;
mod segments;
mod sends;
mod topics;
mod update;

use serde_json::{Value, json};

use crate::support::TestServer;

/// Valid id of a resource that does not exist.
const UNKNOWN_ID: &str = "0190a6c0-0000-7000-8000-000000000001";

/// Creates a contact and returns the response.
#[track_caller]
fn create(server: &TestServer, email: &str, fields: &Value) -> Value {
    let mut contact = json!({ "email": email });
    contact.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    server.post("/contacts", &contact).ok(201)
}

/// Returns the field `id` of a resource.
#[track_caller]
fn id(resource: &Value) -> &str {
    resource["id"].as_str().unwrap()
}

#[track_caller]
fn create_topic(server: &TestServer, name: &str, default_subscription: &str) -> String {
    let topic = json!({ "name": name, "default_subscription": default_subscription });
    id(&server.post("/topics", &topic).ok(201)).to_owned()
}

#[track_caller]
fn create_segment(server: &TestServer, name: &str) -> String {
    id(&server.post("/segments", &json!({ "name": name })).ok(201)).to_owned()
}

#[track_caller]
fn create_property(server: &TestServer, key: &str, kind: &str) -> String {
    id(&server.post("/contact-properties", &json!({ "key": key, "type": kind })).ok(201)).to_owned()
}

/// Returns the subscriptions of a contact as `(topic, subscription, explicit)`, newest topic first.
#[track_caller]
fn topic_choices(server: &TestServer, id_or_email: &str) -> Vec<(String, String, bool)> {
    let list = server.get(&format!("/contacts/{id_or_email}/topics")).ok(200);
    let row = |row: &Value| {
        let subscription = row["subscription"].as_str().unwrap().to_owned();
        (id(row).to_owned(), subscription, row["explicit"].as_bool().unwrap())
    };
    list["data"].as_array().unwrap().iter().map(row).collect()
}

/// Returns all contacts with properties and topics, and the number of audience events. Tests compare it before
/// and after a request that must change nothing.
fn audience_state(server: &TestServer) -> (Value, usize) {
    let list = server.get("/contacts?limit=100&include=properties,topics").ok(200);
    (list, server.audience_events().len())
}

/// Returns the types of the audience events after the first `before` events.
fn event_types_since(server: &TestServer, before: usize) -> Vec<String> {
    let name = |event: &Value| event["type"].as_str().unwrap().to_owned();
    server.audience_events().iter().skip(before).map(name).collect()
}

#[test]
fn contacts_require_a_full_access_key() {
    let server = TestServer::start();
    let key = server.create_sending_key();
    let one = format!("/contacts/{}", id(&create(&server, "ada@example.net", &json!({}))));
    let before = audience_state(&server);
    for (method, path) in [
        ("GET", "/contacts".to_owned()),
        ("POST", "/contacts".to_owned()),
        ("GET", one.clone()),
        ("PATCH", one.clone()),
        ("DELETE", one.clone()),
        ("DELETE", "/contacts/ada@example.net?erase=true".to_owned()),
        ("GET", format!("{one}/topics")),
        ("PATCH", format!("{one}/topics")),
        ("GET", format!("{one}/segments")),
        ("POST", format!("{one}/segments/{UNKNOWN_ID}")),
        ("DELETE", format!("{one}/segments/{UNKNOWN_ID}")),
        ("POST", "/contacts/batch".to_owned()),
        ("POST", "/contacts/batch/get".to_owned()),
        ("POST", "/contacts/batch/remove".to_owned()),
    ] {
        assert_eq!(server.call(method, &path, "", &[], None).status, 401, "{method} {path}");
        let refused = server.call(method, &path, &key, &[], None);
        refused.refused(403, "restricted_api_key", "This API key is restricted to only send emails");
    }
    assert_eq!(audience_state(&server), before);
}

#[test]
fn every_response_has_the_fields_that_typed_sdks_require() {
    let server = TestServer::start();
    let (news, everyone) = (create_topic(&server, "News", "opt_in"), create_segment(&server, "Everyone"));
    let has = |response: &Value, fields: &[&str]| {
        for field in fields {
            assert!(!response[field].is_null(), "`{field}` of {response}");
        }
    };
    const CONTACT: &[&str] = &["id", "email", "unsubscribed", "created_at"];

    let created = create(&server, "ada@example.net", &json!({}));
    has(&created, CONTACT);
    let one = format!("/contacts/{}", id(&created));
    has(&server.get(&one).ok(200), CONTACT);
    has(&server.patch(&one, &json!({})).ok(200), CONTACT);
    let choices = json!([{ "id": news, "subscription": "opt_out" }]);
    has(&server.patch(&format!("{one}/topics"), &choices).ok(200), &["id", "contact_id", "topics"]);
    let joined = server.post(&format!("{one}/segments/{everyone}"), &json!({})).ok(200);
    has(&joined, &["id", "contact_id", "segment_id"]);
    for (path, fields) in [
        ("/contacts".to_owned(), CONTACT),
        (format!("{one}/topics"), &["id", "name", "subscription", "created_at"]),
        (format!("{one}/segments"), &["id", "name", "created_at"]),
    ] {
        let list = server.get(&path).ok(200);
        has(&list, &["has_more", "data"]);
        has(&list["data"][0], fields);
    }
    let left = server.delete(&format!("{one}/segments/{everyone}")).ok(200);
    has(&left, &["id", "contact_id", "segment_id", "deleted"]);
    has(&server.delete(&one).ok(200), &["id", "contact", "deleted"]);
}
