//! Errors that name the likely meaning of a request.

use serde_json::json;

use crate::support::{TestServer, email};

#[track_caller]
fn assert_ends(refused: &str, end: &str) {
    assert!(refused.ends_with(end), "{refused} does not end with {end:?}");
}

#[test]
fn a_misspelled_field_gets_the_nearest_field() {
    let server = TestServer::start();
    for (path, body, end) in [
        ("/emails", email(&json!({ "replyTo": "a@example.com" })), "`template`. Did you mean `reply_to`?"),
        ("/emails", email(&json!({ "attachements": [] })), "`template`. Did you mean `attachments`?"),
        ("/emails/batch", json!([email(&json!({ "scheduledAt": "x" }))]), "`template`. Did you mean `scheduled_at`?"),
        ("/contacts", json!({ "email": "a@example.com", "firstName": "A" }), "Did you mean `first_name`?"),
        ("/emails", email(&json!({ "body": "x" })), "`topic_id`, `template`."),
    ] {
        assert_ends(&server.post(path, &body).refusal(), end);
    }
}

#[test]
fn a_name_that_is_long_or_imitates_the_message_gets_no_suggestion() {
    let server = TestServer::start();
    for name in ["k".repeat(1 << 20), "x`, expected `y".to_owned(), "`".repeat(300)] {
        let refused = server.post("/emails", &email(&json!({ (name): "x" }))).refusal();

        assert!(!refused.contains("Did you mean"), "{refused}");
        assert!(refused.len() < 1_000, "{refused}");
    }
}

#[test]
fn a_misspelled_query_parameter_gets_the_nearest_parameter() {
    let server = TestServer::start();

    assert_ends(&server.get("/emails?limits=2").refusal(), "`broadcast_id`. Did you mean `limit`?");
    assert_ends(&server.get("/contacts?segmentId=2").refusal(), "Did you mean `segment_id`?");
    assert_ends(&server.get("/emails?page=2").refusal(), "`limit`, `after`, `before`, `broadcast_id`.");
}

#[test]
fn a_misspelled_path_gets_the_nearest_path() {
    let server = TestServer::start();
    for (method, path, suggestion) in [
        ("POST", "/email/batch", " Did you mean `/emails/batch`?"),
        ("GET", "/emials", " Did you mean `/emails`?"),
        ("GET", "/contact/ada@example.com/topics", " Did you mean `/contacts/{id}/topics`?"),
        ("GET", "/api_keys", " Did you mean `/api-keys`?"),
        ("POST", "/v1/emails", " Did you mean `/emails`?"),
        ("POST", "/api/v2/emails/batch/", " Did you mean `/emails/batch`?"),
        ("GET", "/nothing", ""),
        ("GET", "/v1/nothing", ""),
        ("GET", "/a/b/c/d/e/f/g/h/i/j", ""),
    ] {
        let message = format!("The requested endpoint does not exist.{suggestion}");
        server.call(method, path, server.key(), &[], None).refused(404, "not_found", &message);
    }
    let long = format!("/{}", "emials".repeat(1_000));
    server.get(&long).refused(404, "not_found", "The requested endpoint does not exist.");
}

#[test]
fn a_misspelled_event_type_gets_the_nearest_type() {
    let server = TestServer::start();
    let refusal = |name: &str| {
        let body = json!({ "endpoint": "https://hooks.example/mail", "events": [name] });
        server.post("/webhooks", &body).refusal()
    };

    assert_ends(&refusal("email.deliverd"), " Did you mean `email.delivered`?");
    assert_ends(&refusal("contact.create"), " Did you mean `contact.created`?");
    assert!(!refusal("email.received").contains("Did you mean"));
    assert_ends(&refusal("everything"), "`quota.paused`.");
}

#[test]
fn a_key_of_resend_gets_the_prefix_of_this_server() {
    let server = TestServer::start();
    for key in ["re_123456789", "re_0123456789abcdefghijklmnopqrstuv"] {
        server.call("GET", "/emails", key, &[], None).refused(
            403,
            "invalid_api_key",
            "API key is invalid. It begins with `re_`, as the keys of Resend do. The keys of this server begin with \
             `rm_`: create one with `ringmail key create`.",
        );
    }
    server.call("GET", "/emails", "rm_1", &[], None).refused(403, "invalid_api_key", "API key is invalid.");
}

#[test]
fn a_form_is_named_as_a_form_and_json_needs_no_content_type() {
    let server = TestServer::start();
    let multipart = "--b\r\nContent-Disposition: form-data; name=\"from\"\r\n\r\nhello@example.com\r\n--b--\r\n";
    for (body, form_type) in [
        ("from=hello%40example.com&to=delivered%40resend.dev", "application/x-www-form-urlencoded"),
        (multipart, "multipart/form-data"),
    ] {
        let message = format!(
            "The request body is not valid JSON: it is a form (`{form_type}`). Send the fields as JSON, with \
             `Content-Type: application/json`."
        );
        let key = server.key();
        server.call("POST", "/emails", key, &[], Some(body.as_bytes())).refused(400, "validation_error", &message);
        server.call("POST", "/emails/batch", key, &[], Some(body.as_bytes())).refused(
            400,
            "validation_error",
            &message,
        );
    }
    let head = server.raw_request_head("POST", "/emails").replace("content-type: application/json\r\n", "");
    let body = email(&json!({})).to_string();
    server.send_raw(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).ok(200);
}

#[test]
fn a_domain_given_as_a_url_or_an_address_gets_the_domain_in_it() {
    let server = TestServer::start();
    for (name, what, domain) in [
        ("https://mail.example.com/", "a URL", "mail.example.com"),
        ("http://user:secret@mail.example.com:8080/a?b#c", "a URL", "mail.example.com"),
        ("mail.example.com/path", "a URL", "mail.example.com"),
        ("hello@mail.example.com", "an email address", "mail.example.com"),
        ("https://", "a URL", "example.com"),
        ("a@b@", "an email address", "example.com"),
    ] {
        let message = format!("Invalid `name` field: it is {what}; give only the domain, such as `{domain}`.");
        server.post("/domains", &json!({ "name": name })).refused(422, "validation_error", &message);
    }
    assert_eq!(
        server.get("/domains").ok(200)["data"].as_array().map(Vec::len),
        Some(1),
        "only the domain of the start"
    );
}
