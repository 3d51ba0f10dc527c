//! `RINGMAIL_COMPAT=requests`.

use ringmail::topics::Subscription;
use serde_json::{Value, json};

use super::assert_send_refused_without;
use crate::support::{TestServer, email};

const SETTING: &str = "start the server with `RINGMAIL_COMPAT=requests`";

#[test]
fn an_empty_text_equals_an_absent_field_of_an_email() {
    let server = TestServer::start_with(&["--compat", "requests"]);

    for empty in [json!(""), json!([""])] {
        let id = server.send(&json!({ "cc": empty, "bcc": empty, "reply_to": empty, "topic_id": "" }));

        let sent = server.get(&format!("/emails/{id}")).ok(200);
        assert_eq!([&sent["cc"], &sent["bcc"], &sent["reply_to"], &sent["topic_id"]], [&Value::Null; 4]);
    }
    let batch = json!([email(&json!({ "cc": "" }))]);
    server.post("/emails/batch", &batch).ok(200);
    for fields in [json!({ "to": "" }), json!({ "cc": ["", "a@example.net"] }), json!({ "topic_id": " " })] {
        let refused = server.post("/emails", &email(&fields)).refusal();
        assert!(refused.starts_with("422 validation_error: "), "{fields}: {refused}");
    }
}

#[test]
fn an_empty_text_is_refused_by_default() {
    for field in ["cc", "bcc", "reply_to", "topic_id"] {
        assert_send_refused_without("requests", &json!({ field: "" }));
    }
    let other = TestServer::start_with(&["--compat", "headers,events,inline-images,attachment-path"]);
    let refused = other.post("/emails", &email(&json!({ "cc": "" }))).refusal();
    assert!(refused.contains(SETTING), "{refused}");
}

#[test]
fn an_empty_text_does_not_change_the_order_of_refusals() {
    let server = TestServer::start();
    for (fields, first) in [
        (json!({ "to": "nobody", "cc": "", "reply_to": "" }), "Invalid `to` field"),
        (json!({ "cc": "", "bcc": "nobody" }), "Invalid `cc` field"),
        (json!({ "subject": "", "reply_to": "" }), "Invalid `reply_to` field"),
        (json!({ "topic_id": "x", "attachments": [{}] }), "Invalid `attachments` field"),
        (json!({ "topic_id": "x", "scheduled_at": "never" }), "Invalid `scheduled_at` field"),
        (
            json!({ "attachments": [{ "path": 5, "content_id": 5 }] }),
            "Invalid `attachments` field: entry 0 has a `path`",
        ),
    ] {
        let refused = server.post("/emails", &email(&fields)).refusal();

        assert!(refused.starts_with(&format!("422 validation_error: {first}")), "{fields}: {refused}");
    }
}

#[test]
fn a_segment_can_be_given_by_its_id_alone() {
    let server = TestServer::start_with(&["--compat", "requests"]);
    let segment = segment(&server);
    let forms = json!([segment, { "id": segment }]);

    let created = server.post("/contacts", &json!({ "email": "ada@example.net", "segments": forms })).ok(201);
    let batch = json!([{ "email": "bob@example.net", "segments": [segment] }]);
    server.post("/contacts/batch", &batch).ok(200);
    let path = format!("/audiences/{segment}/contacts");
    server.post(&path, &json!({ "email": "eve@example.net", "segments": [segment] })).ok(201);

    let joined = server.get(&format!("/contacts/{}/segments", created["id"].as_str().unwrap())).ok(200);
    assert_eq!(joined["data"][0]["id"], segment);
    assert_eq!(server.get(&path).ok(200)["data"].as_array().unwrap().len(), 3);
    let refused = server.post("/contacts", &json!({ "email": "a@example.net", "segments": ["x"] })).refusal();
    assert_eq!(refused, "422 validation_error: The `segments.0.id` must be a valid UUID.");
    for other in [json!(5), json!(["x"]), json!({ "id": segment, "name": "x" }), json!({})] {
        let refused = server.post("/contacts", &json!({ "email": "a@example.net", "segments": [other] })).refusal();
        assert!(refused.starts_with("422 "), "{other}: {refused}");
    }
}

#[test]
fn a_segment_by_its_id_alone_is_refused_by_default() {
    let server = TestServer::start();
    let segment = segment(&server);
    let contact = json!({ "email": "ada@example.net", "segments": [segment] });

    for (path, body) in [
        ("/contacts".to_owned(), contact.clone()),
        (format!("/audiences/{segment}/contacts"), contact.clone()),
        ("/contacts/batch".to_owned(), json!([contact])),
    ] {
        let refused = server.post(&path, &body).refusal();

        assert!(refused.contains("Invalid `segments[0]` field: invalid type: string"), "{path}: {refused}");
        assert!(refused.contains(SETTING), "{path}: {refused}");
    }
    assert_eq!(server.get("/contacts").ok(200)["data"], json!([]));
}

#[test]
fn topic_choices_can_be_wrapped_in_an_object() {
    let server = TestServer::start_with(&["--compat", "all"]);
    let topic = server.add_topic(Subscription::OptIn).to_string();
    server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201);
    let choices = json!([{ "id": topic, "subscription": "opt_out" }]);

    for body in [json!({ "topics": choices }), choices.clone()] {
        let changed = server.patch("/contacts/ada@example.net/topics", &body).ok(200);

        assert_eq!(changed["topics"][0]["subscription"], "opt_out", "{body}");
    }
    for (body, reason) in [
        (json!({}), "Missing `topics` field."),
        (json!({ "topics": null }), "Missing `topics` field."),
        (json!({ "topics": choices, "name": "x" }), "unknown field `name`"),
        (json!({ "topics": [{ "id": topic, "subscription": "maybe" }] }), "use `opt_in` or `opt_out`"),
    ] {
        let refused = server.patch("/contacts/ada@example.net/topics", &body).refusal();
        assert!(refused.starts_with("422 ") && refused.contains(reason), "{body}: {refused}");
    }
}

#[test]
fn wrapped_topic_choices_are_refused_by_default() {
    let server = TestServer::start();
    let topic = server.add_topic(Subscription::OptIn).to_string();
    server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201);
    let patch = |body: &str| {
        server.call("PATCH", "/contacts/ada@example.net/topics", server.key(), &[], Some(body.as_bytes())).refusal()
    };

    for body in [json!({ "topics": [{ "id": topic, "subscription": "opt_out" }] }), json!({ "id": topic }), json!({})] {
        let refused = patch(&body.to_string());

        assert!(
            refused.starts_with("422 validation_error: Invalid request body: invalid type: map"),
            "{body}: {refused}"
        );
        assert!(refused.contains(SETTING), "{body}: {refused}");
    }
    assert!(patch("{\"topics\": [").starts_with("400 "));
    assert!(patch("{\"topics\": 1e999}").starts_with("400 "));
    let subscription = &server.get("/contacts/ada@example.net/topics").ok(200)["data"][0]["subscription"];
    assert_eq!(subscription, "opt_in");
}

fn segment(server: &TestServer) -> String {
    let segment = server.post("/segments", &json!({ "name": "All of them" })).ok(201);
    segment["id"].as_str().unwrap().to_owned()
}
