//! Paths with additional slashes and percent encoding, and routes that ignore the body.

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

#[test]
fn the_body_of_an_action_is_ignored() {
    let server = TestServer::start();
    let domain = server.domain_id("example.com");
    for body in [None, Some(""), Some("{}"), Some("null"), Some("{broken")] {
        let id = server.send(&json!({ "scheduled_at": "in 1 hour" }));
        for path in [format!("/emails/{id}/cancel"), format!("/domains/{domain}/verify")] {
            server.call("POST", &path, server.key(), &[], body.map(str::as_bytes)).ok(200);
        }
    }
}
