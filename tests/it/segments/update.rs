//! `PATCH /segments/{id}`.

use serde_json::{Value, json};

use super::{UNKNOWN, contact_count, create, create_contact, one_condition};
use crate::support::{TestServer, assert_body};

#[test]
fn an_update_returns_all_fields_of_the_segment() {
    let server = TestServer::start();
    create_contact(&server, "Ada", &json!({}));
    let segment = create(&server, &json!(null));
    let path = format!("/segments/{segment}");
    assert_eq!(contact_count(&server, &segment), 0);

    let changes = json!({ "name": "Others", "filter": one_condition("first_name", "equals", &json!("Ada")) });
    assert_body!(server.patch(&path, &changes).ok(200));

    assert_eq!(contact_count(&server, &segment), 1);
}

#[test]
fn an_absent_field_is_unchanged_and_null_clears_only_the_filter() {
    let server = TestServer::start();
    let filter = one_condition("email", "is_set", &Value::Null);
    let path = format!("/segments/{}", create(&server, &filter));

    for (changes, name, filter) in [
        (json!({}), "Some", &filter),
        (json!({ "name": null }), "Some", &filter),
        (json!({ "name": "Other" }), "Other", &filter),
        (json!({ "filter": null }), "Other", &Value::Null),
        (json!({ "name": "Third" }), "Third", &Value::Null),
    ] {
        let updated = server.patch(&path, &changes).ok(200);

        assert_eq!((updated["name"].as_str().unwrap(), &updated["filter"]), (name, filter), "{changes}");
    }
}

#[test]
fn a_refused_update_leaves_the_segment_unchanged() {
    let server = TestServer::start();
    let path = format!("/segments/{}", create(&server, &one_condition("email", "is_set", &Value::Null)));
    let before = server.get(&path).ok(200);

    for changes in [
        json!({ "name": "" }),
        json!({ "name": "Other", "filter": { "match": "all" } }),
        json!({ "name": "Other", "filter": one_condition("email", "before", &json!("2026-01-05")) }),
        json!({ "name": "Other", "contact_count": 5 }),
    ] {
        assert_eq!(server.patch(&path, &changes).status, 422, "{changes}");
    }

    assert_eq!(server.get(&path).ok(200), before);
    server.patch(UNKNOWN, &json!({ "name": "Other" })).refused(404, "not_found", "Segment not found");
}
