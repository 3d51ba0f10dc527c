//! `POST /templates`.

use serde_json::{Value, json};

use super::create;
use crate::support::TestServer;

#[test]
fn a_new_template_is_a_draft_with_the_given_content() {
    let server = TestServer::start();
    let fields = json!({
        "name": " Receipt ", "alias": "Receipt-2.a_b", "subject": "Order {{{ID}}}", "html": "<p>{{{ID}}}</p>",
        "text": "{{{ID}}}", "from": null, "reply_to": null, "variables": [],
    });

    let created = server.post("/templates", &fields).ok(201);

    let read = server.get("/templates/Receipt-2.a_b").ok(200);
    assert_eq!(created, json!({ "object": "template", "id": read["id"] }));
    let expected = json!({
        "object": "template", "id": read["id"], "current_version_id": read["current_version_id"], "name": "Receipt",
        "alias": "Receipt-2.a_b", "status": "draft", "published_at": null, "created_at": read["created_at"],
        "updated_at": read["created_at"], "has_unpublished_versions": true, "from": null, "subject": "Order {{{ID}}}",
        "reply_to": null, "html": "<p>{{{ID}}}</p>", "text": "{{{ID}}}", "variables": [],
    });
    assert_eq!(read, expected);
}

#[test]
fn an_optional_field_can_be_null_or_empty() {
    let server = TestServer::start();
    for rest in [json!(null), json!("")] {
        let fields = json!({ "alias": rest, "subject": rest, "text": rest, "from": rest, "reply_to": rest });

        let read = server.get(&create(&server, &fields)).ok(200);

        assert_eq!((&read["alias"], &read["subject"], &read["text"]), (&Value::Null, &Value::Null, &Value::Null));
    }
    create(&server, &json!({ "variables": null, "reply_to": [], "from": {} }));
}

#[test]
fn an_invalid_field_of_a_template_is_refused_and_nothing_is_stored() {
    let server = TestServer::start();
    let invalid = |field: &str| format!("422 validation_error: Invalid `{field}` field: ");
    let missing = |field: &str| format!("422 missing_required_field: Missing `{field}` field.");
    let too_large = "422 validation_error: Invalid `html` or `text` field: together they may have 1048576 bytes.";
    for (field, value, refusal) in [
        ("name", json!(null), missing("name")),
        ("name", json!(""), invalid("name")),
        ("name", json!("n".repeat(256)), invalid("name")),
        ("name", json!("a\nb"), invalid("name")),
        ("html", json!(null), missing("html")),
        ("html", json!(""), invalid("html")),
        ("html", json!(5), invalid("html")),
        ("html", json!("a".repeat((1 << 20) + 1)), too_large.to_owned()),
        ("text", json!("a".repeat(1 << 20)), too_large.to_owned()),
        ("subject", json!("s".repeat(999)), invalid("subject")),
        ("subject", json!("a\r\nb"), invalid("subject")),
        ("alias", json!("a b"), invalid("alias")),
        ("alias", json!("-a"), invalid("alias")),
        ("alias", json!("a".repeat(101)), invalid("alias")),
        ("alias", json!("0190a6c0-0000-7000-8000-000000000001"), invalid("alias")),
        ("from", json!("a@example.com"), invalid("from")),
        ("from", json!(true), invalid("from")),
        ("reply_to", json!("a@example.com"), invalid("reply_to")),
        ("reply_to", json!(["a@example.com"]), invalid("reply_to")),
        ("variables", json!([{ "key": "ID", "type": "string" }]), invalid("variables")),
        ("variables", json!({ "ID": 1 }), invalid("variables")),
        ("subjekt", json!("a"), invalid("subjekt")),
    ] {
        let mut template = json!({ "name": "Receipt", "html": "<p>Hello</p>" });
        template[field] = value;

        let refused = server.post("/templates", &template).refusal();

        assert!(refused.starts_with(&refusal), "{field}: {refused}");
    }
    assert_eq!(server.get("/templates").ok(200)["data"], json!([]));
}

#[test]
fn an_alias_of_another_template_conflicts() {
    let server = TestServer::start();
    let first = create(&server, &json!({ "alias": "receipt" }));
    let second = create(&server, &json!({ "alias": "Receipt" }));
    let message = "The alias `receipt` belongs to another template. Choose another alias, or remove it there first.";

    let taken = json!({ "name": "Other", "html": "<p>Hi</p>", "alias": "receipt" });
    server.post("/templates", &taken).refused(409, "validation_error", message);
    server.patch(&second, &json!({ "alias": "receipt" })).refused(409, "validation_error", message);
    server.patch(&first, &json!({ "alias": "receipt", "name": "New" })).ok(200);

    assert_eq!(server.get("/templates").ok(200)["data"].as_array().map(Vec::len), Some(2));
    server.delete("/templates/receipt").ok(200);
    server.patch(&second, &json!({ "alias": "receipt" })).ok(200);
    let other = server.other_team("Other", "other.example");
    other.post("/templates", &taken).ok(201);
}

#[test]
fn a_sending_key_cannot_use_templates() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));
    let key = server.create_sending_key();

    for (method, path) in [("GET", "/templates"), ("POST", "/templates"), ("GET", &path), ("DELETE", &path)] {
        let refused = server.call(method, path, &key, &[], Some(b"{}"));
        refused.refused(403, "restricted_api_key", "This API key is restricted to only send emails");
    }
}
