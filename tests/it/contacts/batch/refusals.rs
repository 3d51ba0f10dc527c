//! `POST /contacts/batch`: refused items and batches, of which nothing is stored.

use serde_json::{Value, json};

use super::super::{UNKNOWN_ID, audience_state, create_property, create_segment, create_topic, id};
use super::{PATH, failures, post_batch, statuses};
use crate::support::TestServer;

/// Returns invalid items, each with the start of its error without the index of the item.
fn invalid_items(server: &TestServer) -> Vec<(Value, &'static str)> {
    create_property(server, "seats", "number");
    let (news, everyone) = (create_topic(server, "News", "opt_in"), create_segment(server, "Everyone"));
    let theirs = server.other_team("Other", "other.example");
    let foreign = theirs.post("/segments", &json!({ "name": "Theirs" })).ok(201);
    let many: Value = (0..101).map(|key| (format!("k{key}"), json!(1))).collect::<serde_json::Map<_, _>>().into();
    let email = "bad@example.net";
    vec![
        (json!({}), "422 missing_required_field: Missing `email` field."),
        (json!({ "email": null }), "422 missing_required_field: Missing `email` field."),
        (json!({ "email": "bad" }), "422 validation_error: Invalid `email` field: there is no `@`"),
        (json!({ "email": "Bad <bad@example.net>" }), "422 validation_error: Invalid `email` field: "),
        (json!({ "email": email, "first_name": 5 }), "422 validation_error: Invalid `first_name` field: invalid type"),
        (json!({ "email": email, "name": "x" }), "422 validation_error: Invalid `name` field: unknown field `name`"),
        (json!({ "email": email, "id": "x" }), "422 validation_error: Invalid `id` field: unknown field `id`"),
        (
            json!({ "email": email, "segments": [{ "id": everyone }, { "id": UNKNOWN_ID }] }),
            "404 not_found: Segment not found",
        ),
        (json!({ "email": email, "segments": [{ "id": id(&foreign) }] }), "404 not_found: Segment not found"),
        (json!({ "email": email, "audience_id": UNKNOWN_ID }), "404 not_found: Segment not found"),
        (json!({ "email": email, "segment_id": id(&foreign) }), "404 not_found: Segment not found"),
        (
            json!({ "email": email, "audience_id": "x" }),
            "422 validation_error: The `audience_id` must be a valid UUID.",
        ),
        (
            json!({ "email": email, "segments": [{ "id": 1 }] }),
            "422 validation_error: Invalid `segments[0].id` field: ",
        ),
        (
            json!({ "email": email, "topics": [{ "id": UNKNOWN_ID, "subscription": "opt_in" }] }),
            "404 not_found: Topic not found",
        ),
        (
            json!({ "email": email, "topics": [{ "id": news, "subscription": "yes" }] }),
            "422 validation_error: Invalid `topics.0.subscription` field: use `opt_in` or `opt_out`.",
        ),
        (
            json!({ "email": email, "properties": { "seats": "many" } }),
            "422 validation_error: Invalid `properties.seats` field: the property is a number; give a number or null.",
        ),
        (
            json!({ "email": email, "properties": { "a": { "b": 1 } } }),
            "422 validation_error: Invalid `properties.a` field: it must be a string, a number or null.",
        ),
        (
            json!({ "email": email, "properties": many }),
            "422 validation_error: Invalid `properties` field: more than 100 properties, and no more are accepted.",
        ),
        (json!("bad@example.net"), "422 validation_error: Invalid request body: invalid type: string"),
        (json!([]), "422 validation_error: Invalid request body: invalid type: sequence"),
        (json!(null), "422 validation_error: Invalid request body: invalid type: null"),
    ]
}

#[test]
fn a_batch_has_at_most_10000_topic_choices() {
    let server = TestServer::start();
    let contact = |number: usize, choices: usize| {
        let topics: Vec<Value> = (0..choices)
            .map(|topic| {
                let id = format!("0190a6c0-0000-7000-8000-{topic:012}");
                json!({ "id": id, "subscription": "opt_out" })
            })
            .collect();
        json!({ "email": format!("c{number}@example.net"), "topics": topics })
    };
    let mut batch: Vec<Value> = (0..20).map(|number| contact(number, 500)).collect();
    server.post(PATH, &json!(batch)).refused(404, "not_found", "contacts.0: Topic not found");

    batch.push(contact(20, 1));
    for validation in ["strict", "permissive"] {
        let refused = post_batch(&server, "upsert", validation, &json!(batch));
        let message = "Invalid request body: its contacts name more than 10000 choices about topics together. Send \
                       fewer contacts at once.";
        refused.refused(422, "validation_error", message);
    }
}

#[test]
fn one_invalid_item_refuses_a_strict_batch_with_its_status_and_index() {
    let server = TestServer::start();
    let items = invalid_items(&server);
    let before = audience_state(&server);
    for (item, refusal) in items {
        let batch = json!([{ "email": "a@example.net" }, { "email": "b@example.net" }, item]);
        let (status_and_name, message) = refusal.split_once(": ").unwrap();
        for on_conflict in ["error", "skip", "upsert"] {
            let refused = post_batch(&server, on_conflict, "strict", &batch).refusal();

            assert!(refused.starts_with(&format!("{status_and_name}: contacts.2: {message}")), "{item}: {refused}");
        }
    }
    assert_eq!(audience_state(&server), before);
}

