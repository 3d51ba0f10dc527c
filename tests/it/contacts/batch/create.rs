//! `POST /contacts/batch`: the outcome of each item.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::{
    audience_state, create, create_property, create_segment, create_topic, event_types_since, id, topic_choices,
};
use super::{PATH, failures, post_batch, statuses};
use crate::support::{TestServer, assert_body};

const EXISTS: &str = "A contact with this email exists already.";

/// Returns a known contact, a new contact, and the new contact again.
fn items() -> Value {
    json!([
        { "email": "ADA@example.net", "first_name": "Augusta" },
        { "email": "bob@example.net", "first_name": "Bob", "last_name": "Babbage" },
        { "email": "Bob@EXAMPLE.net", "first_name": "Robert" },
    ])
}

#[test]
fn the_response_has_the_order_of_the_request() {
    let server = TestServer::start();
    create_property(&server, "seats", "number");
    let (news, everyone) = (create_topic(&server, "News", "opt_in"), create_segment(&server, "Everyone"));
    let batch = json!([
        { "email": "b@example.net", "first_name": "Bob", "properties": { "seats": 4, "plan": "pro" } },
        { "email": "a@example.net", "unsubscribed": true, "segments": [{ "id": everyone }] },
        { "email": "c@example.net", "topics": [{ "id": news, "subscription": "opt_out" }], "audience_id": null },
    ]);

    let response = server.post(PATH, &batch).ok(200);

    let ids: Vec<&str> = response["data"].as_array().unwrap().iter().map(id).collect();
    assert!(ids.is_sorted(), "ids are in the order of creation");
    for (id, email) in ids.iter().zip(["b@example.net", "a@example.net", "c@example.net"]) {
        assert_eq!(server.get(&format!("/contacts/{id}")).ok(200)["email"], email);
    }
    assert_eq!(topic_choices(&server, "c@example.net"), [(news, "opt_out".to_owned(), true)]);
    assert_eq!(server.get("/contacts/a@example.net/segments").ok(200)["data"][0]["id"], everyone);
    assert_eq!(event_types_since(&server, 0), ["contact.created"; 3]);
    assert!(server.audience_events().iter().all(|event| event["data"]["source"] == "api"));
    assert_body!(response);
}

#[test]
fn an_item_joins_the_segments_of_the_deprecated_fields() {
    let server = TestServer::start();
    let (one, two) = (create_segment(&server, "One"), create_segment(&server, "Two"));
    let batch = json!([
        { "email": "ada@example.net", "audience_id": one, "segment_id": "" },
        { "email": "bob@example.net", "audience_id": one, "segment_id": two },
    ]);

    server.post(PATH, &batch).ok(200);

    for (email, expected) in [("ada@example.net", json!([one])), ("bob@example.net", json!([two, one]))] {
        let listed = server.get(&format!("/contacts/{email}/segments")).ok(200);
        let ids: Value = listed["data"].as_array().unwrap().iter().map(|segment| segment["id"].clone()).collect();
        assert_eq!(ids, expected, "{email}");
    }
}

