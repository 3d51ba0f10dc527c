//! The contacts that filters match.

use serde_json::{Value, json};

use super::{contact_count, create, create_contact, first_names, one_condition};
use crate::support::TestServer;

/// Creates a segment with one condition and returns the first names of its contacts, sorted.
#[track_caller]
fn matched(server: &TestServer, field: &str, op: &str, value: &Value) -> Vec<String> {
    let segment = create(server, &one_condition(field, op, value));
    let mut names = first_names(server, &format!("/segments/{segment}/contacts"));
    assert_eq!(contact_count(server, &segment), names.len() as u64, "{field} {op} {value}");
    names.sort_unstable();
    names
}

#[test]
fn each_operator_matches_only_the_contacts_that_satisfy_it() {
    let server = TestServer::start();
    server.post("/contact-properties", &json!({ "key": "seats", "type": "number" })).ok(201);
    create_contact(&server, "Ada", &json!({ "last_name": "Lovelace", "properties": { "plan": "pro", "seats": 10 } }));
    create_contact(&server, "Bea", &json!({ "last_name": "", "properties": { "plan": "100%_\\", "seats": 4 } }));
    create_contact(&server, "Cay", &json!({ "unsubscribed": true, "properties": { "plan": "Pro" } }));
    for (field, op, value, expected) in [
        ("email", "equals", json!("ada@example.com"), &["Ada"][..]),
        ("email", "equals", json!("ADA@example.com"), &[]),
        ("email", "not_equals", json!("ada@example.com"), &["Bea", "Cay"]),
        ("email", "contains", json!("a@"), &["Ada", "Bea"]),
        ("first_name", "starts_with", json!("A"), &["Ada"]),
        ("first_name", "starts_with", json!("a"), &[]),
        ("first_name", "ends_with", json!("y"), &["Cay"]),
        ("last_name", "is_set", Value::Null, &["Ada"]),
        ("last_name", "is_not_set", Value::Null, &["Bea", "Cay"]),
        ("last_name", "not_equals", json!("Lovelace"), &["Bea", "Cay"]),
        ("unsubscribed", "is_true", Value::Null, &["Cay"]),
        ("unsubscribed", "is_false", Value::Null, &["Ada", "Bea"]),
        ("created_at", "after", json!("2026-01-05"), &["Ada", "Bea", "Cay"]),
        ("created_at", "before", json!("2026-01-05"), &[]),
        ("property:plan", "equals", json!("pro"), &["Ada"]),
        ("property:Plan", "equals", json!("pro"), &[]),
        ("property:plan", "contains", json!("%"), &["Bea"]),
        ("property:plan", "contains", json!("r_"), &[]),
        ("property:plan", "ends_with", json!("\\"), &["Bea"]),
        ("property:seats", "equals", json!("4"), &["Bea"]),
        ("property:seats", "is_not_set", Value::Null, &["Cay"]),
        ("property:seats", "greater_than", json!("9"), &["Ada"]),
        ("property:seats", "less_than", json!("10"), &["Bea"]),
        ("property:plan", "less_than", json!("10"), &[]),
    ] {
        assert_eq!(matched(&server, field, op, &value), expected, "{field} {op} {value}");
    }
}

#[test]
fn special_characters_in_values_and_keys_have_no_effect() {
    let server = TestServer::start();
    create_contact(&server, "Ada", &json!({ "properties": { "plan": "pro" } }));
    let special = "x' OR '1'='1'; DROP TABLE contacts; -- %_{{{}}}\u{202e}";
    create_contact(&server, "Bea", &json!({ "last_name": special, "properties": { special: special } }));

    assert_eq!(matched(&server, "last_name", "equals", &json!(special)), ["Bea"]);
    assert_eq!(matched(&server, &format!("property:{special}"), "equals", &json!(special)), ["Bea"]);
    assert_eq!(matched(&server, "email", "contains", &json!(special)), [] as [&str; 0]);
    assert_eq!(matched(&server, "property:plan' OR ''='", "is_set", &Value::Null), [] as [&str; 0]);
    assert_eq!(matched(&server, "first_name", "equals", &json!("Ada\u{0}")), [] as [&str; 0]);
    assert_eq!(first_names(&server, "/contacts"), ["Bea", "Ada"]);
}

#[test]
fn all_requires_every_condition_and_any_requires_one() {
    let server = TestServer::start();
    create_contact(&server, "Ada", &json!({ "last_name": "Lovelace" }));
    create_contact(&server, "Bea", &json!({ "last_name": "Lovelace" }));
    create_contact(&server, "Cay", &json!({}));
    let conditions = json!([
        { "field": "first_name", "op": "equals", "value": "Ada" },
        { "field": "last_name", "op": "is_set", "value": null },
    ]);
    for (mode, expected) in [("all", 1), ("any", 2)] {
        let segment = create(&server, &json!({ "match": mode, "conditions": conditions }));

        assert_eq!(contact_count(&server, &segment), expected, "{mode}");
    }
}
