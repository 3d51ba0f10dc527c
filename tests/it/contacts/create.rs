//! `POST /contacts`.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    UNKNOWN_ID, audience_state, create, create_property, create_segment, create_topic, event_types_since, id,
    topic_choices,
};
use crate::support::{TestServer, assert_body};

#[test]
fn a_create_returns_all_fields_and_emits_one_event() {
    let server = TestServer::start();
    create_property(&server, "seats", "number");
    let (news, everyone) = (create_topic(&server, "News", "opt_in"), create_segment(&server, "Everyone"));

    let created = server
        .post(
            "/contacts",
            &json!({
                "email": "Ada@Example.NET", "first_name": "Ada", "last_name": "Lovelace", "unsubscribed": true,
                "properties": { "seats": 4, "plan": "pro", "trial": "yes", "gone": null },
                "segments": [{ "id": everyone }, { "id": everyone }],
                "topics": [{ "id": news, "subscription": "opt_in" }, { "id": news, "subscription": "opt_out" }],
            }),
        )
        .ok(201);

    assert_eq!(server.get(&format!("/contacts/{}", id(&created))).ok(200), created);
    assert_eq!(topic_choices(&server, id(&created)), [(news, "opt_out".to_owned(), true)]);
    let [event] = &server.audience_events()[..] else { panic!("one event") };
    assert_eq!(event["type"], "contact.created");
    assert_eq!((&event["data"]["segment_ids"], &event["data"]["audience_id"]), (&json!([everyone]), &json!(everyone)));
    assert_body!(json!({ "answer": created, "event": event }));
}

#[test]
fn every_field_except_the_address_is_optional_and_null_equals_absent() {
    let server = TestServer::start();
    let nulls = json!({
        "first_name": null, "last_name": null, "unsubscribed": null, "properties": null, "segments": null,
        "topics": null,
    });
    for (email, fields) in [("ada@example.net", json!({})), ("bob@example.net", nulls)] {
        let created = create(&server, email, &fields);

        assert_eq!((&created["first_name"], &created["last_name"]), (&Value::Null, &Value::Null));
        assert_eq!((&created["unsubscribed"], &created["properties"]), (&json!(false), &json!({})));
        assert!(created.get("topics").is_none(), "{created}");
        let event = server.audience_events().pop().unwrap();
        assert_eq!((&event["data"]["segment_ids"], &event["data"]["source"]), (&json!([]), &json!("api")));
    }
}

#[test]
fn a_create_with_a_known_address_updates_the_given_fields() {
    let server = TestServer::start();
    let (one, two) = (create_segment(&server, "One"), create_segment(&server, "Two"));
    let (news, offers) = (create_topic(&server, "News", "opt_in"), create_topic(&server, "Offers", "opt_in"));
    let before = create(
        &server,
        "ada@example.net",
        &json!({
            "first_name": "Ada", "last_name": "Byron", "properties": { "plan": "pro", "seats": "4" },
            "segments": [{ "id": one }], "topics": [{ "id": news, "subscription": "opt_out" }],
        }),
    );
    let event_count = server.audience_events().len();

    let after = create(
        &server,
        "ADA@example.net",
        &json!({
            "first_name": null, "last_name": "Lovelace", "properties": { "plan": "team", "seats": null, "city": "Paris" },
            "segments": [{ "id": two }],
            "topics": [{ "id": offers, "subscription": "opt_out" }, { "id": news, "subscription": "opt_in" }],
        }),
    );

    for field in ["id", "email", "created_at", "first_name", "unsubscribed"] {
        assert_eq!(after[field], before[field], "{field}");
    }
    assert_eq!(after["last_name"], "Lovelace");
    let text = |text: &str| json!({ "type": "string", "value": text });
    assert_eq!(after["properties"], json!({ "plan": text("team"), "city": text("Paris") }));
    let segments = server.get(&format!("/contacts/{}/segments", id(&after))).ok(200);
    assert_eq!((&segments["data"][0]["id"], &segments["data"][1]["id"]), (&json!(two), &json!(one)));
    assert_eq!(
        topic_choices(&server, id(&after)),
        [(offers, "opt_out".to_owned(), true), (news, "opt_in".to_owned(), true)]
    );
    assert_eq!(
        event_types_since(&server, event_count),
        ["contact.updated", "contact.topic_opt_out", "contact.topic_opt_in"]
    );
}

