//! Additional fields and query parameters that official SDKs send: ignored on their route, refused on every other route.

use serde_json::{Value, json};

use crate::support::{TestServer, email};

#[test]
fn an_sdk_field_is_ignored_on_its_route() {
    let server = TestServer::start();
    let id = server.send(&json!({ "scheduled_at": "in 1 hour" }));
    let key = server.post("/api-keys", &json!({ "name": "Key" })).ok(201)["id"].clone();
    let domain = server.domain_id("example.com");
    let topic = server.post("/topics", &json!({ "name": "News", "default_subscription": "opt_in" })).ok(201);
    let topic_path = format!("/topics/{}", topic["id"].as_str().unwrap());
    let property = server.post("/contact-properties", &json!({ "key": "plan", "type": "string" })).ok(201);
    let property_path = format!("/contact-properties/{}", property["id"].as_str().unwrap());
    let contact = server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201);
    let contact_path = format!("/contacts/{}", contact["id"].as_str().unwrap());
    let webhook = json!({ "endpoint": "https://hooks.example/mail", "events": ["email.sent"], "status": "enabled" });
    let webhook = server.post("/webhooks", &webhook).ok(201);
    let webhook_path = format!("/webhooks/{}", webhook["id"].as_str().unwrap());
    let broadcast = json!({ "from": "hello@example.com", "subject": "June", "text": "Hi" });
    let broadcast = server.post("/broadcasts", &broadcast).ok(201);
    let broadcast_path = format!("/broadcasts/{}", broadcast["id"].as_str().unwrap());
    let body_with = |mut body: Value, sdk_field: &Value| {
        body.as_object_mut().unwrap().extend(sdk_field.as_object().unwrap().clone());
        body
    };
    let email_path = format!("/emails/{id}");
    let reschedule = json!({ "scheduled_at": "in 2 hours" });
    for (method, path, body, sdk_field) in [
        ("PATCH", email_path.clone(), reschedule.clone(), json!({ "id": id })),
        ("PATCH", email_path, reschedule, json!({ "email_id": id })),
        ("PATCH", format!("/domains/{domain}"), json!({ "open_tracking": false }), json!({ "id": domain })),
        ("PATCH", format!("/api-keys/{}", key.as_str().unwrap()), json!({ "name": "New" }), json!({ "id": key })),
        ("PATCH", topic_path.clone(), json!({ "name": null }), json!({ "id": topic["id"] })),
        ("PATCH", topic_path, json!({ "name": "New" }), json!({ "topic_id": topic["id"] })),
        ("PATCH", property_path, json!({ "fallback_value": "x" }), json!({ "id": property["id"] })),
        ("PATCH", contact_path.clone(), json!({}), json!({ "id": contact["id"], "email": "ada@example.net" })),
        ("PATCH", contact_path, json!({}), json!({ "id": "", "audience_id": "", "segment_id": null, "email": null })),
        ("PATCH", webhook_path, json!({ "status": "disabled" }), json!({ "webhook_id": webhook["id"] })),
        ("PATCH", broadcast_path.clone(), json!({ "name": "New" }), json!({ "broadcast_id": broadcast["id"] })),
        (
            "PATCH",
            broadcast_path.clone(),
            json!({ "name": "New" }),
            json!({ "id": broadcast["id"], "audience_id": null }),
        ),
        (
            "POST",
            format!("{broadcast_path}/send"),
            json!({ "scheduled_at": "in 1 hour" }),
            json!({ "broadcast_id": broadcast["id"] }),
        ),
        ("POST", "/emails".into(), email(&json!({})), json!({ "created_at": "2026-01-05" })),
        ("POST", "/emails".into(), email(&json!({})), json!({ "created_at": null })),
    ] {
        let body = body_with(body, &sdk_field).to_string();

        server.call(method, &path, server.key(), &[], Some(body.as_bytes())).ok(200);
    }
    let segment = server.post("/segments", &json!({ "name": "Some", "audience_id": "" })).ok(201);
    let contacts = format!("/audiences/{}/contacts", segment["id"].as_str().unwrap());
    let sdk_fields = json!({ "audience_id": segment["id"], "segment_id": "", "email": "ada@example.com" });
    server.post(&contacts, &sdk_fields).ok(201);
    let sdk_fields = body_with(sdk_fields, &json!({ "id": "" }));
    server.patch(&format!("{contacts}/ada@example.com"), &sdk_fields).ok(200);
    server.post("/emails/batch", &json!([email(&json!({ "created_at": "2026-01-05" }))])).ok(200);
    let new =
        |number: usize, sdk_field: Value| body_with(json!({ "email": format!("c{number}@example.net") }), &sdk_field);
    server.post("/contacts", &new(1, json!({ "audience_id": null }))).ok(201);
    server.post("/contacts", &new(2, json!({ "audience_id": "", "segment_id": "" }))).ok(201);
    let batch = json!([new(3, json!({ "audience_id": null })), new(4, json!({ "audience_id": "", "segment_id": "" }))]);
    server.post("/contacts/batch", &batch).ok(200);
    server.post("/segments", &json!({ "name": "Everyone", "audience_id": null })).ok(201);
}

