//! `POST /emails`.

use serde_json::{Value, json};

use crate::support::{TestServer, assert_body, assert_lines, email};

#[test]
fn an_accepted_email_is_delivered_with_its_timeline() {
    let server = TestServer::start();

    let response = server.post(
        "/emails",
        &email(&json!({
            "subject": "Welcome",
            "html": "<p>Hello there</p>",
            "reply_to": "answers@example.com",
            "tags": [{ "name": "kind", "value": "welcome" }],
            "headers": { "X-Order": "7" },
        })),
    );

    let sent = response.ok(200);
    let email = server.wait_for(sent["id"].as_str().unwrap(), "delivered");
    assert_eq!(email["id"], sent["id"]);
    let timeline: Vec<&Value> = email["events"].as_array().unwrap().iter().map(|event| &event["type"]).collect();
    assert_eq!(timeline, ["email.sent", "email.delivered"]);
    assert_body!(sent);
}

#[test]
fn an_email_is_returned_with_the_given_fields() {
    let server = TestServer::start();

    let id = server.send(&json!({
        "subject": "Grüße, 世界",
        "html": "<p>Hello there</p>",
        "to": ["delivered@resend.dev", "\"Doe, Jane\" <delivered+jane@resend.dev>"],
        "cc": "Copy <delivered+cc@resend.dev>",
        "bcc": ["delivered+bcc@ringmail.test"],
        "reply_to": ["answers@example.com", "Team <team@example.com>"],
        "tags": [{ "name": "kind", "value": "welcome" }],
        "scheduled_at": "in 1 hour",
    }));

    // The email is read before its due time, because the timeline of several recipients has no fixed order.
    assert_body!(server.get(&format!("/emails/{id}")).ok(200));
}

#[test]
fn a_minimal_email_is_returned_with_null_for_absent_fields() {
    let server = TestServer::start();

    let id = server.send(&json!({}));

    assert_body!(server.wait_for(&id, "delivered"));
}

#[test]
fn every_accepted_form_of_an_address_is_returned_in_one_form() {
    let server = TestServer::start();
    for (given, read) in [
        ("delivered@resend.dev", "delivered@resend.dev"),
        ("  delivered@RESEND.dev ", "delivered@resend.dev"),
        ("<delivered@resend.dev>", "delivered@resend.dev"),
        ("Jane Doe <delivered@resend.dev>", "Jane Doe <delivered@resend.dev>"),
        ("Jane   Doe<delivered@resend.dev>", "Jane Doe <delivered@resend.dev>"),
        ("\"Jane Doe\" <delivered@resend.dev>", "Jane Doe <delivered@resend.dev>"),
        ("\"Doe, Jane\" <delivered@resend.dev>", "\"Doe, Jane\" <delivered@resend.dev>"),
        ("Jörg Müßig <delivered@resend.dev>", "Jörg Müßig <delivered@resend.dev>"),
    ] {
        let sent = server.post("/emails", &email(&json!({ "to": given }))).ok(200);

        let email = server.get(&format!("/emails/{}", sent["id"].as_str().unwrap())).ok(200);
        assert_eq!(email["to"], json!([read]), "{given}");
    }
}

#[test]
fn a_value_that_is_not_exactly_one_mailbox_is_refused() {
    let server = TestServer::start();
    let mut lines = Vec::new();
    for address in [
        "",
        "jane",
        "jane@",
        "@example.net",
        "jane@localhost",
        "jane@[127.0.0.1]",
        "jane@example..net",
        "jane doe@example.net",
        "Doe, Jane <jane@example.net>",
        "jane@example.net, john@example.net",
        "jane@example.net; john@example.net",
        "Jane <jane@example.net> <john@example.net>",
        "Jane <jane@example.net",
        "jane@home <jane@example.net>",
        "\"jane@home\" <jane@example.net>",
        "jane@example.net\r\nBcc: all@example.net",
        "Jane\nDoe <jane@example.net>",
    ] {
        for field in ["from", "to", "cc", "bcc", "reply_to"] {
            let refused = server.post("/emails", &email(&json!({ field: address }))).refusal();

            let start = format!("422 validation_error: Invalid `{field}` field.");
            assert!(refused.starts_with(&start), "{field} {address:?}: {refused}");
            if field == "to" {
                lines.push(format!("{address:?}: {refused}"));
            }
        }
    }
    assert_lines!(lines);
    assert_eq!(server.stored_emails(), 0);
}

