//! `POST /templates/{id}/publish`, and the version that sends use.

use std::time::Duration;

use serde_json::{Value, json};

use super::{create, with_receipt};
use crate::support::TestServer;

#[test]
fn only_the_published_version_is_sent() {
    let server = TestServer::start();
    let path = create(&server, &json!({ "alias": "receipt", "subject": "Hi", "html": "<p>One</p>" }));
    let sent_html = || {
        let id = server.post("/emails", &with_receipt(&json!({}))).ok(200)["id"].as_str().unwrap().to_owned();
        server.get(&format!("/emails/{id}")).ok(200)["html"].clone()
    };
    let message =
        "Invalid `template` field: the template is not published. Publish it with `POST /templates/{id}/publish`.";
    server.post("/emails", &with_receipt(&json!({}))).refused(422, "validation_error", message);

    let published = server.post(&format!("{path}/publish"), &json!({})).ok(200);
    assert_eq!(published, json!({ "object": "template", "id": server.get(&path).ok(200)["id"] }));
    assert_eq!(sent_html(), "<p>One</p>");
    server.patch(&path, &json!({ "html": "<p>Two</p>" })).ok(200);
    assert_eq!(sent_html(), "<p>One</p>");
    server.post("/templates/receipt/publish", &json!({})).ok(200);
    assert_eq!(sent_html(), "<p>Two</p>");
    server.patch(&path, &json!({ "name": "New" })).ok(200);
    assert_eq!(sent_html(), "<p>Two</p>");
}

#[test]
fn the_state_of_the_versions_is_shown() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));
    let state = || {
        let read = server.get(&path).ok(200);
        (read["status"].clone(), read["has_unpublished_versions"].clone(), read["published_at"].clone())
    };
    let publish = || server.post(&format!("{path}/publish"), &json!({})).ok(200);
    assert_eq!(state(), (json!("draft"), json!(true), Value::Null));

    publish();
    let (status, has_unpublished, first) = state();
    assert_eq!((status, has_unpublished), (json!("published"), json!(false)));
    assert!(first.is_string());
    server.advance(Duration::from_secs(1));
    publish();
    assert_eq!(state(), (json!("published"), json!(false), first.clone()));

    server.patch(&path, &json!({ "text": "New" })).ok(200);
    assert_eq!(state(), (json!("published"), json!(true), first.clone()));
    publish();
    let (_, has_unpublished, second) = state();
    assert_eq!(has_unpublished, json!(false));
    assert!(second.as_str() > first.as_str());
}

#[test]
fn an_accepted_email_keeps_its_content() {
    let server = TestServer::start();
    let path = create(&server, &json!({ "alias": "receipt", "subject": "Hi", "html": "<p>One</p>" }));
    server.post(&format!("{path}/publish"), &json!({})).ok(200);
    let mut scheduled = with_receipt(&json!({}));
    scheduled["scheduled_at"] = json!("in 1 hour");
    let id = server.post("/emails", &scheduled).ok(200)["id"].as_str().unwrap().to_owned();

    server.patch(&path, &json!({ "html": "<p>Two</p>" })).ok(200);
    server.post(&format!("{path}/publish"), &json!({})).ok(200);
    server.delete(&path).ok(200);
    server.advance(Duration::from_secs(3_600));

    assert_eq!(server.wait_for(&id, "delivered")["html"], "<p>One</p>");
    server.post("/emails", &with_receipt(&json!({}))).refused(404, "not_found", "Template not found");
}

#[test]
fn templates_outlive_a_restart() {
    let server = TestServer::start();
    let path = create(&server, &json!({ "alias": "receipt", "subject": "Hi", "text": "Hello" }));
    server.post(&format!("{path}/publish"), &json!({})).ok(200);
    server.patch(&path, &json!({ "html": "<p>Two</p>" })).ok(200);
    let before = server.get(&path).ok(200);

    let server = server.restart_with(&[]);

    assert_eq!(server.get("/templates/receipt").ok(200), before);
    let id = server.post("/emails", &with_receipt(&json!({}))).ok(200)["id"].as_str().unwrap().to_owned();
    assert_eq!(server.get(&format!("/emails/{id}")).ok(200)["html"], "<p>Hello</p>");
}
