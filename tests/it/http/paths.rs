//! Paths with additional slashes and percent encoding, and routes without a body.

use std::collections::HashMap;

use serde_json::json;

use crate::support::{TestServer, email};

#[test]
fn a_trailing_slash_and_a_double_leading_slash_are_accepted() {
    let server = TestServer::start();
    let id = server.send(&json!({ "scheduled_at": "in 1 hour" }));
    for path in ["/emails/", "//emails", "//emails/", "//api-keys"] {
        server.get(path).ok(200);
    }
    for path in [format!("/emails/{id}/"), format!("//emails/{id}"), format!("//emails/{id}/attachments/")] {
        server.get(&path).ok(200);
    }
    server.post("//emails/", &email(&json!({}))).ok(200);
    server.post("/emails/batch/", &json!([email(&json!({}))])).ok(200);
    server.post(&format!("//emails/{id}/cancel/"), &json!({})).ok(200);
}

#[test]
fn every_accepted_form_of_a_path_has_the_same_checks() {
    let server = TestServer::start();
    let sending = server.create_sending_key();
    for path in ["//emails", "/emails/", "//emails/"] {
        let restricted = server.call("GET", path, &sending, &[], None);
        restricted.refused(403, "restricted_api_key", "This API key is restricted to only send emails");
        let body = email(&json!({})).to_string();
        server.call("POST", path, &sending, &[], Some(body.as_bytes())).ok(200);
        let unknown = server.get(&format!("{path}?page=1")).refusal();
        assert!(unknown.starts_with("422 validation_error: Unknown query parameter"), "{path}: {unknown}");
        let sdk_body = email(&json!({ "created_at": "x" }));
        server.post(path, &sdk_body).ok(200);
        let wrong = server.call("PUT", path, server.key(), &[], None);
        wrong.refused(405, "method_not_allowed", "Method is not allowed for the requested path.");
    }
    for path in ["//domains", "/domains/", "/%64omains", "/emails/../domains", "//emails/..//domains"] {
        let status = server.call("GET", path, &sending, &[], None).status;
        assert!(status == 403 || status == 404, "{path}: {status}");
    }
}

#[test]
fn a_path_is_percent_decoded_once_and_a_plus_sign_is_not_a_space() {
    let server = TestServer::start();
    let id = server.send(&json!({}));
    let escaped = id.replace('-', "%2D");
    assert_eq!(server.get(&format!("/emails/{escaped}")).ok(200)["id"], id);

    for path in [
        format!("/emails/{}", id.replace('-', "%252D")),
        format!("/emails/{}", id.replace('-', "+")),
        format!("/emails/{id}+"),
        format!("/emails/%20{id}"),
        format!("/emails/{id}%2Fattachments"),
        "/emails/%ff".to_owned(),
        "/emails/%00".to_owned(),
        "/emails/%zz".to_owned(),
    ] {
        let refused = server.get(&path).refusal();

        assert!(
            refused == "422 validation_error: The `id` must be a valid UUID." || refused.starts_with("404"),
            "{path}: {refused}"
        );
    }
}

#[test]
fn the_body_of_a_get_or_delete_request_is_ignored() {
    let server = TestServer::start();
    let large = " ".repeat(100_000);
    for body in ["{}", "", "{broken", "[1]", "\u{0}", &large] {
        let id = server.send(&json!({ "scheduled_at": "in 1 hour" }));
        for (method, path) in [
            ("GET", "/emails".to_owned()),
            ("GET", format!("/emails/{id}")),
            ("GET", "/api-keys".to_owned()),
            ("DELETE", format!("/emails/{id}")),
        ] {
            let head = server.raw_request_head(method, &path);
            let request = format!("{head}content-length: {}\r\n\r\n{body}", body.len());

            server.send_raw(request.as_bytes()).ok(200);
        }
    }
}

const UNKNOWN_ID: &str = "0190a6c0-0000-7000-8000-00000000000a";

