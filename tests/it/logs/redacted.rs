//! Redaction of bodies in the request log.

use std::fs;

use serde_json::{Value, json};

use super::entry;
use crate::support::{TestServer, email};

const SECRET: &str = "Zq9SecretZq9";

/// Posts a body and returns the logged request body and response body.
#[track_caller]
fn logged_bodies(server: &TestServer, path: &str, body: &Value) -> (Value, Value) {
    let response = server.post(path, body);
    let entry = entry(server, &response);
    (entry["request_body"].clone(), entry["response_body"].clone())
}

#[test]
fn the_content_of_an_email_is_redacted() {
    let server = TestServer::start();
    let fields = json!({
        "html": format!("<p>{SECRET}</p>"), "text": SECRET, "subject": "Kept",
        "attachments": [{ "filename": "a.txt", "content": "YQ==" }],
    });

    let (request, response) = logged_bodies(&server, "/emails", &email(&fields));

    let hidden = json!("[redacted]");
    assert_eq!((&request["html"], &request["text"], &request["attachments"]), (&hidden, &hidden, &hidden));
    assert_eq!((&request["subject"], &request["to"]), (&json!("Kept"), &json!("delivered@resend.dev")));
    assert!(response["id"].is_string());
}

#[test]
fn the_content_of_every_email_of_a_batch_is_redacted() {
    let server = TestServer::start();
    let batch = json!([email(&json!({ "text": SECRET })), email(&json!({ "html": SECRET, "subject": "Second" }))]);

    let (request, _) = logged_bodies(&server, "/emails/batch", &batch);

    assert!(!request.to_string().contains(SECRET));
    assert_eq!((&request[0]["text"], &request[1]["html"]), (&json!("[redacted]"), &json!("[redacted]")));
    assert_eq!(request[1]["subject"], "Second");
}

#[test]
fn the_content_of_an_email_that_was_read_is_redacted() {
    let server = TestServer::start();
    let id = server.send(&json!({ "text": SECRET, "attachments": [{ "filename": "a", "content": "WnE5" }] }));
    let read = server.get(&format!("/emails/{id}"));
    let attachment = read.json["attachments"][0]["id"].as_str().unwrap();
    let file = server.get(&format!("/emails/{id}/attachments/{attachment}"));
    assert!(read.json.to_string().contains(SECRET) && file.json.to_string().contains("WnE5"));

    let [read, file] = [entry(&server, &read), entry(&server, &file)];

    assert!(!read.to_string().contains(SECRET) && !file.to_string().contains("WnE5"));
    assert_eq!(file["response_body"]["content"], "[redacted]");
    assert_eq!(file["request_body"], Value::Null);
}

#[test]
fn the_token_of_a_key_is_redacted() {
    let server = TestServer::start();
    let created = server.post("/api-keys", &json!({ "name": "Another" }));
    let token = created.json["token"].as_str().unwrap();

    let entry = entry(&server, &created);

    assert_eq!(entry["response_body"]["token"], "[redacted]");
    assert!(!entry.to_string().contains(token));
}

#[test]
fn a_preferences_link_is_redacted_and_other_urls_are_not() {
    let server = TestServer::start();
    let id = server.add_contact("ada@example.net", false);
    let created = server.post(&format!("/contacts/{id}/preferences-link"), &json!({}));
    let url = created.json["url"].as_str().unwrap().to_owned();
    let by_address = server.post("/contacts/ada@example.net/preferences-link", &json!({}));

    for created in [created, by_address] {
        let entry = entry(&server, &created);
        assert_eq!(entry["response_body"]["url"], "[redacted]");
        assert_eq!(entry["response_body"]["contact"], id.to_string());
        assert!(!entry.to_string().contains(url.rsplit('/').next().unwrap()), "{entry}");
    }
    let refused = server.post("/topics", &json!({ "url": "https://example.com/kept" }));
    assert_eq!(entry(&server, &refused)["request_body"]["url"], "https://example.com/kept");
}