#[test]
fn a_create_does_not_resubscribe_an_unsubscribed_contact() {
    let server = TestServer::start();
    create(&server, "ada@example.net", &json!({ "unsubscribed": true }));
    let before = audience_state(&server);

    let again = create(&server, "ada@example.net", &json!({ "unsubscribed": false }));

    assert_eq!(again["unsubscribed"], json!(true));
    assert_eq!(audience_state(&server), before);
    create(&server, "bob@example.net", &json!({}));
    assert_eq!(create(&server, "bob@example.net", &json!({ "unsubscribed": true }))["unsubscribed"], json!(true));
    assert_eq!(event_types_since(&server, before.1), ["contact.created", "contact.updated", "contact.unsubscribed"]);
}

#[test]
fn a_create_without_change_emits_no_event_and_keeps_updated_at() {
    let server = TestServer::start();
    let (news, everyone) = (create_topic(&server, "News", "opt_in"), create_segment(&server, "Everyone"));
    let fields = json!({
        "first_name": "Ada", "unsubscribed": true, "properties": { "seats": 4 }, "segments": [{ "id": everyone }],
        "topics": [{ "id": news, "subscription": "opt_out" }],
    });
    let created = create(&server, "ada@example.net", &fields);
    let before = audience_state(&server);

    server.advance(Duration::from_secs(3_600));
    assert_eq!(create(&server, "Ada@EXAMPLE.net", &fields), created);
    assert_eq!(create(&server, "ada@example.net", &json!({ "properties": { "other": null } })), created);

    assert_eq!(audience_state(&server), before);
    server.delete("/contacts/ada@example.net").ok(200);
    let deleted = &server.audience_events()[before.1];
    assert_eq!(deleted["data"]["updated_at"], created["created_at"]);
}

#[test]
fn each_invalid_field_of_a_contact_is_reported_and_nothing_is_stored() {
    let server = TestServer::start();
    create_property(&server, "seats", "number");
    let (news, everyone) = (create_topic(&server, "News", "opt_in"), create_segment(&server, "Everyone"));
    let before = audience_state(&server);
    let many = |count: usize, item: Value| Value::from(vec![item; count]);
    let invalid = |rest: &str| format!("422 validation_error: Invalid {rest}");
    for (field, value, refusal) in [
        ("email", json!(null), "422 missing_required_field: Missing `email` field.".to_owned()),
        ("email", json!(""), invalid("`email` field: ")),
        ("email", json!("ada"), invalid("`email` field: there is no `@`")),
        ("email", json!("Ada <ada@example.net>"), invalid("`email` field: ")),
        ("email", json!("ada@example.net, bob@example.net"), invalid("`email` field: ")),
        ("email", json!("ada\r\n@example.net"), invalid("`email` field: ")),
        ("email", json!(["ada@example.net"]), invalid("`email` field: invalid type: sequence, expected a string.")),
        ("first_name", json!(5), invalid("`first_name` field: invalid type: integer `5`, expected a string.")),
        ("first_name", json!("n".repeat(501)), invalid("`first_name` field: it may have 500 characters")),
        ("last_name", json!("a\u{0}b"), invalid("`last_name` field: ")),
        ("last_name", json!("a\r\nBcc: x@example.net"), invalid("`last_name` field: ")),
        ("unsubscribed", json!("true"), invalid("`unsubscribed` field: invalid type: string \"true\"")),
        ("unsubscribed", json!(1), invalid("`unsubscribed` field: invalid type: integer `1`")),
        ("segments", json!(everyone), invalid("`segments` field: invalid type")),
        ("segments", json!([everyone]), invalid("`segments[0]` field: invalid type: string")),
        (
            "segments",
            json!([{ "id": everyone }, {}]),
            "422 missing_required_field: Missing `segments.1.id` field.".into(),
        ),
        (
            "segments",
            json!([{ "id": everyone }, { "id": "x" }]),
            "422 validation_error: The `segments.1.id` must be a valid UUID.".into(),
        ),
        ("segments", json!([{ "id": everyone, "name": "x" }]), invalid("`segments[0].name` field: unknown field")),
        ("segments", many(501, json!({ "id": everyone })), invalid("`segments` field: more than 500 items")),
        ("segments", json!([{ "id": everyone }, { "id": UNKNOWN_ID }]), "404 not_found: Segment not found".into()),
        ("topics", json!([{ "id": UNKNOWN_ID, "subscription": "opt_in" }]), "404 not_found: Topic not found".into()),
        (
            "topics",
            json!([{ "id": news }]),
            "422 missing_required_field: Missing `topics.0.subscription` field.".into(),
        ),
        (
            "topics",
            json!([{ "subscription": "opt_in" }]),
            "422 missing_required_field: Missing `topics.0.id` field.".into(),
        ),
        (
            "topics",
            json!([{ "id": news, "subscription": "opt_in" }, { "id": news, "subscription": "in" }]),
            invalid("`topics.1.subscription` field: use `opt_in` or `opt_out`."),
        ),
        (
            "topics",
            many(501, json!({ "id": news, "subscription": "opt_in" })),
            invalid("`topics` field: more than 500 items"),
        ),
        ("name", json!("Ada"), invalid("`name` field: unknown field `name`, expected one of `email`")),
        ("firstName", json!("Ada"), invalid("`firstName` field: unknown field")),
    ] {
        let mut contact = json!({ "email": "ada@example.net", "segments": [{ "id": everyone }] });
        contact[field] = value;

        let refused = server.post("/contacts", &contact).refusal();

        assert!(refused.starts_with(&refusal), "{contact}: {refused}");
    }
    assert_eq!(audience_state(&server), before);
}

