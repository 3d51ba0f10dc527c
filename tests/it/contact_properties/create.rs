//! `POST /contact-properties`.

use serde_json::{Value, json};

use super::create;
use crate::support::{TestServer, assert_body};

#[test]
fn a_create_returns_all_fields_of_the_property() {
    let server = TestServer::start();

    let created = server.post("/contact-properties", &json!({ "key": " Company_Name ", "type": "string" })).ok(201);

    let path = format!("/contact-properties/{}", created["id"].as_str().unwrap());
    assert_eq!(server.get(&path).ok(200), created);
    assert_body!(created);
}

#[test]
fn a_fallback_value_of_any_type_is_shown_as_text() {
    let server = TestServer::start();
    for (index, (kind, given, shown)) in [
        ("string", json!("there"), json!("there")),
        ("string", json!(""), json!("")),
        ("string", json!("ü".repeat(1_000)), json!("ü".repeat(1_000))),
        ("string", json!(null), json!(null)),
        ("number", json!(18), json!("18")),
        ("number", json!(18.0), json!("18")),
        ("number", json!(-0.5), json!("-0.5")),
        ("number", json!(1e300), json!("1e300")),
        ("number", json!("18"), json!("18")),
        ("number", json!(null), json!(null)),
    ]
    .into_iter()
    .enumerate()
    {
        let property = json!({ "key": format!("key_{index}"), "type": kind, "fallback_value": given });

        let created = server.post("/contact-properties", &property).ok(201);

        assert_eq!((&created["type"], &created["fallback_value"]), (&json!(kind), &shown), "{property}");
    }
}

#[test]
fn a_key_that_differs_only_in_case_is_a_conflict() {
    let server = TestServer::start();
    let path = create(&server, &json!({ "key": "Plan", "type": "string" }));
    for key in ["Plan", "plan", " PLAN "] {
        let message =
            format!("The contact property `{}` exists already. Keys are the same in either letter case.", key.trim());

        let again = server.post("/contact-properties", &json!({ "key": key, "type": "number" }));

        again.refused(409, "validation_error", &message);
    }
    let other = server.other_team("Other", "other.example");
    other.post("/contact-properties", &json!({ "key": "plan", "type": "number" })).ok(201);

    server.delete(&path).ok(200);
    create(&server, &json!({ "key": "plan", "type": "number" }));
}

#[test]
fn the_name_of_a_built_in_field_is_a_valid_key() {
    let server = TestServer::start();
    for key in ["EMAIL", "FIRST_NAME", "LAST_NAME", "UNSUBSCRIBE_URL", "contact", "this"] {
        create(&server, &json!({ "key": key, "type": "string" }));
    }
}

#[test]
fn each_invalid_field_of_a_property_is_reported_and_nothing_is_stored() {
    let server = TestServer::start();
    let missing = |field: &str| format!("422 missing_required_field: Missing `{field}` field.");
    let key = "422 validation_error: Invalid `key` field: it must have 1 to 50 characters: letters from a to z in \
               either case, digits and underscores.";
    let kind = "422 validation_error: Invalid `type` field: use `string` or `number`.";
    let typed = |field: &str, found: &str, expected: &str| {
        format!("422 validation_error: Invalid `{field}` field: invalid type: {found}, expected {expected}.")
    };
    let either = "a string, a number or null";
    let fallback = |why: &str| format!("422 validation_error: Invalid `fallback_value` field: {why}.");
    let number = |value: Value| json!({ "type": "number", "fallback_value": value });
    for (fields, refusal) in [
        (json!({ "key": null }), missing("key")),
        (json!({ "key": "" }), key.to_owned()),
        (json!({ "key": "k".repeat(51) }), key.to_owned()),
        (json!({ "key": "first name" }), key.to_owned()),
        (json!({ "key": "first-name" }), key.to_owned()),
        (json!({ "key": "größe" }), key.to_owned()),
        (json!({ "key": "{{{x}}}" }), key.to_owned()),
        (json!({ "key": "a\u{0}" }), key.to_owned()),
        (json!({ "key": 5 }), typed("key", "integer `5`", "a string")),
        (json!({ "type": null }), missing("type")),
        (json!({ "type": "" }), kind.to_owned()),
        (json!({ "type": "String" }), kind.to_owned()),
        (json!({ "type": "boolean" }), kind.to_owned()),
        (json!({ "type": ["string"] }), typed("type", "sequence", "a string")),
        (json!({ "fallback_value": 5 }), fallback("the property is a string; give a string or null")),
        (json!({ "fallback_value": "f".repeat(1_001) }), fallback("it may have 1000 characters")),
        (json!({ "fallback_value": true }), typed("fallback_value", "boolean `true`", either)),
        (json!({ "fallback_value": [] }), typed("fallback_value", "sequence", either)),
        (json!({ "fallback_value": { "a": 1 } }), typed("fallback_value", "map", either)),
        (number(json!("twelve")), fallback("the property is a number; give a number or null")),
        (number(json!("")), fallback("the property is a number; give a number or null")),
        (number(json!("Infinity")), fallback("the property is a number; give a number or null")),
        (
            json!({ "fallbackValue": 1 }),
            "422 validation_error: Invalid `fallbackValue` field: unknown field `fallbackValue`, expected one of `key`, \
             `type`, `fallback_value`. Did you mean `fallback_value`?"
                .to_owned(),
        ),
    ] {
        let mut property = json!({ "key": "plan", "type": "string" });
        property.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());

        assert_eq!(server.post("/contact-properties", &property).refusal(), refusal, "{property}");
    }
    assert_eq!(server.get("/contact-properties").ok(200)["data"], json!([]));
    create(&server, &json!({ "key": "k".repeat(50), "type": "string" }));
}

#[test]
fn a_number_that_is_not_finite_is_malformed_json() {
    let server = TestServer::start();
    let body = br#"{"key": "age", "type": "number", "fallback_value": 1e999}"#;

    let response = server.call("POST", "/contact-properties", server.key(), &[], Some(body));

    assert_eq!((response.status, response.json["name"].as_str()), (400, Some("validation_error")));
}

#[test]
fn contact_properties_require_a_full_access_key() {
    let server = TestServer::start();
    let key = server.create_sending_key();
    let one = create(&server, &json!({ "key": "plan", "type": "string" }));
    for (method, path) in [
        ("POST", "/contact-properties"),
        ("GET", "/contact-properties"),
        ("GET", &*one),
        ("PATCH", &*one),
        ("DELETE", &*one),
    ] {
        assert_eq!(server.call(method, path, "", &[], None).status, 401, "{method} {path}");
        let refused = server.call(method, path, &key, &[], None);
        refused.refused(403, "restricted_api_key", "This API key is restricted to only send emails");
    }
}