#[test]
fn the_secrets_of_a_refused_request_are_redacted() {
    let server = TestServer::start();
    let webhook = format!(
        r#"{{"endpoint":"https://example.com","signing_\u0073ecret":"{SECRET}","nested":[{{"TOKEN":{{"a":"{SECRET}"}}}}]}}"#
    );
    let response = server.call("POST", "/topics", server.key(), &[], Some(webhook.as_bytes()));
    assert_eq!(response.status, 422);

    let entry = entry(&server, &response);

    assert!(!entry.to_string().contains(SECRET), "{entry}");
    assert_eq!(entry["request_body"]["signing_secret"], "[redacted]");
    assert_eq!(entry["request_body"]["endpoint"], "https://example.com");
    assert_eq!(entry["response_body"], response.json);
}

#[test]
fn an_error_message_has_no_secret_of_the_wrong_type() {
    let server = TestServer::start();
    for (path, body, message) in [
        (
            "/emails",
            email(&json!({ "attachments": SECRET })),
            "Invalid `attachments` field: invalid type, expected an array of at most 100 items.",
        ),
        (
            "/emails",
            email(&json!({ "attachments": [SECRET] })),
            "Invalid `attachments[0]` field: invalid type, expected an object.",
        ),
        ("/emails", email(&json!({ "html": 8_217_634 })), "Invalid `html` field: invalid type, expected a string."),
    ] {
        let response = server.post(path, &body);
        assert_eq!(response.json["message"], message);

        let entry = entry(&server, &response).to_string();

        assert!(!entry.contains(SECRET) && !entry.contains("8217634"), "{entry}");
    }
}

#[test]
fn a_large_body_is_logged_as_truncated_unless_its_size_is_redacted_content() {
    let server = TestServer::start();
    for bytes in [20_000, 100_000] {
        let contacts: Vec<Value> = (0..bytes / 40).map(|n| json!({ "email": format!("c{n}@example.net") })).collect();
        let body = json!({ "contacts": contacts, "padding": "x".repeat(bytes) });
        let (request, _) = logged_bodies(&server, "/contacts/batch/get", &body);
        assert_eq!(request, json!({ "truncated": true, "bytes": body.to_string().len() }));

        let content = email(&json!({ "text": SECRET.repeat(bytes / 10), "subject": "Small" }));
        let (request, _) = logged_bodies(&server, "/emails", &content);
        assert_eq!((&request["text"], &request["subject"]), (&json!("[redacted]"), &json!("Small")));
    }
    let description = server.get("/openapi.json");
    let marker = &entry(&server, &description)["response_body"];
    assert_eq!(marker["truncated"], true);
    assert!(marker["bytes"].as_u64().unwrap() > 64 << 10);
}

#[test]
fn a_body_that_is_not_json_is_not_logged() {
    let server = TestServer::start();
    for body in [b"{\"name\":".as_slice(), b"subject=1", b"\xff\xfe", b""] {
        let response = server.call("POST", "/topics", server.key(), &[], Some(body));
        assert_eq!(response.status, 400);

        let entry = entry(&server, &response);

        assert_eq!((&entry["request_body"], &entry["response_body"]), (&Value::Null, &response.json));
    }
}

#[test]
fn logged_bodies_are_sealed_in_the_file() {
    let server = TestServer::start();
    // The request is refused, so that only the log contains its body.
    let topic = json!({ "name": SECRET.repeat(100), "default_subscription": "opt_in" });
    let response = server.post("/topics", &topic);
    assert_eq!(response.status, 422);
    assert!(entry(&server, &response)["request_body"]["name"].as_str().unwrap().contains(SECRET));

    let directory = server.into_directory();
    let file = fs::read(directory.path().join(ringmail::store::FILE_NAME)).unwrap();

    assert!(!file.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()));
}