#[test]
fn an_sdk_field_of_one_route_is_unknown_on_other_routes() {
    let server = TestServer::start();
    let id = server.send(&json!({ "scheduled_at": "in 1 hour" }));
    for (method, path, body) in [
        ("POST", "/emails".to_owned(), email(&json!({ "id": "x" }))),
        ("POST", "/emails".to_owned(), email(&json!({ "email_id": "x" }))),
        ("PATCH", format!("/emails/{id}"), json!({ "scheduled_at": "in 2 hours", "created_at": "x" })),
        ("PATCH", format!("/emails/{id}"), json!({ "scheduled_at": "in 2 hours", "broadcast_id": "x" })),
        ("POST", "/api-keys".to_owned(), json!({ "name": "a", "id": "x" })),
        ("POST", "/domains".to_owned(), json!({ "name": "a.example", "id": "x" })),
        ("POST", "/segments".to_owned(), json!({ "name": "a", "segment_id": "x" })),
        ("POST", "/topics".to_owned(), json!({ "name": "a", "default_subscription": "opt_in", "topic_id": "x" })),
        ("POST", "/contact-properties".to_owned(), json!({ "key": "a", "type": "string", "id": "x" })),
        ("POST", "/contacts".to_owned(), json!({ "email": "a@example.net", "contact_id": "x" })),
        ("PATCH", "/contacts/a@example.net".to_owned(), json!({ "contact_id": "x" })),
        ("POST", "/contacts/batch/get".to_owned(), json!({ "contacts": [], "audience_id": "x" })),
        ("POST", "/webhooks".to_owned(), json!({ "endpoint": "x", "events": [], "webhook_id": "x" })),
        ("POST", "/emails".to_owned(), email(&json!({ "tags": [{ "name": "a", "value": "b", "created_at": 1 }] }))),
    ] {
        let text = body.to_string();

        let refused = server.call(method, &path, server.key(), &[], Some(text.as_bytes())).refusal();

        assert!(refused.starts_with("422 validation_error: Invalid `"), "{method} {path} {body}: {refused}");
        assert!(refused.contains("unknown field"), "{refused}");
    }
}