#[test]
fn an_absent_or_null_required_field_is_reported() {
    let server = TestServer::start();
    for (field, message) in [
        ("from", "Missing `from` field."),
        ("to", "Missing `to` field."),
        ("subject", "Missing `subject` field."),
        ("text", "Missing `html` or `text` field."),
    ] {
        let with_null = email(&json!({ field: null }));
        let mut without = email(&json!({}));
        without.as_object_mut().unwrap().remove(field);

        server.post("/emails", &with_null).refused(422, "missing_required_field", message);
        server.post("/emails", &without).refused(422, "missing_required_field", message);
    }
    let empty = email(&json!({ "to": [] }));
    server.post("/emails", &empty).refused(422, "missing_required_field", "Missing `to` field.");
    assert_eq!(server.stored_emails(), 0);
}

#[test]
fn a_null_or_empty_optional_field_equals_an_absent_field() {
    let server = TestServer::start();

    let id = server.send(&json!({
        "html": null, "cc": [], "bcc": null, "reply_to": [], "headers": [], "attachments": [], "tags": [],
        "scheduled_at": null, "topic_id": null, "template": null,
    }));
    let other = server.send(&json!({
        "cc": null, "bcc": [], "reply_to": null, "headers": {}, "attachments": null, "tags": null, "scheduled_at": "",
    }));

    for id in [id, other] {
        let email = server.wait_for(&id, "delivered");
        assert_eq!(email["cc"], Value::Null);
        assert_eq!(email["scheduled_at"], Value::Null);
        assert_eq!(email["tags"], json!([]));
    }
}

