//! Properties of contacts.

use serde_json::{Value, json};

use super::{audience_state, create, create_property, id};
use crate::support::TestServer;

/// Reads a contact and returns its properties.
#[track_caller]
fn properties(server: &TestServer, id_or_email: &str) -> Value {
    server.get(&format!("/contacts/{id_or_email}")).ok(200)["properties"].clone()
}

fn string(value: &str) -> Value {
    json!({ "type": "string", "value": value })
}

fn number(value: impl Into<Value>) -> Value {
    json!({ "type": "number", "value": value.into() })
}

#[test]
fn a_value_is_returned_with_the_type_of_its_definition() {
    let server = TestServer::start();
    create_property(&server, "seats", "number");
    create_property(&server, "plan", "string");
    for (key, given, read) in [
        ("seats", json!(4), number(4)),
        ("seats", json!("4.50"), number(4.5)),
        ("seats", json!(-1e3), number(-1_000)),
        ("seats", json!(9_007_199_254_740_993_u64), number(9_007_199_254_740_993_u64)),
        ("seats", json!("18446744073709551615"), number(u64::MAX)),
        ("plan", json!("4"), string("4")),
        ("plan", json!(4), string("4")),
        ("plan", json!(""), string("")),
        ("nobody defined it", json!(4.0), number(4)),
        ("nobody defined it", json!("4"), string("4")),
        ("<script>alert(1)</script>", json!("'; DROP TABLE contacts; --"), string("'; DROP TABLE contacts; --")),
        ("__proto__", json!("{{{FIRST_NAME}}}"), string("{{{FIRST_NAME}}}")),
        ("\u{202e}\n", json!("\u{0}"), string("\u{0}")),
    ] {
        let created = create(&server, "ada@example.net", &json!({ "properties": { key: given } }));

        assert_eq!(created["properties"], json!({ key: read }), "{key}: {given}");
        assert_eq!(properties(&server, id(&created)), json!({ key: read }));
        server.delete("/contacts/ada@example.net").ok(200);
    }
}

#[test]
fn the_type_of_a_value_without_a_definition_follows_the_last_write_and_then_the_definition() {
    let server = TestServer::start();
    create(&server, "ada@example.net", &json!({ "properties": { "size": 4 } }));
    let write = |value: Value| {
        server.patch("/contacts/ada@example.net", &json!({ "properties": { "size": value } })).ok(200);
        properties(&server, "ada@example.net")["size"].clone()
    };

    assert_eq!(write(json!("4")), string("4"));
    assert_eq!(write(json!(4)), number(4));
    assert_eq!(write(json!(null)), Value::Null);
    assert_eq!(write(json!("5")), string("5"));
    assert_eq!(write(json!(5.5)), number(5.5));
    create_property(&server, "size", "string");
    assert_eq!(properties(&server, "ada@example.net"), json!({ "size": string("5.5") }));
    let before = audience_state(&server);
    for same in [json!("5.5"), json!(5.5)] {
        assert_eq!(write(same), string("5.5"));
    }
    assert_eq!(audience_state(&server), before, "a repeated value under a defined key is no change");
}

#[test]
fn a_defined_key_is_stored_with_the_case_of_its_definition() {
    let server = TestServer::start();
    let path = "/contacts/ada@example.net";
    create(&server, "ada@example.net", &json!({ "properties": { "SEATS": 1, "Other": "x" } }));
    create_property(&server, "Seats", "number");
    let seats = |value: i64| json!({ "Seats": number(value), "Other": string("x") });
    let assert_seats = |value: i64| assert_eq!(properties(&server, "ada@example.net"), seats(value));

    // A key that was stored before its definition keeps its case until the next write.
    assert_eq!(properties(&server, "ada@example.net"), json!({ "SEATS": number(1), "Other": string("x") }));
    server.patch(path, &json!({ "properties": { "seats": 2 } })).ok(200);
    assert_seats(2);
    let item = |value: Value| json!({ "email": "ada@example.net", "properties": { "seatS": value } });
    server.post("/contacts", &item(json!(3))).ok(201);
    assert_seats(3);
    server.post("/contacts/batch?on_conflict=upsert", &json!([item(json!(4)), item(json!(5))])).ok(200);
    assert_seats(5);
    let before = audience_state(&server);
    server.patch(path, &json!({ "properties": { "sEATS": 5 } })).ok(200);
    assert_eq!(audience_state(&server), before);
    server.patch(path, &json!({ "properties": { "seats": null } })).ok(200);
    assert_eq!(properties(&server, "ada@example.net"), json!({ "Other": string("x") }));

    for (path, body) in [
        ("/contacts", json!({ "email": "bob@example.net", "properties": { "SEATS": 1 } })),
        ("/contacts/batch", json!([{ "email": "eve@example.net", "properties": { "SEATS": 1 } }])),
    ] {
        server.post(path, &body);
    }
    for name in ["bob@example.net", "eve@example.net"] {
        assert_eq!(properties(&server, name), json!({ "Seats": number(1) }));
    }
}