#[test]
fn an_sdk_field_that_differs_from_the_path_is_refused_and_changes_nothing() {
    let server = TestServer::start();
    let id = server.send(&json!({ "scheduled_at": "in 1 hour" }));
    let other = server.send(&json!({ "scheduled_at": "in 1 hour" }));
    let created = |path: &str, body: Value| server.post(path, &body).ok(201)["id"].as_str().unwrap().to_owned();
    let key = created("/api-keys", json!({ "name": "Key" }));
    let topic = created("/topics", json!({ "name": "News", "default_subscription": "opt_in" }));
    let property = created("/contact-properties", json!({ "key": "plan", "type": "string" }));
    let contact = created("/contacts", json!({ "email": "ada@example.net" }));
    let segment = created("/segments", json!({ "name": "Some" }));
    let listed = format!("/audiences/{segment}/contacts");
    let bob = created(&listed, json!({ "email": "bob@example.net" }));
    let hook = json!({ "endpoint": "https://hooks.example/mail", "events": ["email.sent"], "status": "enabled" });
    let webhook = created("/webhooks", hook);
    let broadcast = created("/broadcasts", json!({ "from": "hello@example.com", "subject": "June", "text": "Hi" }));
    let reschedule = || json!({ "scheduled_at": "in 2 hours" });
    for (path, field, body) in [
        (format!("/emails/{id}"), "id", reschedule()),
        (format!("/emails/{id}"), "email_id", reschedule()),
        (format!("/domains/{}", server.domain_id("example.com")), "id", json!({ "open_tracking": false })),
        (format!("/api-keys/{key}"), "id", json!({ "name": "New" })),
        (format!("/topics/{topic}"), "id", json!({ "name": "New" })),
        (format!("/topics/{topic}"), "topic_id", json!({ "name": "New" })),
        (format!("/broadcasts/{broadcast}"), "id", json!({ "name": "New" })),
        (format!("/broadcasts/{broadcast}"), "broadcast_id", json!({ "name": "New" })),
        (format!("/contact-properties/{property}"), "id", json!({ "fallback_value": "x" })),
        (format!("/contacts/{contact}"), "id", json!({ "first_name": "Ada" })),
        (format!("{listed}/{bob}"), "id", json!({ "first_name": "Bob" })),
        (format!("/webhooks/{webhook}"), "webhook_id", json!({ "status": "disabled" })),
    ] {
        for value in [json!(other), json!(1), json!([other]), json!(" ")] {
            let mut different = body.clone();
            different[field] = value.clone();

            let refused = server.patch(&path, &different).refusal();

            let message = format!("Invalid `{field}` field: it differs from the id in the path. Leave it out.");
            assert_eq!(refused, format!("422 validation_error: {message}"), "{path} {value}");
        }
        for value in [json!(null), json!("")] {
            let mut empty = body.clone();
            empty[field] = value.clone();
            server.patch(&path, &empty).ok(200);
        }
    }
    for path in ["/contacts/bob@example.net".to_owned(), format!("{listed}/bob@example.net")] {
        server.patch(&path, &json!({ "id": bob, "first_name": "Bob" })).ok(200);
    }
    let within = server.post("/segments", &json!({ "name": "Other", "audience_id": segment })).refusal();
    assert_eq!(within, "422 validation_error: Invalid `audience_id` field: it has no effect here. Leave it out.");
    let hook = created(
        "/webhooks",
        json!({ "endpoint": "https://hooks.example/mail", "events": ["email.sent"], "status": "enabled" }),
    );
    let twice = format!(r#"{{"webhook_id":"{webhook}","status":"disabled","webhook_id":"{hook}"}}"#);
    let path = format!("/webhooks/{hook}");
    let refused = server.call("PATCH", &path, server.key(), &[], Some(twice.as_bytes())).refusal();
    assert!(refused.starts_with("422 validation_error: Invalid `webhook_id` field"), "{refused}");
    assert_eq!(server.get(&path).ok(200)["status"], "enabled");
    let same = json!({ "webhook_id": hook.to_uppercase(), "status": "disabled" });
    server.patch(&path, &same).ok(200);
    assert_eq!(server.get(&path).ok(200)["status"], "disabled");
}

#[test]
fn an_sdk_field_with_deeply_nested_or_open_json_is_refused() {
    let server = TestServer::start();
    let complete = email(&json!({})).to_string();
    for sdk_field in ["[".repeat(200_000), "{\"a\":".repeat(100_000), "\"open".to_owned()] {
        let body = format!("{},\"created_at\":{sdk_field}", &complete[..complete.len() - 1]);

        let refused = server.call("POST", "/emails", server.key(), &[], Some(body.as_bytes())).refusal();

        assert!(refused.starts_with("400 validation_error: The request body is not valid JSON"), "{refused}");
    }
    assert_eq!(server.stored_emails(), 0);
}

#[test]
fn the_idempotency_key_applies_also_with_a_deeply_nested_sdk_field() {
    let server = TestServer::start();
    let complete = email(&json!({})).to_string();
    // Well-formed JSON that is nested more deeply than the hash of the body accepts.
    let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
    let body = format!("{},\"created_at\":{deep}}}", &complete[..complete.len() - 1]);
    let send = || server.call("POST", "/emails", server.key(), &[("idempotency-key", "k")], Some(body.as_bytes()));

    let (first, second) = (send(), send());

    assert!(first.status >= 400 || first.json["id"] == second.json["id"], "{} {}", first.json, second.json);
    assert!(server.stored_emails() <= 1);
}

/// Returns the ids of a list.
#[track_caller]
fn listed(server: &TestServer, path: &str) -> Vec<Value> {
    let list = server.get(path).ok(200);
    list["data"].as_array().unwrap().iter().map(|row| row["id"].clone()).collect()
}

#[test]
fn a_query_parameter_that_repeats_the_path_is_ignored_on_its_route() {
    let server = TestServer::start();
    let segment = server.post("/segments", &json!({ "name": "Some" })).ok(201)["id"].as_str().unwrap().to_owned();
    let other = server.post("/segments", &json!({ "name": "Other" })).ok(201)["id"].as_str().unwrap().to_owned();
    let topic = server.post("/topics", &json!({ "name": "News", "default_subscription": "opt_in" })).ok(201);
    let fields = json!({ "email": "ada@example.net", "segments": [{ "id": segment }] });
    let contact = server.post("/contacts", &fields).ok(201)["id"].as_str().unwrap().to_owned();
    server.post("/contacts", &json!({ "email": "bob@example.net" })).ok(201);

    let of_segment = format!("/audiences/{segment}/contacts");
    for query in [format!("audience_id={segment}"), format!("audience_id={}&limit=5", segment.to_uppercase())] {
        assert_eq!(listed(&server, &format!("{of_segment}?{query}")), [json!(contact)], "{query}");
    }
    for (list, expected) in [("segments", json!(segment)), ("topics", topic["id"].clone())] {
        for path in [
            format!("/contacts/{contact}/{list}?contact_id={contact}"),
            format!("/contacts/ada%40example.net/{list}?email=ada%40example.net"),
            format!("/contacts/{contact}/{list}?contact_id={contact}&email="),
            format!("/contacts/{contact}/{list}?limit=1&contact_id={contact}"),
        ] {
            assert_eq!(listed(&server, &path), std::slice::from_ref(&expected), "{path}");
        }
    }
    for path in [
        format!("{of_segment}?audience_id={other}"),
        format!("{of_segment}?audience_id={segment}&audience_id={other}"),
        format!("{of_segment}?segment_id={segment}"),
        format!("/contacts/{contact}/segments?contact_id=bob@example.net"),
        format!("/contacts/{contact}/topics?email=ada@example.net"),
        format!("/contacts/{contact}?contact_id={contact}"),
        format!("/segments/{segment}/contacts?audience_id={segment}"),
    ] {
        let refused = server.get(&path).refusal();
        assert!(refused.starts_with("422 validation_error: Unknown query parameter `"), "{path}: {refused}");
    }
}

#[test]
fn the_audience_id_of_a_list_of_contacts_selects_the_segment() {
    let server = TestServer::start();
    let segment = server.post("/segments", &json!({ "name": "Some" })).ok(201)["id"].as_str().unwrap().to_owned();
    let other = server.post("/segments", &json!({ "name": "Other" })).ok(201)["id"].as_str().unwrap().to_owned();
    let fields = json!({ "email": "ada@example.net", "segments": [{ "id": segment }] });
    let contact = server.post("/contacts", &fields).ok(201)["id"].clone();
    server.post("/contacts", &json!({ "email": "bob@example.net" })).ok(201);

    for query in [format!("audience_id={segment}"), format!("audience_id={segment}&segment_id={segment}")] {
        assert_eq!(listed(&server, &format!("/contacts?{query}")), std::slice::from_ref(&contact), "{query}");
    }
    assert_eq!(listed(&server, "/contacts?audience_id=").len(), 2);
    assert_eq!(listed(&server, &format!("/contacts?audience_id={other}")), Vec::<Value>::new());
    let unknown = "0190a6c0-0000-7000-8000-000000000001";
    server.get(&format!("/contacts?audience_id={unknown}")).refused(404, "not_found", "Segment not found");
    let refused = server.get("/contacts?audience_id=x").refusal();
    assert_eq!(refused, "422 validation_error: The `audience_id` must be a valid UUID.");
    let refused = server.get(&format!("/contacts?audience_id={other}&segment_id={segment}")).refusal();
    assert!(refused.starts_with("422 validation_error: Use either `segment_id` or `audience_id`"), "{refused}");
}

/// PHP encodes an empty map as an empty list.
#[test]
fn an_empty_list_is_an_empty_map() {
    let server = TestServer::start();
    let id = server.send(&json!({ "headers": [] }));
    server.wait_for(&id, "delivered");
    server.post("/emails/batch", &json!([email(&json!({ "headers": [] }))])).ok(200);
    let contact = json!({ "email": "ada@example.net", "properties": [] });
    assert_eq!(server.post("/contacts", &contact).ok(201)["properties"], json!({}));
    server.patch("/contacts/ada@example.net", &json!({ "properties": { "plan": "pro" } })).ok(200);
    let unchanged = server.patch("/contacts/ada@example.net", &json!({ "properties": [] })).ok(200);
    assert_eq!(unchanged["properties"]["plan"]["value"], "pro");
    let batch = server.post("/contacts/batch?on_conflict=upsert", &json!([contact])).ok(200);
    assert_eq!(batch["counts"]["failed"], 0);

    for (path, body) in [
        ("/emails", email(&json!({ "headers": ["X-A"] }))),
        ("/emails", email(&json!({ "headers": [[]] }))),
        ("/contacts", json!({ "email": "bob@example.net", "properties": [{ "plan": "pro" }] })),
    ] {
        let refused = server.post(path, &body).refusal();
        assert!(refused.contains("invalid type: sequence, expected "), "{path} {body}: {refused}");
    }
}