#[test]
fn a_known_address_fails_is_skipped_or_is_merged_by_the_conflict_rule() {
    let created_bob = (1, "created");
    for (on_conflict, validation, expected, failed) in [
        (
            "error",
            "permissive",
            vec![created_bob],
            vec![(0, EXISTS), (2, "The email repeats that of item 1 of the batch.")],
        ),
        ("skip", "strict", vec![(0, "skipped"), created_bob, (2, "skipped")], vec![]),
        ("skip", "permissive", vec![(0, "skipped"), created_bob, (2, "skipped")], vec![]),
        ("upsert", "strict", vec![(0, "updated"), created_bob, (2, "updated")], vec![]),
        ("upsert", "permissive", vec![(0, "updated"), created_bob, (2, "updated")], vec![]),
    ] {
        let server = TestServer::start();
        let ada = create(&server, "ada@example.net", &json!({ "first_name": "Ada" }));
        let name = |email: &str| server.get(&format!("/contacts/{email}")).ok(200)["first_name"].clone();

        let response = post_batch(&server, on_conflict, validation, &items()).ok(200);

        assert_eq!(statuses(&response), expected, "{on_conflict} {validation}");
        assert_eq!(failures(&response), failed, "{on_conflict} {validation}");
        let counts: u64 = response["counts"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(counts, 3, "{response}");
        for status in ["created", "updated", "skipped"] {
            let count = expected.iter().filter(|(_, item)| *item == status).count();
            assert_eq!(response["counts"][status], count, "{response}");
        }
        assert_eq!(response["counts"]["failed"], failed.len());
        let is_upsert = on_conflict == "upsert";
        assert_eq!(name("ada@example.net"), if is_upsert { "Augusta" } else { "Ada" });
        assert_eq!(name("bob@example.net"), if is_upsert { "Robert" } else { "Bob" });
        assert_eq!(server.get("/contacts/bob@example.net").ok(200)["last_name"], "Babbage");
        let update: &[&str] = if is_upsert { &["contact.updated"] } else { &[] };
        assert_eq!(event_types_since(&server, 1), [update, &["contact.created"]].concat());
        let bob = server.get("/contacts/bob@example.net").ok(200);
        for row in response["data"].as_array().unwrap() {
            assert_eq!(row["id"], if row["index"] == 0 { &ada } else { &bob }["id"], "{row}");
        }
    }
}

#[test]
fn a_known_address_refuses_a_strict_batch_under_the_rule_error() {
    let server = TestServer::start();
    create(&server, "ada@example.net", &json!({}));
    let before = audience_state(&server);
    let [known, new, again] = &items().as_array().unwrap().clone()[..] else { panic!("three items") };
    let exists = format!("409 validation_error: contacts.1: {EXISTS}");
    let repeats = "422 validation_error: contacts.2: The email repeats that of item 0 of the batch.";
    let other = json!({ "email": "c@example.net" });
    for (batch, refusal) in [(json!([new, known, again]), &*exists), (json!([new, other, again]), repeats)] {
        let body = batch.to_string();
        for headers in [&[][..], &[("x-batch-validation", "strict")]] {
            for path in [PATH.to_owned(), format!("{PATH}?on_conflict=error")] {
                let refused = server.call("POST", &path, server.key(), headers, Some(body.as_bytes())).refusal();
                assert_eq!(refused, refusal);
            }
        }
    }
    assert_eq!(audience_state(&server), before);
}

#[test]
fn an_upsert_merges_the_given_fields() {
    let server = TestServer::start();
    let (one, two) = (create_segment(&server, "One"), create_segment(&server, "Two"));
    let (news, offers) = (create_topic(&server, "News", "opt_in"), create_topic(&server, "Offers", "opt_in"));
    let fields = json!({
        "first_name": "Ada", "last_name": "Byron", "properties": { "plan": "pro", "seats": "4", "old": "x" },
        "segments": [{ "id": one }], "topics": [{ "id": news, "subscription": "opt_out" }],
    });
    create(&server, "ada@example.net", &fields);

    let item = json!([{
        "email": "ada@example.net", "first_name": null, "last_name": "Lovelace",
        "properties": { "plan": "team", "city": "Paris", "old": null },
        "segments": [{ "id": two }], "topics": [{ "id": offers, "subscription": "opt_out" }],
    }]);
    post_batch(&server, "upsert", "strict", &item).ok(200);

    let ada = server.get("/contacts/ada@example.net").ok(200);
    assert_eq!((&ada["first_name"], &ada["last_name"]), (&json!("Ada"), &json!("Lovelace")));
    let text = |text: &str| json!({ "type": "string", "value": text });
    assert_eq!(ada["properties"], json!({ "plan": text("team"), "seats": text("4"), "city": text("Paris") }));
    let out = "opt_out".to_owned();
    assert_eq!(topic_choices(&server, "ada@example.net"), [(offers, out.clone(), true), (news, out, true)]);
    let segments = server.get("/contacts/ada@example.net/segments").ok(200);
    assert_eq!(segments["data"].as_array().unwrap().len(), 2);
    assert_eq!(event_types_since(&server, 1), ["contact.updated", "contact.topic_opt_out"]);
}

#[test]
fn items_with_one_address_are_merged_into_one_write() {
    let server = TestServer::start();
    let (one, two) = (create_segment(&server, "One"), create_segment(&server, "Two"));
    let news = create_topic(&server, "News", "opt_in");
    let batch = json!([
        { "email": "ada@example.net", "first_name": "A", "last_name": "Lovelace", "segments": [{ "id": one }],
          "unsubscribed": true, "properties": { "a": 1, "both": 1 }, "topics": [{ "id": news, "subscription": "opt_in" }] },
        { "email": "bob@example.net" },
        { "email": "Ada@example.net", "first_name": "Ada", "segments": [{ "id": two }, { "id": one }],
          "unsubscribed": false, "properties": { "b": 2, "both": 2 }, "topics": [{ "id": news, "subscription": "opt_out" }] },
    ]);

    let response = post_batch(&server, "upsert", "strict", &batch).ok(200);

    assert_eq!(statuses(&response), [(0, "created"), (1, "created"), (2, "updated")]);
    assert_eq!(response["data"][0]["id"], response["data"][2]["id"]);
    let ada = server.get("/contacts/ada@example.net").ok(200);
    assert_eq!((&ada["first_name"], &ada["last_name"]), (&json!("Ada"), &json!("Lovelace")));
    assert_eq!(ada["unsubscribed"], json!(true), "an opt-out in any item applies");
    let number = |number: u32| json!({ "type": "number", "value": number });
    assert_eq!(ada["properties"], json!({ "a": number(1), "b": number(2), "both": number(2) }));
    assert_eq!(topic_choices(&server, "ada@example.net"), [(news, "opt_out".to_owned(), true)]);
    assert_eq!(server.get("/contacts/ada@example.net/segments").ok(200)["data"].as_array().unwrap().len(), 2);
    assert_eq!(event_types_since(&server, 0), ["contact.created"; 2]);
    let event = &server.audience_events()[0];
    assert_eq!(event["data"]["segment_ids"], json!([one, two]));
}

#[test]
fn a_batch_can_unsubscribe_but_not_resubscribe() {
    let server = TestServer::start();
    create(&server, "ada@example.net", &json!({ "unsubscribed": true }));
    create(&server, "bob@example.net", &json!({}));
    let batch = json!([
        { "email": "ada@example.net", "unsubscribed": false },
        { "email": "bob@example.net", "unsubscribed": true },
    ]);
    let before = server.audience_events().len();

    let response = post_batch(&server, "upsert", "strict", &batch).ok(200);

    assert_eq!(statuses(&response), [(0, "updated"), (1, "updated")]);
    for email in ["ada@example.net", "bob@example.net"] {
        assert_eq!(server.get(&format!("/contacts/{email}")).ok(200)["unsubscribed"], json!(true), "{email}");
    }
    assert_eq!(event_types_since(&server, before), ["contact.updated", "contact.unsubscribed"]);
    server.get("/suppressions/bob@example.net").refused(404, "not_found", "Suppression not found");
}

#[test]
fn a_batch_without_change_emits_no_event() {
    let server = TestServer::start();
    let (news, everyone) = (create_topic(&server, "News", "opt_in"), create_segment(&server, "Everyone"));
    let item = |number: usize| {
        json!({
            "email": format!("c{number}@example.net"), "first_name": "Ada", "properties": { "number": number },
            "unsubscribed": number.is_multiple_of(2), "segments": [{ "id": everyone }],
            "topics": [{ "id": news, "subscription": "opt_out" }],
        })
    };
    let batch: Value = (0..1_000).map(item).collect();
    let first = post_batch(&server, "upsert", "strict", &batch).ok(200);
    assert_eq!(first["counts"], json!({ "created": 1_000, "updated": 0, "skipped": 0, "failed": 0 }));
    let before = audience_state(&server);

    server.advance(Duration::from_secs(60));
    let second = post_batch(&server, "upsert", "strict", &batch).ok(200);

    assert_eq!(second["counts"], json!({ "created": 0, "updated": 1_000, "skipped": 0, "failed": 0 }));
    let ids =
        |response: &Value| response["data"].as_array().unwrap().iter().map(|row| row["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&first), ids(&second));
    assert_eq!(audience_state(&server), before);
}
