//! `POST /segments`.

use serde_json::{Value, json};

use super::one_condition;
use crate::support::{TestServer, assert_body};

#[test]
fn a_create_returns_all_fields_of_the_segment() {
    let server = TestServer::start();

    let created = server.post("/segments", &json!({ "name": " Everyone " })).ok(201);

    assert_body!(created);
}

#[test]
fn a_filter_is_returned_unchanged() {
    let server = TestServer::start();
    let filter = json!({ "match": "any", "conditions": [
        { "field": "email", "op": "ends_with", "value": "@example.com" },
        { "field": "property:plan", "op": "is_set", "value": null },
        { "field": "created_at", "op": "before", "value": "2026-01-05" },
    ] });

    let created = server.post("/segments", &json!({ "name": "Some", "filter": filter })).ok(201);

    assert_eq!(created["filter"], filter);
    let path = format!("/segments/{}", created["id"].as_str().unwrap());
    assert_eq!(server.get(&path).ok(200)["filter"], filter);
    assert_eq!(server.get("/segments").ok(200)["data"][0]["filter"], filter);
}

#[test]
fn an_absent_filter_equals_null() {
    let server = TestServer::start();

    for body in [json!({ "name": "Some" }), json!({ "name": "Some", "filter": null, "audience_id": null })] {
        assert_eq!(server.post("/segments", &body).ok(201)["filter"], Value::Null);
    }
}

#[test]
fn each_invalid_field_of_a_segment_is_reported_and_nothing_is_stored() {
    let server = TestServer::start();
    let missing = |field: &str| format!("422 missing_required_field: Missing `{field}` field.");
    let invalid = |field: &str, rest: &str| format!("422 validation_error: Invalid `{field}` field: {rest}.");
    let name = invalid("name", "it must have 1 to 255 characters and no control characters");
    let filter = |filter: Value| json!({ "name": "Some", "filter": filter });
    for (body, refusal) in [
        (json!({}), missing("name")),
        (json!({ "name": null }), missing("name")),
        (json!({ "name": " " }), name.clone()),
        (json!({ "name": "n".repeat(256) }), name.clone()),
        (json!({ "name": "a\u{0}b" }), name),
        (json!({ "name": 5 }), invalid("name", "invalid type: integer `5`, expected a string")),
        (
            json!({ "name": "Some", "rules": [] }),
            invalid("rules", "unknown field `rules`, expected `name` or `filter`"),
        ),
        (filter(json!({})), missing("filter.match")),
        (filter(json!({ "match": "all" })), missing("filter.conditions")),
        (filter(json!({ "match": "none", "conditions": [] })), invalid("filter.match", "`all` and `any` are accepted")),
        (
            filter(json!({ "match": "all", "conditions": {} })),
            invalid("filter.conditions", "invalid type: map, expected a sequence"),
        ),
        (filter(json!({ "match": "all", "conditions": [{}] })), missing("filter.conditions[0].field")),
        (filter(json!({ "match": "all", "conditions": [{ "field": "email" }] })), missing("filter.conditions[0].op")),
        (
            filter(one_condition("phone", "equals", &json!("1"))),
            invalid(
                "filter.conditions[0].field",
                "`phone` is no field of a contact; `email`, `first_name`, `last_name`, `unsubscribed`, `created_at` \
                 and `property:<key>` are accepted",
            ),
        ),
        (
            filter(one_condition("created_at", "equals", &json!("2026-01-05"))),
            invalid("filter.conditions[0].op", "`equals` is no operator of `created_at`; it takes `before`, `after`"),
        ),
        (
            filter(one_condition("email", "contains", &Value::Null)),
            invalid("filter.conditions[0].value", "`contains` compares with a value; give a string"),
        ),
        (
            filter(one_condition("email", "contains", &json!(5))),
            invalid("filter.conditions[0].value", "invalid type: integer `5`, expected a string"),
        ),
        (
            filter(one_condition("created_at", "after", &json!("yesterday"))),
            invalid(
                "filter.conditions[0].value",
                "`yesterday` is no date; ISO 8601 is accepted, such as `2026-01-05` or `2026-01-05T09:12:33Z`",
            ),
        ),
        (
            filter(json!({ "match": "all", "conditions": vec![json!({ "field": "email", "op": "is_set" }); 51] })),
            invalid("filter.conditions", "there are 51 conditions; up to 50 are accepted"),
        ),
        (filter(json!([])), invalid("filter", "invalid type: sequence, expected an object")),
    ] {
        assert_eq!(server.post("/segments", &body).refusal(), refusal, "{body}");
    }
    assert_eq!(server.get("/segments").ok(200)["data"], json!([]));
}
