//! `PATCH /contact-properties/{id}`.

use serde_json::json;

use super::{UNKNOWN, create};
use crate::support::{TestServer, assert_body};

#[test]
fn an_update_of_the_fallback_returns_all_fields_of_the_property() {
    let server = TestServer::start();
    let path = create(&server, &json!({ "key": "Age", "type": "number" }));

    let changed = server.patch(&path, &json!({ "fallback_value": 21.5 })).ok(200);

    assert_eq!(server.get(&path).ok(200), changed);
    assert_body!(changed);
}

#[test]
fn an_update_without_change_keeps_the_property_and_null_clears_the_fallback() {
    let server = TestServer::start();
    let path = create(&server, &json!({ "key": "plan", "type": "string", "fallback_value": "free" }));
    let before = server.get(&path).ok(200);

    for body in [json!({}), json!({ "key": null, "type": null }), json!({ "fallback_value": "free" })] {
        assert_eq!(server.patch(&path, &body).ok(200), before, "{body}");
    }
    let cleared = server.patch(&path, &json!({ "fallback_value": null })).ok(200);
    assert_eq!(cleared["fallback_value"], json!(null));
    assert_eq!(server.patch(&path, &json!({ "fallback_value": null })).ok(200), cleared);
}

#[test]
fn the_shown_text_of_a_number_is_a_valid_fallback() {
    let server = TestServer::start();
    let path = create(&server, &json!({ "key": "age", "type": "number", "fallback_value": 0.1 }));
    let before = server.get(&path).ok(200);

    let again = server.patch(&path, &json!({ "fallback_value": before["fallback_value"] })).ok(200);

    assert_eq!(again, before);
}

#[test]
fn the_key_and_the_type_cannot_be_changed() {
    let server = TestServer::start();
    let path = create(&server, &json!({ "key": "plan", "type": "string" }));
    let key = "The `key` field cannot be changed: contacts hold their values under it. Leave the field out, or define \
               another property.";
    let kind = "The `type` field cannot be changed: values of contacts were accepted as it says. Leave the field out, \
                or define another property.";
    for (body, message) in [
        (json!({ "key": "plan" }), key),
        (json!({ "key": "other", "fallback_value": "x" }), key),
        (json!({ "type": "string" }), kind),
        (json!({ "type": "number", "fallback_value": 1 }), kind),
    ] {
        server.patch(&path, &body).refused(422, "validation_error", message);
    }
    let property = server.get(&path).ok(200);
    assert_eq!((&property["key"], &property["fallback_value"]), (&json!("plan"), &json!(null)));
}

#[test]
fn a_fallback_of_another_type_is_refused() {
    let server = TestServer::start();
    let text = create(&server, &json!({ "key": "plan", "type": "string", "fallback_value": "free" }));
    let number = create(&server, &json!({ "key": "age", "type": "number", "fallback_value": 18 }));
    let long = "1".repeat(1_001);
    for (path, fallback, why) in [
        (&text, json!(5), "the property is a string; give a string or null."),
        (&text, json!(long), "it may have 1000 characters."),
        (&text, json!(false), "invalid type: boolean `false`, expected a string, a number or null."),
        (&number, json!("old"), "the property is a number; give a number or null."),
        (&number, json!(" "), "the property is a number; give a number or null."),
        (&number, json!("1e999"), "the property is a number; give a number or null."),
        (&number, json!([18]), "invalid type: sequence, expected a string, a number or null."),
    ] {
        let refused = server.patch(path, &json!({ "fallback_value": fallback })).refusal();

        assert_eq!(refused, format!("422 validation_error: Invalid `fallback_value` field: {why}"), "{fallback}");
    }
    let unknown = server.patch(&text, &json!({ "fallback": "x" })).refusal();
    assert!(unknown.starts_with("422 validation_error: Invalid `fallback` field: unknown field"), "{unknown}");
    assert_eq!(server.get(&text).ok(200)["fallback_value"], "free");
    assert_eq!(server.get(&number).ok(200)["fallback_value"], "18");
    server.patch(UNKNOWN, &json!({ "fallback_value": "x" })).refused(404, "not_found", "Contact property not found");
    let malformed = server.patch("/contact-properties/1", &json!({}));
    malformed.refused(422, "validation_error", "The `id` must be a valid UUID.");
}