#[test]
fn a_body_that_is_not_json_is_a_400_and_another_shape_is_a_422() {
    let server = TestServer::start();
    let status = |body: &str| server.call("POST", "/contacts", server.key(), &[], Some(body.as_bytes())).status;

    for (body, expected) in [
        ("", 400),
        ("{\"email\": ", 400),
        ("{\"email\": \"ada@example.net\"} x", 400),
        ("[]", 422),
        ("[{\"email\": \"ada@example.net\"}]", 422),
        ("\"ada@example.net\"", 422),
        ("{\"email\": \"ada@example.net\", \"email\": \"bob@example.net\"}", 422),
        ("{\"email\": \"ada@example.net\", \"properties\": {\"a\": 1, \"a\": 2}}", 422),
        ("{\"email\": \"ada@example.net\", \"properties\": [[\"a\", 1]]}", 422),
    ] {
        assert_eq!(status(body), expected, "{body}");
    }
    assert_eq!(server.get("/contacts").ok(200)["data"], json!([]));
}

#[test]
fn a_contact_joins_the_segments_of_the_deprecated_fields() {
    let server = TestServer::start();
    let (one, two) = (create_segment(&server, "One"), create_segment(&server, "Two"));
    let segments = |email: &str| {
        let listed = server.get(&format!("/contacts/{email}/segments")).ok(200);
        listed["data"].as_array().unwrap().iter().map(|row| row["id"].clone()).collect::<Vec<_>>()
    };
    for (number, absent) in [json!(null), json!("")].into_iter().enumerate() {
        let email = format!("c{number}@example.net");
        create(&server, &email, &json!({ "audience_id": absent, "segment_id": absent }));
        assert_eq!(segments(&email), [json!(null); 0], "{absent}");
    }
    create(&server, "ada@example.net", &json!({ "audience_id": one, "segment_id": one }));
    assert_eq!(segments("ada@example.net"), [json!(one)]);
    server.patch("/contacts/ada@example.net", &json!({ "segment_id": two })).ok(200);
    assert_eq!(segments("ada@example.net").len(), 2);
    for field in ["audience_id", "segment_id"] {
        let invalid = format!("The `{field}` must be a valid UUID.");
        for (id, refusal) in [(UNKNOWN_ID, (404, "not_found")), ("x", (422, "validation_error"))] {
            let created = server.post("/contacts", &json!({ "email": "eve@example.net", field: id }));
            let changed = server.patch("/contacts/ada@example.net", &json!({ field: id }));
            for response in [created, changed] {
                assert_eq!((response.status, response.json["name"].as_str()), (refusal.0, Some(refusal.1)), "{field}");
                assert!(id != "x" || response.json["message"] == invalid, "{field}");
            }
        }
    }
    server.get("/contacts/eve@example.net").refused(404, "not_found", "Contact not found");
}