#[test]
fn a_request_with_one_key_in_two_cases_is_refused() {
    let server = TestServer::start();
    create(&server, "ada@example.net", &json!({}));
    let properties = json!({ "num": 1, "NUM": 2 });
    let new = json!({ "email": "bob@example.net", "properties": properties });

    for response in [
        server.post("/contacts", &new),
        server.patch("/contacts/ada@example.net", &json!({ "properties": properties })),
        server.post("/contacts/batch", &json!([new])),
    ] {
        let refused = response.refusal();
        assert!(refused.starts_with("422 validation_error: "), "{refused}");
        assert!(refused.contains("duplicate property `"), "{refused}");
    }
}

#[test]
fn a_value_remains_when_the_definition_of_its_key_is_deleted() {
    let server = TestServer::start();
    create(&server, "ada@example.net", &json!({ "properties": { "seats": "many", "age": 37 } }));
    assert_eq!(properties(&server, "ada@example.net"), json!({ "seats": string("many"), "age": number(37) }));

    let (seats, age) = (create_property(&server, "seats", "number"), create_property(&server, "age", "number"));
    assert_eq!(properties(&server, "ada@example.net"), json!({ "seats": string("many"), "age": number(37) }));

    for definition in [seats, age] {
        server.delete(&format!("/contact-properties/{definition}")).ok(200);
    }
    assert_eq!(properties(&server, "ada@example.net"), json!({ "seats": string("many"), "age": number(37) }));
}

#[test]
fn an_invalid_property_is_reported_by_every_route() {
    let server = TestServer::start();
    create_property(&server, "seats", "number");
    create(&server, "ada@example.net", &json!({ "properties": { "seats": 1 } }));
    let before = audience_state(&server);
    let many: Value = (0..101).map(|key| (format!("k{key}"), json!(1))).collect::<serde_json::Map<_, _>>().into();
    for (properties, refusal) in [
        (json!({ "seats": "many" }), "`properties.seats` field: the property is a number; give a number or null."),
        (json!({ "Seats": true }), "`properties.Seats` field: it must be a string, a number or null."),
        (json!({ "a": 1, "b": [1] }), "`properties.b` field: it must be a string, a number or null."),
        (json!({ "b": true }), "`properties.b` field: it must be a string, a number or null."),
        (json!({ "b": { "c": 1 } }), "`properties.b` field: it must be a string, a number or null."),
        (json!({ "": 1 }), "`properties.` field: the key of a property has 1 to 200 characters."),
        (json!({ "k".repeat(201): 1 }), "`properties.kkkkkkkkkkkkkkk"),
        (json!({ "a": "v".repeat(2_001) }), "`properties.a` field: it may have 2000 characters."),
        (many, "`properties` field: more than 100 properties, and no more are accepted."),
        (json!(["x"]), "`properties` field: invalid type: sequence, expected an object of strings, numbers and nulls."),
        (json!("a"), "`properties` field: invalid type: string \"a\""),
    ] {
        let fields = json!({ "properties": properties });
        let mut new = fields.clone();
        new["email"] = json!("bob@example.net");
        let expected = format!("422 validation_error: Invalid {refusal}");

        for response in [server.post("/contacts", &new), server.patch("/contacts/ada@example.net", &fields)] {
            let refused = response.refusal();
            assert!(refused.starts_with(&expected), "{fields}: {refused}");
            assert!(refused.len() < 300, "{refused}");
        }
        let batch = server.post("/contacts/batch?on_conflict=upsert", &json!([new])).refusal();
        let expected = expected.replace(": Invalid", ": contacts.0: Invalid");
        assert!(batch.starts_with(&expected), "{fields}: {batch}");
    }
    assert_eq!(audience_state(&server), before);
}

