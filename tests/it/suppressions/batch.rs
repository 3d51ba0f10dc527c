//! `POST /suppressions/batch/add` and `POST /suppressions/batch/remove`.

use serde_json::{Value, json};

use super::{UNKNOWN_ID, add_suppression, suppression_event_summaries, suppression_events};
use crate::support::TestServer;

const ADD: &str = "/suppressions/batch/add";
const REMOVE: &str = "/suppressions/batch/remove";

fn ids(response: &Value) -> Vec<&str> {
    response["data"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect()
}

#[test]
fn a_batch_adds_each_address_once_in_the_order_of_the_request() {
    let server = TestServer::start();
    let known = add_suppression(&server, "known@example.net", "complaint");

    let emails =
        ["Bob <bob@example.net>", "known@example.net", "BOB@example.net", "ada@example.net", "Known@example.net"];
    let added = server.post(ADD, &json!({ "emails": emails, "origin": "bounce" })).ok(201);

    let [bob, existing, ada] = ids(&added)[..] else { panic!("{added}") };
    assert_eq!(existing, known);
    assert_eq!(added["data"][0], json!({ "object": "suppression", "id": bob }));
    assert!(bob < ada, "the first address has the older entry");
    for (id, email, origin) in [
        (bob, "bob@example.net", "bounce"),
        (existing, "known@example.net", "complaint"),
        (ada, "ada@example.net", "bounce"),
    ] {
        let entry = server.get(&format!("/suppressions/{id}")).ok(200);
        assert_eq!((&entry["email"], &entry["origin"]), (&json!(email), &json!(origin)));
    }
    assert_eq!(suppression_events(&server).len(), 3);
    assert_eq!(
        server.post(ADD, &json!({ "emails": emails })).ok(201),
        added,
        "a repeated request has the same response"
    );
    assert_eq!(suppression_events(&server).len(), 3);
}

#[test]
fn a_batch_removes_existing_entries_and_skips_the_others() {
    let server = TestServer::start();
    let [ada, bob, eve] =
        ["ada", "bob", "eve"].map(|name| add_suppression(&server, &format!("{name}@example.net"), "manual"));
    let deleted = |ids: &[&String]| {
        let rows: Vec<Value> =
            ids.iter().map(|id| json!({ "object": "suppression", "id": id, "deleted": true })).collect();
        json!({ "data": rows })
    };

    let emails = json!({ "emails": ["nobody@example.net", "Bob <BOB@example.net>", "bob@example.net"] });
    assert_eq!(server.post(REMOVE, &emails).ok(200), deleted(&[&bob]));
    let by_id = json!({ "ids": [eve, UNKNOWN_ID, bob, ada.to_uppercase(), eve] });
    assert_eq!(server.post(REMOVE, &by_id).ok(200), deleted(&[&eve, &ada]));
    assert_eq!(server.post(REMOVE, &by_id).ok(200), deleted(&[]));

    assert_eq!(server.get("/suppressions").ok(200)["data"], json!([]));
    let removed = ["bob", "eve", "ada"].map(|name| ("suppression.removed".to_owned(), format!("{name}@example.net")));
    assert_eq!(suppression_event_summaries(&server)[3..], removed);
}

#[test]
fn an_entry_named_twice_is_removed_once_and_keeps_its_opt_out() {
    let server = TestServer::start();
    let ada = add_suppression(&server, "ada@example.net", "bounce");
    add_suppression(&server, "ada@example.net", "unsubscribe");

    let removed = server.post(REMOVE, &json!({ "ids": [ada, ada] })).ok(200);

    assert_eq!(ids(&removed), [ada.as_str()]);
    assert_eq!(server.get("/suppressions/ada@example.net").ok(200)["origin"], "unsubscribe");
}

#[test]
fn a_batch_accepts_at_most_1000_items() {
    let server = TestServer::start();
    let emails: Vec<String> = (0..1_001).map(|number| format!("r{number}@example.net")).collect();
    for path in [ADD, REMOVE] {
        let refused = server.post(path, &json!({ "emails": emails })).refusal();
        assert!(refused.starts_with("422 validation_error: Invalid `emails` field: more than 1000 items"), "{refused}");
    }

    let added = server.post(ADD, &json!({ "emails": emails[1..] })).ok(201);
    assert_eq!(ids(&added).len(), 1_000);
    let removed = server.post(REMOVE, &json!({ "ids": ids(&added) })).ok(200);

    assert_eq!(ids(&removed), ids(&added));
    assert_eq!(suppression_events(&server).len(), 2_000);
}

#[test]
fn an_invalid_item_is_reported_with_its_index_and_nothing_is_changed() {
    let server = TestServer::start();
    add_suppression(&server, "ada@example.net", "manual");
    let missing = "422 missing_required_field: Missing `emails` or `ids` field";
    for (path, body, message) in [
        (ADD, json!({}), "422 missing_required_field: Missing `emails` field."),
        (ADD, json!({ "emails": null }), "422 missing_required_field: Missing `emails` field."),
        (ADD, json!({ "emails": [] }), "422 validation_error: Invalid `emails` field: the array is empty"),
        (ADD, json!({ "emails": "a@example.net" }), "422 validation_error: Invalid `emails` field: invalid type"),
        (ADD, json!({ "emails": ["a@example.net", "b"] }), "422 validation_error: Invalid `emails[1]` field: "),
        (ADD, json!({ "emails": ["a@example.net", null] }), "422 validation_error: Invalid `emails[1]` field: "),
        (ADD, json!({ "emails": ["a@example.net", "b\r\n@c.d"] }), "422 validation_error: Invalid `emails[1]` field: "),
        (ADD, json!({ "emails": ["a@example.net"], "origin": "x" }), "422 validation_error: Invalid `origin` field: "),
        (ADD, json!({ "emails": ["a@example.net"], "ids": [] }), "422 validation_error: Invalid `ids` field: unknown"),
        (ADD, json!(["a@example.net"]), "422 validation_error: Invalid request body"),
        (REMOVE, json!({}), missing),
        (REMOVE, json!({ "emails": null, "ids": null }), missing),
        (REMOVE, json!({ "emails": [], "ids": [] }), "422 validation_error: Use either the `emails` field or the"),
        (REMOVE, json!({ "emails": [] }), "422 validation_error: Invalid `emails` field: the array is empty"),
        (REMOVE, json!({ "ids": [] }), "422 validation_error: Invalid `ids` field: the array is empty"),
        (
            REMOVE,
            json!({ "ids": [UNKNOWN_ID, "x"] }),
            "422 validation_error: Invalid `ids[1]` field: it must be a valid",
        ),
        (REMOVE, json!({ "emails": ["ada@example.net", ""] }), "422 validation_error: Invalid `emails[1]` field: "),
        (
            REMOVE,
            json!({ "emails": ["ada@example.net"], "origin": "manual" }),
            "422 validation_error: Invalid `origin`",
        ),
    ] {
        let refused = server.post(path, &body).refusal();
        assert!(refused.starts_with(message), "{path} {body}: {refused}");
    }
    assert_eq!(suppression_events(&server).len(), 1);
}

#[test]
fn the_batch_paths_allow_only_post() {
    let server = TestServer::start();
    for path in [ADD, REMOVE] {
        for method in ["GET", "DELETE", "PATCH"] {
            let response = server.call(method, path, server.key(), &[], None);
            response.refused(405, "method_not_allowed", "Method is not allowed for the requested path.");
        }
    }
}