/// Actions without fields, each with the fields that can repeat the id in the path.
const ACTIONS: [(&str, &[&str]); 8] = [
    ("/emails/{id}/cancel", &["id", "email_id"]),
    ("/domains/{id}/verify", &["id", "domain_id"]),
    ("/contacts/{id}/preferences-link", &["id"]),
    ("/broadcasts/{id}/cancel", &["id", "broadcast_id"]),
    ("/broadcasts/{id}/duplicate", &["id", "broadcast_id"]),
    ("/templates/{id}/publish", &["id", "template_id"]),
    ("/templates/{id}/duplicate", &["id", "template_id"]),
    ("/webhooks/{id}/events/{id}/replay", &["id", "event_id"]),
];

#[test]
fn an_action_accepts_a_body_without_fields() {
    let server = TestServer::start();
    let domain = server.domain_id("example.com");
    let without_fields = [None, Some(""), Some(" \n"), Some("{}"), Some("[]"), Some("null")];
    for body in without_fields {
        let id = server.send(&json!({ "scheduled_at": "in 1 hour" }));
        for path in [format!("/emails/{id}/cancel"), format!("/domains/{domain}/verify")] {
            server.call("POST", &path, server.key(), &[], body.map(str::as_bytes)).ok(200);
        }
    }
    let uppercase = UNKNOWN_ID.to_uppercase();
    // The body is checked before the resource is read.
    for (path, fields) in ACTIONS {
        let path = path.replace("{id}", UNKNOWN_ID);
        let echoes = [None, Some(""), Some(UNKNOWN_ID), Some(uppercase.as_str())].map(|value| {
            let body: HashMap<_, _> = fields.iter().map(|field| (*field, value)).collect();
            Some(json!(body).to_string())
        });
        for body in without_fields.map(|body| body.map(str::to_owned)).into_iter().chain(echoes) {
            let response = server.call("POST", &path, server.key(), &[], body.as_deref().map(str::as_bytes));

            assert!(response.refusal().starts_with("404 not_found: "), "{path} {body:?}: {}", response.json);
        }
    }
}

#[test]
fn an_action_refuses_fields_and_broken_json() {
    let server = TestServer::start();
    let different = "it differs from the id in the path. Leave it out.";
    let unknown = "unknown field `name`, there are no fields.";
    for (path, fields) in ACTIONS {
        let path = path.replace("{id}", UNKNOWN_ID);
        let different =
            fields.iter().map(|field| (json!({ *field: "other" }), format!("Invalid `{field}` field: {different}")));
        let mut cases: Vec<(String, String)> = different.map(|(body, message)| (body.to_string(), message)).collect();
        for body in [json!({ "name": "Copy" }), json!({ "name": null }), json!({ "id": UNKNOWN_ID, "name": "Copy" })] {
            cases.push((body.to_string(), format!("Invalid `name` field: {unknown}")));
        }
        cases.push(("[{}]".into(), "Invalid request body: invalid type: sequence, expected an object.".into()));
        for (body, message) in cases {
            let refused = server.call("POST", &path, server.key(), &[], Some(body.as_bytes())).refusal();

            assert_eq!(refused, format!("422 validation_error: {message}"), "{path} {body}");
        }
        for body in ["{broken", "{} {}", "a=b"] {
            let refused = server.call("POST", &path, server.key(), &[], Some(body.as_bytes())).refusal();
            assert!(
                refused.starts_with("400 validation_error: The request body is not valid JSON: "),
                "{path} {body}: {refused}"
            );
        }
    }
}

#[test]
fn the_body_of_a_request_that_adds_a_contact_to_a_segment_is_ignored() {
    let server = TestServer::start();
    let contact = server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201)["id"].clone();
    let segment = server.post("/segments", &json!({ "name": "Some" })).ok(201)["id"].as_str().unwrap().to_owned();
    let path = format!("/contacts/ada@example.net/segments/{segment}");
    for body in [None, Some(r#"{"email":"ada@example.net","segment_id":"x"}"#), Some("{broken")] {
        let added = server.call("POST", &path, server.key(), &[], body.map(str::as_bytes)).ok(200);

        assert_eq!((&added["contact_id"], &added["segment_id"]), (&contact, &json!(segment)), "{body:?}");
    }
}
