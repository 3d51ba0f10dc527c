//! Changes of the audience by a user.

use serde_json::{Value, json};

use super::browser::{LiveStream, set_up};
use crate::support::TestServer;

/// Reads the next event with its source.
#[track_caller]
fn source(stream: &mut LiveStream) -> (String, Value) {
    let event = stream.next_event().expect("the stream is open");
    (event["type"].as_str().expect("a type").to_owned(), event["data"]["source"].clone())
}

#[test]
fn an_event_names_the_dashboard_as_the_source_of_a_change_by_a_user() {
    let server = TestServer::serve_with(&[]);
    let browser = set_up(&server);
    let mut stream = browser.events();

    server.post("/contacts", &json!({ "email": "key@example.net" })).ok(201);
    let created = browser.api("POST", "/contacts", Some(&json!({ "email": "ada@example.net" }))).json(201);
    let path = format!("/contacts/{}", created["id"].as_str().unwrap());
    browser.api("PATCH", &path, Some(&json!({ "unsubscribed": true }))).json(200);
    browser.api("DELETE", &path, None).json(200);
    browser.api("POST", "/suppressions", Some(&json!({ "email": "bob@example.net" }))).json(201);

    assert_eq!(source(&mut stream), ("contact.created".to_owned(), json!("api")));
    let mut left = vec!["suppression.added", "contact.deleted", "contact.unsubscribed", "contact.created"];
    while let Some(expected) = left.pop() {
        let (event_type, source) = source(&mut stream);
        assert_eq!(source, "dashboard", "{event_type}");
        // A contact that unsubscribes is also updated.
        if event_type == "contact.updated" {
            left.push(expected);
        } else {
            assert_eq!(event_type, expected);
        }
    }
}
