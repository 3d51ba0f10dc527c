//! `PATCH /segments/{id}`.

use serde_json::{Value, json};

use super::{NOBODY, contact, count, create, one};
use crate::support::{TestServer, assert_body};

#[test]
fn a_segment_is_changed_and_shown_whole() {
    let server = TestServer::start();
    contact(&server, "Ada", &json!({}));
    let segment = create(&server, &json!(null));
    let path = format!("/segments/{segment}");
    assert_eq!(count(&server, &segment), 0);

    let changes = json!({ "name": "Others", "filter": one("first_name", "equals", &json!("Ada")) });
    assert_body!(server.patch(&path, &changes).ok(200));

    assert_eq!(count(&server, &segment), 1);
}

#[test]
fn what_an_update_leaves_out_stays_and_null_clears_the_filter_alone() {
    let server = TestServer::start();
    let filter = one("email", "is_set", &Value::Null);
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
fn a_refused_update_changes_nothing() {
    let server = TestServer::start();
    let path = format!("/segments/{}", create(&server, &one("email", "is_set", &Value::Null)));
    let before = server.get(&path).ok(200);

    for changes in [
        json!({ "name": "" }),
        json!({ "name": "Other", "filter": { "match": "all" } }),
        json!({ "name": "Other", "filter": one("email", "before", &json!("2026-01-05")) }),
        json!({ "name": "Other", "contact_count": 5 }),
    ] {
        assert_eq!(server.patch(&path, &changes).status, 422, "{changes}");
    }

    assert_eq!(server.get(&path).ok(200), before);
    server.patch(NOBODY, &json!({ "name": "Other" })).refused(404, "not_found", "Segment not found");
}