#[test]
fn the_permitted_headers_are_accepted() {
    let server = TestServer::start();
    for headers in [
        json!({ "X-Anything": "a", "x-lower": "b", "X-Entity-Ref-ID": "c" }),
        json!({ "In-Reply-To": "<a@example.net>", "References": "<a@example.net> <b@example.net>" }),
        json!({ "Importance": "high", "Priority": "urgent", "Comments": "é", "Keywords": "k", "Organization": "o" }),
        json!({
            "List-Unsubscribe": "<https://example.com/u>, <mailto:u@example.com>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        }),
        json!({ "list-unsubscribe": "<https://example.com/u>", "LIST-UNSUBSCRIBE-POST": "List-Unsubscribe=One-Click" }),
    ] {
        server.post("/emails", &email(&json!({ "headers": headers }))).ok(200);
    }
}

#[test]
fn any_other_header_is_refused_with_the_reason() {
    let server = TestServer::start();
    let mut lines = Vec::new();
    for headers in [
        json!({ "Message-ID": "<a@example.net>" }),
        json!({ "Bcc": "all@example.net" }),
        json!({ "Received": "from nowhere" }),
        json!({ "DKIM-Signature": "v=1" }),
        json!({ "X-Ringmail-Id": "1" }),
        json!({ "x-ses-configuration-set": "1" }),
        json!({ "X-": "1" }),
        json!({ "X A": "1" }),
        json!({ "X-A:": "1" }),
        json!({ "": "1" }),
        json!({ "X-A": "" }),
        json!({ "X-A": "a\r\nBcc: all@example.net" }),
        json!({ "X-A\r\nBcc": "all@example.net" }),
        json!({ "X-A": "a\nb" }),
        json!({ "X-A": "a\u{0}" }),
        json!({ "X-A": 5 }),
        json!({ "X-A": "1", "x-a": "2" }),
        json!({ "References": "é" }),
        json!({ "List-Unsubscribe": "<https://example.com/u>" }),
        json!({ "List-Unsubscribe-Post": "List-Unsubscribe=One-Click" }),
        json!({ "List-Unsubscribe": "<mailto:u@example.com>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click" }),
        json!({ "List-Unsubscribe": "<http://example.com/u>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click" }),
        json!({ "List-Unsubscribe": "https://example.com/u", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click" }),
        json!({ "List-Unsubscribe": "<https://example.com/u>", "List-Unsubscribe-Post": "yes" }),
        json!(["X-A"]),
        json!("X-A: 1"),
    ] {
        let refused = server.post("/emails", &email(&json!({ "headers": headers }))).refusal();

        assert!(refused.starts_with("422 validation_error: Invalid `headers"), "{headers}: {refused}");
        lines.push(format!("{headers}: {refused}"));
    }
    assert_lines!(lines);
    assert_eq!(server.stored_emails(), 0);
}

#[test]
fn a_line_break_in_a_field_of_a_header_is_refused() {
    let server = TestServer::start();
    for break_ in ["\r\n", "\n", "\r", "\u{0}", "\u{b}"] {
        let injected = format!("a{break_}Bcc: all@example.net");
        for fields in [
            json!({ "subject": injected }),
            json!({ "from": format!("{injected} <hello@example.com>") }),
            json!({ "reply_to": format!("{injected} <hello@example.com>") }),
            json!({ "tags": [{ "name": "a", "value": injected }] }),
            json!({ "tags": [{ "name": injected, "value": "a" }] }),
            json!({ "attachments": [{ "filename": injected, "content": "YQ==" }] }),
            json!({ "attachments": [{ "filename": "a", "content": "YQ==", "content_type": format!("a/b{injected}") }] }),
        ] {
            let refused = server.post("/emails", &email(&fields)).refusal();

            assert!(refused.starts_with("422 validation_error: Invalid `"), "{fields}: {refused}");
            assert!(!refused.contains(['\r', '\n']), "{refused:?}");
        }
    }
    assert_eq!(server.stored_emails(), 0);
}

#[test]
fn tags_and_subjects_over_the_limits_are_refused() {
    let server = TestServer::start();
    let tag = |name: &str, value: &str| json!([{ "name": name, "value": value }]);
    let many: Vec<Value> = (0..51).map(|n| json!({ "name": format!("t{n}"), "value": "1" })).collect();
    let mut lines = Vec::new();
    for fields in [
        json!({ "tags": tag("a b", "1") }),
        json!({ "tags": tag("é", "1") }),
        json!({ "tags": tag("", "1") }),
        json!({ "tags": tag("a", "") }),
        json!({ "tags": tag("a", &"v".repeat(257)) }),
        json!({ "tags": [{ "name": "a" }] }),
        json!({ "tags": [{ "name": "a", "value": "1" }, { "name": "a", "value": "2" }] }),
        json!({ "tags": [{ "name": "a", "value": "1", "kind": "x" }] }),
        json!({ "tags": many }),
        json!({ "subject": "s".repeat(999) }),
        json!({ "subject": 7 }),
    ] {
        lines.push(server.post("/emails", &email(&fields)).refusal());
    }
    assert_lines!(lines);
    server.send(&json!({ "tags": tag(&"n".repeat(256), &"v".repeat(256)), "subject": "s".repeat(998) }));
}

#[test]
fn a_sender_of_an_unverified_domain_is_refused() {
    let server = TestServer::start();
    server.post("/domains", &json!({ "name": "waiting.example" })).ok(201);
    for domain in ["waiting.example", "sub.example.com", "example.org", "xn--bcher-kva.example"] {
        let from = email(&json!({ "from": format!("Acme <hello@{domain}>") }));

        let message = format!("The {domain} domain is not verified. Please, add and verify your domain.");
        server.post("/emails", &from).refused(403, "validation_error", &message);
    }
    assert_eq!(server.stored_emails(), 0);
    server.send(&json!({ "from": "hello@EXAMPLE.com" }));
}

#[test]
fn a_key_of_one_domain_cannot_send_from_another_domain() {
    let server = TestServer::start_with(&["--domain", "example.com", "--domain", "other.example"]);
    let domain = server.domain_id("other.example");
    for permission in ["full_access", "sending_access"] {
        let key = server.create_key(&json!({ "name": "Scoped", "permission": permission, "domain_id": domain }));
        let send = |from: &str| {
            let body = email(&json!({ "from": from })).to_string();
            server.call("POST", "/emails", &key, &[], Some(body.as_bytes()))
        };

        let message = "This API key is restricted to another domain. Send from an address of that domain, or use \
                       another key.";
        send("hello@example.com").refused(403, "restricted_api_key", message);
        send("hello@other.example").ok(200);
    }
}

#[test]
fn a_key_of_one_domain_cannot_change_or_replay_an_email_of_another_domain() {
    let server = TestServer::start_with(&["--domain", "example.com", "--domain", "other.example"]);
    let domain = server.domain_id("other.example");
    let later = |from: &str| email(&json!({ "from": from, "scheduled_at": "in 1 hour" })).to_string();
    let headers = [("idempotency-key", "once")];
    for permission in ["full_access", "sending_access"] {
        let scoped = server.create_key(&json!({ "name": "Scoped", "permission": permission, "domain_id": domain }));
        let foreign = later("hello@example.com");
        let sent = server.call("POST", "/emails", server.key(), &headers, Some(foreign.as_bytes())).ok(200);
        let path = format!("/emails/{}", sent["id"].as_str().unwrap());
        let reschedule = json!({ "scheduled_at": "in 2 hours" }).to_string();
        let before = server.get(&path).ok(200);

        for (method, path, body, headers) in [
            ("PATCH", path.clone(), Some(&reschedule), &[][..]),
            ("POST", format!("{path}/cancel"), None, &[]),
            ("POST", "/emails".to_owned(), Some(&foreign), &headers),
        ] {
            let refused = server.call(method, &path, &scoped, headers, body.map(String::as_bytes)).refusal();
            assert!(refused.starts_with("403 restricted_api_key: This API key is restricted"), "{path}: {refused}");
        }
        assert_eq!(server.get(&path).ok(200), before);

        let own = server.call("POST", "/emails", &scoped, &[], Some(later("hello@other.example").as_bytes())).ok(200);
        let path = format!("/emails/{}", own["id"].as_str().unwrap());
        server.call("PATCH", &path, &scoped, &[], Some(reschedule.as_bytes())).ok(200);
        server.call("POST", &format!("{path}/cancel"), &scoped, &[], None).ok(200);
    }
}

#[test]
fn a_key_of_one_domain_cannot_replay_a_deleted_email_of_another_domain() {
    let flags = ["--domain", "example.com", "--domain", "other.example"];
    let server = TestServer::start_with(&flags);
    let [own, other] = ["example.com", "other.example"].map(|name| {
        server
            .create_key(&json!({ "name": "Scoped", "permission": "full_access", "domain_id": server.domain_id(name) }))
    });
    let body = email(&json!({})).to_string();
    let send = |server: &TestServer, key: &str| {
        server.call("POST", "/emails", key, &[("idempotency-key", "once")], Some(body.as_bytes()))
    };
    let sent = send(&server, server.key()).ok(200);
    let id = sent["id"].as_str().unwrap();
    server.wait_for(id, "delivered");
    server.delete(&format!("/emails/{id}")).ok(200);
    let replay = |server: &TestServer| {
        let refused = send(server, &other).refusal();
        assert!(refused.starts_with("403 restricted_api_key: This API key is restricted"), "{refused}");
        assert_eq!(send(server, &own).ok(200), sent);
    };

    replay(&server);
    replay(&server.restart_with(&flags));
}

#[test]
fn unknown_topics_are_refused() {
    let server = TestServer::start();

    let malformed = server.post("/emails", &email(&json!({ "topic_id": "news" }))).refusal();
    let unknown = email(&json!({ "topic_id": "0190a6c0-0000-7000-8000-000000000001" }));

    assert_eq!(malformed, "422 validation_error: The `topic_id` must be a valid UUID.");
    server.post("/emails", &unknown).refused(404, "not_found", "Topic not found");
}

#[test]
fn a_sending_key_can_send_an_email() {
    let server = TestServer::start();
    let key = server.create_sending_key();

    let body = email(&json!({})).to_string();
    // `/email` is an alias.
    for path in ["/emails", "/email"] {
        let sent = server.call("POST", path, &key, &[], Some(body.as_bytes())).ok(200);

        server.wait_for(sent["id"].as_str().unwrap(), "delivered");
    }
    server.call("POST", "/email?dry_run=true", &key, &[], Some(body.as_bytes())).refused(
        422,
        "validation_error",
        "Unknown query parameter `dry_run`: this endpoint takes none.",
    );
}