#[test]
fn a_permissive_batch_lists_invalid_items_and_stores_the_others() {
    let server = TestServer::start();
    let items = invalid_items(&server);
    let mut batch = vec![json!({ "email": "first@example.net" })];
    batch.extend(items.iter().map(|(item, _)| item.clone()));
    batch.push(json!({ "email": "last@example.net" }));

    let response = post_batch(&server, "error", "permissive", &batch.into()).ok(200);

    let last = items.len() as u64 + 1;
    assert_eq!(statuses(&response), [(0, "created"), (last, "created")]);
    assert_eq!(response["counts"], json!({ "created": 2, "updated": 0, "skipped": 0, "failed": items.len() }));
    let failed = failures(&response);
    assert_eq!(failed.len(), items.len());
    for (position, ((index, message), (item, refusal))) in failed.into_iter().zip(&items).enumerate() {
        let (_, expected) = refusal.split_once(": ").unwrap();
        assert_eq!(index, position as u64 + 1, "{item}");
        assert!(message.starts_with(expected), "{item}: {message}");
    }
    assert_eq!(server.get("/contacts").ok(200)["data"].as_array().unwrap().len(), 2);
}

#[test]
fn an_item_after_a_failed_item_can_use_its_address() {
    let server = TestServer::start();
    let batch = json!([
        { "email": "ada@example.net", "segments": [{ "id": UNKNOWN_ID }] },
        { "email": "ada@example.net", "first_name": "Ada" },
    ]);

    let response = post_batch(&server, "error", "permissive", &batch).ok(200);

    assert_eq!((statuses(&response), failures(&response)), (vec![(1, "created")], vec![(0, "Segment not found")]));
}

#[test]
fn a_duplicate_field_in_an_item_is_refused() {
    let server = TestServer::start();
    for (item, message) in [
        (r#"{"email": "a@example.net", "email": "b@example.net"}"#, "Invalid request body: duplicate field `email`."),
        (
            r#"{"email": "a@example.net", "properties": {"a": 1, "b": 2, "a": null}}"#,
            "Invalid `properties` field: duplicate property `a`.",
        ),
    ] {
        let body = format!("[{{\"email\": \"first@example.net\"}}, {item}]");

        let strict = server.call("POST", PATH, server.key(), &[], Some(body.as_bytes()));

        strict.refused(422, "validation_error", &format!("contacts.1: {message}"));
    }
    assert_eq!(server.get("/contacts").ok(200)["data"], json!([]));
}

#[test]
fn a_batch_is_an_array_of_1_to_1000_contacts() {
    let server = TestServer::start();
    let shape = "Invalid request body: expected an array of 1 to 1000 contacts.";
    let email = json!({ "email": "a@example.net" });
    for (body, message) in [
        (json!([]), "Invalid request body: it holds 0 contacts; 1 to 1000 are accepted."),
        (vec![email.clone(); 1_001].into(), "Invalid request body: it holds 1001 contacts; 1 to 1000 are accepted."),
        (email.clone(), shape),
        (json!({ "contacts": [email] }), shape),
        (json!("a@example.net"), shape),
        (json!(null), shape),
    ] {
        for validation in ["strict", "permissive"] {
            post_batch(&server, "skip", validation, &body).refused(422, "validation_error", message);
        }
    }
    for body in ["", "[", "[{\"email\": ]", "[{\"email\": \"a@example.net\"}] x"] {
        assert_eq!(server.call("POST", PATH, server.key(), &[], Some(body.as_bytes())).status, 400, "{body}");
    }
    assert_eq!(server.get("/contacts").ok(200)["data"], json!([]));
}

#[test]
fn an_unknown_conflict_rule_or_validation_mode_is_refused() {
    let server = TestServer::start();
    let batch = json!([{ "email": "a@example.net" }]);
    for word in ["", "Upsert", "update", "error,skip"] {
        let refused = post_batch(&server, word, "strict", &batch);
        refused.refused(422, "validation_error", "The `on_conflict` must be `error`, `skip` or `upsert`.");
    }
    for word in ["", "Strict", "lenient"] {
        let refused = post_batch(&server, "error", word, &batch);
        let message = "The `x-batch-validation` header must be `strict` or `permissive`.";
        refused.refused(422, "validation_error", message);
    }
    for (query, message) in [
        ("on_conflict=skip&on_conflict=skip", "The `on_conflict` query parameter may be given once."),
        ("validation=strict", "Unknown query parameter `validation`: this endpoint takes `on_conflict`."),
    ] {
        server.post(&format!("{PATH}?{query}"), &batch).refused(422, "validation_error", message);
    }
    assert_eq!(server.get("/contacts").ok(200)["data"], json!([]));
}

#[test]
fn the_batch_paths_allow_only_post() {
    let server = TestServer::start();
    for path in [PATH, "/contacts/batch/get", "/contacts/batch/remove"] {
        for method in ["GET", "DELETE", "PATCH"] {
            let response = server.call(method, path, server.key(), &[], None);
            response.refused(405, "method_not_allowed", "Method is not allowed for the requested path.");
        }
    }
}