#[test]
fn a_contact_has_at_most_100_properties() {
    let server = TestServer::start();
    let keys = |from: usize, to: usize, value: Value| -> Value {
        (from..to).map(|key| (format!("k{key}"), value.clone())).collect::<serde_json::Map<_, _>>().into()
    };
    let path = "/contacts/ada@example.net";
    create(&server, "ada@example.net", &json!({ "properties": keys(0, 60, json!("x")) }));
    server.patch(path, &json!({ "properties": keys(50, 100, json!("y")) })).ok(200);
    let before = audience_state(&server);

    let refusal = "422 validation_error: Invalid `properties` field: with these the contact would have more than 100. \
                   Null removes one.";
    let one_more = json!({ "email": "ada@example.net", "properties": { "one": 1 } });
    assert_eq!(server.patch(path, &json!({ "properties": { "one": 1 } })).refusal(), refusal);
    assert_eq!(server.post("/contacts", &one_more).refusal(), refusal);
    let prefixed = refusal.replace(": Invalid", ": contacts.0: Invalid");
    assert_eq!(server.post("/contacts/batch?on_conflict=upsert", &json!([one_more])).refusal(), prefixed);
    let halves = |address: &str| {
        json!([
            { "email": address, "properties": keys(0, 60, json!(1)) },
            { "email": address, "properties": keys(40, 100, json!(2)) },
            { "email": address, "properties": { "one": 1 } },
        ])
    };
    let bob = server.post("/contacts/batch?on_conflict=upsert", &halves("bob@example.net")).refusal();
    assert_eq!(bob, refusal.replace(": Invalid", ": contacts.2: Invalid"));
    server.post("/contacts/batch?on_conflict=skip", &json!([one_more])).ok(200);
    assert_eq!(audience_state(&server), before);

    server.patch(path, &json!({ "properties": { "one": 1, "k0": null } })).ok(200);
    assert_eq!(properties(&server, "ada@example.net").as_object().unwrap().len(), 100);
    let permissive = [("x-batch-validation", "permissive")];
    let body = halves("bob@example.net").to_string();
    let response =
        server.call("POST", "/contacts/batch?on_conflict=upsert", server.key(), &permissive, Some(body.as_bytes()));
    assert_eq!(response.ok(200)["counts"], json!({ "created": 1, "updated": 1, "skipped": 0, "failed": 1 }));
    assert_eq!(properties(&server, "bob@example.net").as_object().unwrap().len(), 100);
}

#[test]
fn a_contact_has_at_most_64_kib_of_properties() {
    let server = TestServer::start();
    let path = "/contacts/ada@example.net";
    // A key has 5 bytes, and a value has 2,000 characters of two bytes: 16 properties have 64,080 bytes.
    let keys = |from: usize, to: usize| -> Value {
        let value = json!("\u{fc}".repeat(2_000));
        (from..to).map(|key| (format!("key{key:02}"), value.clone())).collect::<serde_json::Map<_, _>>().into()
    };
    create(&server, "ada@example.net", &json!({ "properties": keys(0, 16) }));
    let before = audience_state(&server);

    let refusal = "422 validation_error: Invalid `properties` field: with these the contact's properties would have \
                   more than 64 KiB, keys and values together. Shorten some, or remove one with null.";
    let one_more = json!({ "email": "ada@example.net", "properties": keys(16, 17) });
    assert_eq!(server.patch(path, &json!({ "properties": keys(16, 17) })).refusal(), refusal);
    assert_eq!(server.post("/contacts", &one_more).refusal(), refusal);
    let bob = json!({ "email": "bob@example.net", "properties": keys(0, 17) });
    assert_eq!(server.post("/contacts", &bob).refusal(), refusal);
    let prefixed = refusal.replace(": Invalid", ": contacts.0: Invalid");
    assert_eq!(server.post("/contacts/batch?on_conflict=upsert", &json!([one_more])).refusal(), prefixed);
    assert_eq!(server.post("/contacts/batch", &json!([bob])).refusal(), prefixed);
    let halves = json!([
        { "email": "bob@example.net", "properties": keys(0, 9) },
        { "email": "bob@example.net", "properties": keys(8, 17) },
    ]);
    let prefixed = refusal.replace(": Invalid", ": contacts.1: Invalid");
    assert_eq!(server.post("/contacts/batch?on_conflict=upsert", &halves).refusal(), prefixed);
    assert_eq!(audience_state(&server), before);

    // A replaced value is counted once, and a removed value is not counted.
    server.patch(path, &json!({ "properties": keys(8, 16) })).ok(200);
    let mut swap = keys(16, 17);
    swap["key00"] = json!(null);
    server.patch(path, &json!({ "properties": swap })).ok(200);
    assert_eq!(properties(&server, "ada@example.net").as_object().unwrap().len(), 16);
}
